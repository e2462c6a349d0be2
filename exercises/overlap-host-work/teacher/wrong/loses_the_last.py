# ---
# coursework:
#   points: 2
#   misconception: works on the result before this one in each round, and forgets the last one after the loop
# ---

# %%
# answer: process
def process(device, host, batches: list) -> list:
    outcomes, pending = [], None
    for batch in batches:
        following = device.submit(batch)
        if pending is not None:
            outcomes.append(host.use(device.wait(pending)))
        pending = following
    return outcomes
