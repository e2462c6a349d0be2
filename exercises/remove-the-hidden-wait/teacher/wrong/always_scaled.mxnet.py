# ---
# coursework:
#   points: 5
#   misconception: drops the condition instead of turning it into arithmetic, and so scales small gradients up
# ---

# %%
# answer: clipped


def clipped(gradient, limit):
    norm = (gradient**2).sum() ** 0.5
    return gradient * (limit / norm)
