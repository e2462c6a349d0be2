# ---
# coursework:
#   points: 0
#   misconception: stops the clock when submit has returned, and so times the asking
# ---

# %%
# answer: benchmark
import statistics


def benchmark(device, clock, operation: str, rounds: int) -> float:
    device.wait(device.submit(operation))
    times = []
    for _ in range(rounds):
        start = clock.now()
        device.submit(operation)
        times.append(clock.now() - start)
    return statistics.median(times)
