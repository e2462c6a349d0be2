# ---
# coursework:
#   points: 4
#   misconception: >-
#     takes the classic form t1 + n t2 + t3 for exact, though it assumes that the backend is no faster than the
#     frontend
# ---

# %%
# answer: async_total
def async_total(n: int, t1: float, t2: float, t3: float) -> float:
    """Give the time of n operations with one wait at the end."""
    return t1 + n * t2 + t3
