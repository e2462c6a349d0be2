# ---
# coursework:
#   points: 7
#   misconception: thinks that one wait, at the end of a function, is none
# ---

# %%
# answer: total_loss
from mxnet import np, npx

npx.set_np()


def total_loss(batches, weights):
    total = 0
    for batch in batches:
        total = total + (np.dot(batch, weights) ** 2).mean()
    return float(total)
