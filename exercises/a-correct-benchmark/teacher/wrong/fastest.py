# ---
# coursework:
#   points: 6
#   misconception: takes the fastest of all times for the figure, which hardly any run repeats
# ---

# %%
# answer: benchmark
def benchmark(device, clock, operation: str, rounds: int) -> float:
    device.wait(device.submit(operation))
    times = []
    for _ in range(rounds):
        start = clock.now()
        device.wait(device.submit(operation))
        times.append(clock.now() - start)
    return min(times)
