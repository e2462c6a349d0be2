# ---
# coursework:
#   points: 6
#   misconception: thinks that printing an array is no wait, or that asking for its shape is one
# ---

# %%
# answer: which_waits
def which_waits() -> dict[str, str]:
    return {"example": "right", "A": "left", "B": "left", "C": "right", "D": "left"}
