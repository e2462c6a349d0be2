# %%
# answer: sync_total
def sync_total(n: int, t1: float, t2: float, t3: float) -> float:
    """Give the time of n operations with a wait after each."""
    return n * (t1 + t2 + t3)


# %%
# answer: async_total
def async_total(n: int, t1: float, t2: float, t3: float) -> float:
    """Give the time of n operations with one wait at the end."""
    return n * max(t1, t2) + min(t1, t2) + t3


# %%
# answer: regime
def regime(t1: float, t2: float) -> str:
    """Say who sets the pace: "backend-bound" or "frontend-bound"."""
    return "backend-bound" if t2 >= t1 else "frontend-bound"


# %%
# answer: total_every
def total_every(n: int, k: int, t1: float, t2: float, t3: float) -> float:
    """Give the time of n operations with a wait after every k of them, and one at the end."""
    rounds, rest = divmod(n, k)
    total = rounds * async_total(k, t1, t2, t3)
    return total + async_total(rest, t1, t2, t3) if rest else total


# %%
# answer: seldom_enough
def seldom_enough(n: int, t1: float, t2: float, t3: float, percent: float) -> int:
    """Give the smallest k for which waiting after every k costs at most `percent` per cent more."""
    most = (1 + percent / 100) * async_total(n, t1, t2, t3)
    k = 1
    while total_every(n, k, t1, t2, t3) > most:
        k += 1
    return k
