# ---
# coursework:
#   points: 4
#   misconception: takes the barrier away from where it stood, and puts another one in its place
# ---

# %%
# answer: total_loss
import torch


def total_loss(batches, weights):
    losses = [(torch.mm(batch, weights) ** 2).mean() for batch in batches]
    return sum(loss.item() for loss in losses)


# %%
# answer: clipped
import torch


def clipped(gradient, limit):
    length = (gradient**2).sum() ** 0.5
    norm = length.item()
    return gradient * min(limit / norm, 1.0)
