# ---
# coursework:
#   points: 6
#   misconception: does not wait for the batches that are still in flight after the loop
# ---

# %%
# answer: train
from collections import deque


def train(device, batches: list, depth: int) -> list:
    in_flight, losses = deque(), []
    for batch in batches:
        if len(in_flight) == depth:
            losses.append(device.wait(in_flight.popleft()))
        in_flight.append(device.submit(batch))
    return losses
