# ---
# coursework:
#   points: 6
#   misconception: takes the mean in place of the median, so that a few interruptions move the figure
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
    return sum(times) / rounds
