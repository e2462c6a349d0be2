# ---
# coursework:
#   points: 7
#   misconception: thinks that one wait, at the end of a function, is none
# ---

# %%
# answer: total_loss
import torch


def total_loss(batches, weights):
    total = 0
    for batch in batches:
        total = total + (torch.mm(batch, weights) ** 2).mean()
    return total.item()
