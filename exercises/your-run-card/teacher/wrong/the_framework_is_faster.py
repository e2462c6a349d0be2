# ---
# coursework:
#   points: 0
#   misconception: takes a figure of another machine for a property of the framework
# ---

# %% [markdown]
# <!-- answer: comparison -->
# The other framework is four times as fast, because its figure is a quarter of mine. I would change to it.
