"""How the Python driver measures: beside `timeit` in one process, and what it adds to the start of the bare interpreter.

    python3 benches/python_timing.py

The two clocks take turns in one process, and the median of the turns' ratios is shown: a machine that slows down meets both alike. The numpy kernel
needs numpy.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import timeit

DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "crates", "gbench-measure", "src", "driver", "python")
sys.path.insert(0, DRIVER)

from gbench_driver import settings, wall  # noqa: E402

TURNS = 15


class Request:
    """As much as the gate asks for where nothing is set."""

    iterations, warmup, duration, burnin, cold, pinned = 10, 10, 0.1, 0.02, False, []


class Samples:
    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append(value)


def ten_microseconds():
    total = 0
    for number in range(220):
        total += number * number
    return total


def hundred_milliseconds():
    total = 0
    for number in range(1500000):
        total += number * number
    return total


def numpy_kernel():
    try:
        import numpy
    except ImportError:
        return None
    values = numpy.random.default_rng(1).random(120000)
    return lambda: numpy.sqrt(values * values + 1.0).sum()


def agreement(name, call):
    """Seconds by the driver and by timeit, medians, and the median of their ratios."""
    own, other = [], []
    # As `python -m timeit` would: so many calls that reading the clock is nothing beside them.
    number = max(1, int(0.01 / min(timeit.repeat(call, number=1, repeat=20))))
    for _ in range(TURNS):
        taken = Samples()
        timer = wall.Wall(call, settings.Settings(Request, {"iterations": None, "warmup": None}), lambda value, counts: False)
        timer.warm_up()
        timer.measure(taken)
        own.append(statistics.median(taken.values))
        other.append(statistics.median(timeit.repeat(call, number=number, repeat=10 if number > 1 else 2)) / number)
    ratio = statistics.median(mine / theirs for mine, theirs in zip(own, other))
    print("| %-22s | %10.2f us | %10.2f us | %+.2f %% |" % (name, statistics.median(own) * 1e6, statistics.median(other) * 1e6, (ratio - 1) * 100))


def start():
    """Milliseconds of the bare interpreter, and of the driver with one empty case."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "bench.py"), "w") as file:
            file.write("def benchmark():\n    return 1\n")
        request = {"protocol": 1, "root": folder, "iterations": 1, "warmup": 0, "cold": True, "cases": [{"way": "function", "file": "bench.py"}]}
        path = os.path.join(folder, "request.json")
        with open(path, "w") as file:
            json.dump(request, file)
        words = {"bare": [sys.executable, "-c", "pass"], "driver": [sys.executable, os.path.join(DRIVER, "start.py"), path]}
        times = {name: [] for name in words}
        for turn in range(31):
            for name, command in words.items():
                begin = time.perf_counter()
                subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
                if turn > 0:  # the first compiles the driver
                    times[name].append((time.perf_counter() - begin) * 1e3)
    bare, driver = statistics.median(times["bare"]), statistics.median(times["driver"])
    print("\nstart: bare interpreter %.1f ms, driver with one empty case %.1f ms, so that it adds %.1f ms (30 of each, by turns)" % (bare, driver, driver - bare))


if __name__ == "__main__":
    print("| function               | driver        | timeit        | apart   |")
    print("|---|---|---|---|")
    agreement("10 us, Python", ten_microseconds)
    kernel = numpy_kernel()
    if kernel is None:
        print("skipped: the kernel of 1 ms needs numpy, which this interpreter does not have", file=sys.stderr)
    else:
        agreement("1 ms, numpy", kernel)
    agreement("100 ms, Python", hundred_milliseconds)
    start()
