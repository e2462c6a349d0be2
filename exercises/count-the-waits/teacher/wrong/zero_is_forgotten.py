# ---
# coursework:
#   points: 8
#   misconception: forgets that the condition i % k == 0 holds at 0 already
# ---

# %%
# answer: waits_a
def waits_a(n: int, k: int) -> int:
    return n // k + 1
