# %%
# answer: total_loss
import torch


def total_loss(batches: list, weights: torch.Tensor) -> torch.Tensor:
    """Add up the losses of all batches, without waiting for any of them."""
    return sum((torch.mm(batch, weights) ** 2).mean() for batch in batches)


# %%
# answer: clipped
import torch


def clipped(gradient: torch.Tensor, limit: float) -> torch.Tensor:
    """Scale a gradient down to the norm `limit`, if its own norm is larger, without waiting for it."""
    norm = (gradient**2).sum() ** 0.5
    return gradient * torch.clamp(limit / norm, max=1.0)
