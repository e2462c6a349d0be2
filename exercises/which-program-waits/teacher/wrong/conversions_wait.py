# ---
# coursework:
#   points: 6
#   misconception: thinks that a change of type waits, since all numbers change
# ---

# %%
# answer: which_waits
def which_waits() -> dict[str, str]:
    return {"example": "right", "A": "right", "B": "left", "C": "right", "D": "right"}
