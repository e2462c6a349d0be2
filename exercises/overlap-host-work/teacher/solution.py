# %%
# answer: process
def process(device, host, batches: list) -> list:
    """Return what `host.use` makes of the result of each batch, while the device computes the next one."""
    outcomes, pending = [], None
    for batch in batches:
        following = device.submit(batch)
        if pending is not None:
            outcomes.append(host.use(device.wait(pending)))  # the device is at work on `batch` meanwhile
        pending = following
    if pending is not None:
        outcomes.append(host.use(device.wait(pending)))
    return outcomes
