# ---
# coursework:
#   points: 6
#   misconception: thinks that where has to see the numbers to choose, and that a mask need not
# ---

# %%
# answer: which_waits
def which_waits() -> dict[str, str]:
    return {"example": "right", "A": "right", "B": "right", "C": "right", "D": "left"}


# %% [markdown]
# <!-- answer: pair-b -->
# `where` waits because it has to look at each number to choose between two. The mask only selects.
