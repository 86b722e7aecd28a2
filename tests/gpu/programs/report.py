"""What every program reports: values that must be the same on every path, and its run time."""

import hashlib
import statistics
import time


def result(name, value):
    """Prints a value that must be equal on every path. Floats are printed exactly."""
    if isinstance(value, float):
        value = value.hex()
    print(f"result: {name} = {value}", flush=True)


def digest(array):
    """Returns a hash of an array's bytes."""
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def timed(count, step, finish):
    """Runs `step` twice to warm up and then `count` times, and prints the time of the latter. The
    steps run in up to five rounds, and every round counts as long as the median one, so that a
    disturbance of the machine doesn't change the result."""
    for _ in range(2):
        step()
    finish()
    rounds = min(5, count)
    times = []
    for number in range(rounds):
        steps = count // rounds + (number < count % rounds)
        start = time.perf_counter()
        for _ in range(steps):
            step()
        finish()
        times.append((time.perf_counter() - start) / steps)
    print(f"seconds: {statistics.median(times) * count:.3f}", flush=True)


def main(programs, argv):
    """Runs the program that the command line names."""
    if len(argv) != 2 or argv[1] not in programs:
        raise SystemExit(f"usage: {argv[0]} {'|'.join(programs)}")
    programs[argv[1]]()
    print("passed", flush=True)
