# ---
# coursework:
#   points: 8
#   misconception: submits all batches first; everything overlaps, but the queue has no bound
# ---

# %%
# answer: process
def process(device, host, batches: list) -> list:
    numbers = [device.submit(batch) for batch in batches]
    return [host.use(device.wait(number)) for number in numbers]
