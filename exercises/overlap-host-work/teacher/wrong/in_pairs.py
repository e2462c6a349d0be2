# ---
# coursework:
#   points: 4
#   misconception: >-
#     takes batches in pairs, so that the device has nothing to do while the host works on the second of each
# ---

# %%
# answer: process
def process(device, host, batches: list) -> list:
    outcomes = []
    for first in range(0, len(batches), 2):
        numbers = [device.submit(batch) for batch in batches[first : first + 2]]
        outcomes += [host.use(device.wait(number)) for number in numbers]
    return outcomes
