# ---
# coursework:
#   points: 6
#   misconception: thinks that the length of a list of arrays waits for the arrays
# ---

# %%
# answer: which_waits
def which_waits() -> dict[str, str]:
    return {"example": "right", "A": "right", "B": "left", "C": "left", "D": "left"}
