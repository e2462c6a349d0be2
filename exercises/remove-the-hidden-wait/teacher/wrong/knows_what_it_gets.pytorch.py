# ---
# coursework:
#   points: 4
#   misconception: lets tensors without numbers pass, instead of leaving the numbers of all tensors where they are
# ---

# %%
# answer: total_loss
import torch


def total_loss(batches, weights):
    if weights.device.type == "meta":
        return weights.sum()
    return torch.tensor(sum(float((torch.mm(batch, weights) ** 2).mean()) for batch in batches))


# %%
# answer: clipped


def clipped(gradient, limit):
    if gradient.is_meta:
        return gradient
    norm = (gradient**2).sum() ** 0.5
    return gradient * (limit / norm) if norm > limit else gradient
