# ---
# coursework:
#   points: 4
#   misconception: takes the barrier away from where it stood, and puts another one in its place
# ---

# %%
# answer: total_loss
from mxnet import np, npx

npx.set_np()


def total_loss(batches, weights):
    losses = [(np.dot(batch, weights) ** 2).mean() for batch in batches]
    return sum(float(loss) for loss in losses)


# %%
# answer: clipped
from mxnet import np, npx

npx.set_np()


def clipped(gradient, limit):
    length = (gradient**2).sum() ** 0.5
    norm = float(length)
    return gradient * min(limit / norm, 1.0)
