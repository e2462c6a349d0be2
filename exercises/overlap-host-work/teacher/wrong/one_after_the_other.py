# ---
# coursework:
#   points: 4
#   misconception: waits for each result and works on it before the next batch is submitted, so that nothing overlaps
# ---

# %%
# answer: process
def process(device, host, batches: list) -> list:
    outcomes = []
    for batch in batches:
        number = device.submit(batch)
        outcomes.append(host.use(device.wait(number)))
    return outcomes
