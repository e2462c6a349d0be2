# ---
# coursework:
#   points: 5
#   misconception: forgets the operations that are left over after the last whole round
# ---

# %%
# answer: total_every
def total_every(n: int, k: int, t1: float, t2: float, t3: float) -> float:
    """Give the time of n operations with a wait after every k of them, and one at the end."""
    return (n // k) * async_total(k, t1, t2, t3)
