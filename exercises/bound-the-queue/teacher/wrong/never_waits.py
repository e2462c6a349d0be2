# ---
# coursework:
#   points: 5
#   misconception: submits everything before it waits for the first time, so that the queue has no bound
# ---

# %%
# answer: train
def train(device, batches: list, depth: int) -> list:
    numbers = [device.submit(batch) for batch in batches]
    return [device.wait(number) for number in numbers]
