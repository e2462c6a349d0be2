# ---
# coursework:
#   points: 8
#   misconception: thinks that a mask gives its result without waiting, as where does
# ---

# %%
# answer: waits_c
def waits_c(n: int) -> int:
    return 0
