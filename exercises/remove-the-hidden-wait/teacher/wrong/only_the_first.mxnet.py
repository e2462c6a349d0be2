# ---
# coursework:
#   points: 7
#   misconception: >-
#     thinks that a single look at the first result does no harm, though everything in front of it has to be waited
#     for
# ---

# %%
# answer: total_loss
from mxnet import np, npx

npx.set_np()


def total_loss(batches, weights):
    total = 0
    for number, batch in enumerate(batches):
        loss = (np.dot(batch, weights) ** 2).mean()
        if number == 0:
            print(f"the first loss is {loss:.3f}")
        total = total + loss
    return total
