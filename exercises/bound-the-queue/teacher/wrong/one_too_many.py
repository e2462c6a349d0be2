# ---
# coursework:
#   points: 5
#   misconception: makes room after submitting, so that one batch more than allowed is in flight for a moment
# ---

# %%
# answer: train
from collections import deque


def train(device, batches: list, depth: int) -> list:
    in_flight, losses = deque(), []
    for batch in batches:
        in_flight.append(device.submit(batch))
        if len(in_flight) > depth:
            losses.append(device.wait(in_flight.popleft()))
    return losses + [device.wait(number) for number in in_flight]
