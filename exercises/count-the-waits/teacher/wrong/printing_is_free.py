# ---
# coursework:
#   points: 4
#   misconception: thinks that printing a number, or formatting it, is no wait
# ---

# %%
# answer: waits_a
def waits_a(n: int, k: int) -> int:
    return 1


# %%
# answer: waits_d
def waits_d(epochs: int, n: int, k: int) -> int:
    return epochs * (n // k)


# %%
# answer: waits_e
def waits_e(n: int) -> int:
    return n
