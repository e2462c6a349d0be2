# ---
# coursework:
#   points: 9
#   misconception: names the regime after the one that is faster, not after the one that sets the pace
# ---

# %%
# answer: regime
def regime(t1: float, t2: float) -> str:
    """Say who sets the pace: "backend-bound" or "frontend-bound"."""
    return "frontend-bound" if t2 > t1 else "backend-bound"
