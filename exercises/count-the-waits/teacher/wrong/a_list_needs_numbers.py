# ---
# coursework:
#   points: 8
#   misconception: thinks that appending an array to a list waits for its numbers
# ---

# %%
# answer: waits_b
def waits_b(n: int) -> int:
    return n + 1
