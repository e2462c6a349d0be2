# ---
# coursework:
#   points: 0
#   misconception: explains the speed of a small product by the size of the memory
# ---

# %% [markdown]
# <!-- answer: machine -->
# The memory: with more of it, everything would be faster. The operating system: Linux is faster. The version of
# Python: a newer one would multiply faster.
