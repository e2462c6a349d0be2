# ---
# coursework:
#   points: 4
#   misconception: times all runs with one wait and divides, so that frontend and device overlap in the figure
# ---

# %%
# answer: benchmark
def benchmark(device, clock, operation: str, rounds: int) -> float:
    device.wait(device.submit(operation))
    start = clock.now()
    for _ in range(rounds):
        device.submit(operation)
    device.wait_all()
    return (clock.now() - start) / rounds
