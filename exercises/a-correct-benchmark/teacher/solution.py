# %%
# answer: benchmark
import statistics


def benchmark(device, clock, operation: str, rounds: int) -> float:
    """Return the median of `rounds` times, each from asking for one run of the operation to having it, in seconds."""
    device.wait(device.submit(operation))  # warm up
    device.wait_all()  # what others have left, if the queue does not keep its order
    times = []
    for _ in range(rounds):
        start = clock.now()
        device.wait(device.submit(operation))
        times.append(clock.now() - start)
    return statistics.median(times)
