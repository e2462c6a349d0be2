# ---
# coursework:
#   points: 9
#   misconception: thinks that the answer's time t3 is paid once, however often one waits
# ---

# %%
# answer: sync_total
def sync_total(n: int, t1: float, t2: float, t3: float) -> float:
    """Give the time of n operations with a wait after each."""
    return n * (t1 + t2) + t3
