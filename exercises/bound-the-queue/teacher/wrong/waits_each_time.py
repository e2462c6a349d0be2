# ---
# coursework:
#   points: 7
#   misconception: waits after each batch, so that nothing overlaps
# ---

# %%
# answer: train
def train(device, batches: list, depth: int) -> list:
    return [device.wait(device.submit(batch)) for batch in batches]
