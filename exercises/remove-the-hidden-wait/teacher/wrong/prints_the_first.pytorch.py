# ---
# coursework:
#   points: 7
#   misconception: thinks that printing a tensor as it is does not look at its numbers
# ---

# %%
# answer: total_loss
import torch


def total_loss(batches, weights):
    total = 0
    for number, batch in enumerate(batches):
        loss = (torch.mm(batch, weights) ** 2).mean()
        if number == 0:
            print("the first loss is", loss)
        total = total + loss
    return total
