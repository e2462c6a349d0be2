# ---
# coursework:
#   points: 8
#   misconception: thinks that a condition of an array is no wait
# ---

# %%
# answer: waits_e
def waits_e(n: int) -> int:
    return 0
