# ---
# coursework:
#   points: 4
#   misconception: neither waits for what is in the queue nor for its own warm-up before the clock starts
# ---

# %%
# answer: benchmark
import statistics


def benchmark(device, clock, operation: str, rounds: int) -> float:
    device.submit(operation)
    times = []
    for _ in range(rounds):
        start = clock.now()
        device.wait(device.submit(operation))
        times.append(clock.now() - start)
    return statistics.median(times)
