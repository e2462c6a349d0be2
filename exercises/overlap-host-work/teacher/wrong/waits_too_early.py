# ---
# coursework:
#   points: 4
#   misconception: >-
#     submits the next batch early enough, but waits for it before the host begins, and so gives the overlap away
# ---

# %%
# answer: process
def process(device, host, batches: list) -> list:
    outcomes, results = [], []
    for batch in batches:
        results.append(device.wait(device.submit(batch)))
        if len(results) > 1:
            outcomes.append(host.use(results.pop(0)))
    return outcomes + [host.use(result) for result in results]
