# ---
# coursework:
#   points: 0
#   misconception: takes every difference between two figures for an effect, however much the rounds differ
# ---

# %% [markdown]
# <!-- answer: figures -->
# The third figure is larger than the second, by a little, so waiting is expensive here. A backend computes beside
# the frontend, because the first figure is smaller than the second in the last digit.
