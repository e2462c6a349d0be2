# ---
# coursework:
#   points: 5
#   misconception: thinks that a wait costs only its answer t3, and forgets that the queue runs empty at each wait
# ---

# %%
# answer: total_every
def total_every(n: int, k: int, t1: float, t2: float, t3: float) -> float:
    """Give the time of n operations with a wait after every k of them, and one at the end."""
    waits = -(-n // k)
    return async_total(n, t1, t2, t3) + (waits - 1) * t3
