# ---
# coursework:
#   points: 0
#   misconception: takes the time until a product was asked for as the time that it takes
# ---

# %% [markdown]
# <!-- answer: figures -->
# The first figure is the real time of a product. The second is larger because of the overhead of synchronize, and
# the third because the wait is called twenty times.
