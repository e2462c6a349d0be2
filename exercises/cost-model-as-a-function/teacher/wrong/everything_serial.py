# ---
# coursework:
#   points: 2
#   misconception: thinks that nothing overlaps, and that waiting once saves the answers only
# ---

# %%
# answer: async_total
def async_total(n: int, t1: float, t2: float, t3: float) -> float:
    """Give the time of n operations with one wait at the end."""
    return n * (t1 + t2) + t3
