# %%
# answer: train
from collections import deque


def train(device, batches: list, depth: int) -> list:
    """Submit all batches, never more than `depth` in flight, and return their losses in order."""
    in_flight, losses = deque(), []
    for batch in batches:
        if len(in_flight) == depth:  # make room first, and wait for the oldest alone
            losses.append(device.wait(in_flight.popleft()))
        in_flight.append(device.submit(batch))
    return losses + [device.wait(number) for number in in_flight]
