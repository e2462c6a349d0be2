# ---
# coursework:
#   points: 6
#   misconception: waits before the clock starts, but does not warm up, so that the first run counts
# ---

# %%
# answer: benchmark
import statistics


def benchmark(device, clock, operation: str, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        device.wait_all()
        start = clock.now()
        device.wait(device.submit(operation))
        times.append(clock.now() - start)
    return statistics.median(times)
