# ---
# coursework:
#   points: 8
#   misconception: thinks that where, which keeps the shape, waits as a mask does
# ---

# %%
# answer: waits_c
def waits_c(n: int) -> int:
    return 2 * n
