# ---
# coursework:
#   points: 7
#   misconception: thinks that Python can take the larger of two numbers without looking at them
# ---

# %%
# answer: clipped


def clipped(gradient, limit):
    norm = (gradient**2).sum() ** 0.5
    return gradient * (limit / max(norm, limit))
