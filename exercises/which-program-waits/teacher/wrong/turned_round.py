# ---
# coursework:
#   points: 0
#   misconception: answers which program does not wait
# ---

# %%
# answer: which_waits
def which_waits() -> dict[str, str]:
    return {"example": "left", "A": "left", "B": "right", "C": "left", "D": "right"}
