# %%
# answer: which_waits
def which_waits() -> dict[str, str]:
    """Say for each pair which program waits: "left" or "right"."""
    return {"example": "right", "A": "right", "B": "left", "C": "right", "D": "left"}


# %% [markdown]
# <!-- answer: pair-b -->
# How many numbers are positive decides how long `x[x > 0]` is. An array is handed out with its shape, so the call
# cannot return before the numbers of `x` have been computed: it waits. `where` gives an array of the shape of
# `x`, whatever the numbers are, so it can be handed out at once, with its numbers still to come.
#
# At the mask the frontend stands still until everything in front of it has been computed, and then the queue is
# empty. The slower the backend, the longer that takes, and none of the frontend's own work is hidden behind it.
#
# `nonzero` waits for the same reason: it lists the places of what is not zero, and how many those are depends on
# the numbers.
