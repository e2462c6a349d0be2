# ---
# coursework:
#   points: 7
#   misconception: empties the whole queue whenever it is full, instead of making room for one
# ---

# %%
# answer: train
def train(device, batches: list, depth: int) -> list:
    in_flight, losses = [], []
    for batch in batches:
        if len(in_flight) == depth:
            losses += [device.wait(number) for number in in_flight]
            in_flight = []
        in_flight.append(device.submit(batch))
    return losses + [device.wait(number) for number in in_flight]
