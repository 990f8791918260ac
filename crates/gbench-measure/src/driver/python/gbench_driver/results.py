"""What benchmark functions return and state: inference times, work per iteration, figures of their own.

Everything here is checked before it is sent. A list that is empty, or a value that is no number, is an error and not a zero.
"""
import re

from .failures import error
from .plain import number, shown

TTFT, TPOT = "ttft_times_ms", "tpot_times_ms"
# By the end of a figure's name: the unit, where the name also tells which direction is better. `_gbps` is read as gigabytes: what
# GPU benchmarks call so is the bandwidth of memory, and more of gigabits would be better as well.
UNITS = (
    ("_tflops", "TFLOPS"), ("_gflops", "GFLOPS"), ("_gb_s", "GB/s"), ("_gbps", "GB/s"), ("_bytes", "B"), ("_mb", "MB"),
    ("_ms", "ms"), ("_us", "\u00b5s"), ("_ns", "ns"), ("_s", "s"),
    ("_joules", "J"), ("energy_j", "J"),
)
RATES = ("TFLOPS", "GFLOPS", "GB/s")
RATE = r"([a-z0-9]+)_per_(?:(s|sec|second|seconds)|(ms)|(us))$"
LAZY = ("coroutine", "generator", "async_generator", "map", "filter", "zip")
# What stands for a result that somebody else still works on: of concurrent.futures, asyncio, torch and dask, of
# multiprocessing.pool, of ray.
PROMISES = ("Future", "Task", "AsyncResult", "ApplyResult", "MapResult", "ObjectRef")
ASKED = ("done", "ready", "binary")  # methods of those: a benchmark's own class may be called Task


class Returned:
    """Looks at what the calls return, and joins the inference times of those that count."""

    def __init__(self, what):
        self.what = what  # names the function in messages
        self.times = {"ttft": [], "tpot": []}

    def look(self, value, counts):
        """Checks a returned value; says whether those of all measured calls are wanted."""
        name = type(value).__name__
        if name in LAZY:
            raise error("bad_result", "%s returned a %s: its work has not been done when it returns, so there is nothing to measure. "
                        "Do the work before returning" % (self.what, name))
        if name in PROMISES and any(hasattr(type(value), method) for method in ASKED):
            raise error("bad_result", "%s returned a %s: its work may still be under way when it returns, so it would not be measured. "
                        "Wait for its result before returning, and return that" % (self.what, name))
        if not isinstance(value, dict) or not (TTFT in value or TPOT in value):
            return False
        times = inference_times(value, self.what)
        if counts:
            for name, values in times.items():
                self.times[name].extend(values)
        return True

    def send(self, channel):
        for name, values in self.times.items():
            channel.samples(values, metric=name, unit="ms", better="lower")


def inference_times(value, what):
    """The two lists of one call, each checked; a list that is not there at all is left out."""
    times = {}
    for name, key in (("ttft", TTFT), ("tpot", TPOT)):
        if key not in value:
            continue
        values = as_list(value[key])
        if values is None:
            raise error("bad_result", "%s returned %s as %s; it has to be a list of numbers" % (what, key, shown(value[key])))
        if not values:
            raise error("bad_result", "%s returned an empty list as %s" % (what, key))
        for entry in values:
            figure = number(entry)
            if figure is None or not 0 <= figure < float("inf"):
                raise error("bad_result", "%s returned %s in %s; it has to be a number of milliseconds" % (what, shown(entry), key))
        times[name] = [float(number(entry)) for entry in values]
    # A request has one first token; it may have one time for each further token, or their mean.
    if len(times) == 2 and len(times["ttft"]) > len(times["tpot"]):
        raise error("bad_result", "%s returned %d entries in %s and %d in %s; the second needs at least one entry a request"
                    % (what, len(times["ttft"]), TTFT, len(times["tpot"]), TPOT))
    return times


def without_times(value):
    """What a benchmark returned beside its inference times, which differ from run to run; None if that is nothing."""
    if not isinstance(value, dict) or not (TTFT in value or TPOT in value):
        return value
    return {key: entry for key, entry in value.items() if key not in (TTFT, TPOT)} or None


def as_list(value):
    """A list of what may be a list, a tuple, or an array with `tolist`; None for anything else."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
        return value if isinstance(value, list) else None
    return None


def work(stated):
    """The keys of the event `metadata` and its notes, from a workload metadata object or dictionary."""
    keys, notes = {}, {}
    for key, fields in (("items", ("requests_per_iteration", "samples_per_iteration")), ("tokens", ("tokens_per_iteration",)),
                        ("bytes", ("bytes_per_iteration",))):
        for field in fields:
            value = _field(stated, field)
            if value is not None and key not in keys:
                figure = number(value)
                if figure is None or not 0 <= figure < float("inf"):
                    raise error("bad_result", "get_workload_metadata(): %s is %s; it has to be a number" % (field, shown(value)))
                keys[key] = float(figure)
    custom = _field(stated, "custom_units_per_iteration")
    if custom is not None:
        notes["custom_units_per_iteration"] = custom
        notes["custom_unit_name"] = _field(stated, "custom_unit_name")
    return keys, notes


def _field(stated, name):
    return stated.get(name) if isinstance(stated, dict) else getattr(stated, name, None)


TAKEN = ("time", "ttft", "tpot", "memory", "host_peak_bytes", "device_peak_bytes")


def send_figures(channel, figures):
    """Sends the benchmark's own figures.

    One whose name does not end with a unit is shown and never judged: nobody said what is better.
    """
    if not isinstance(figures, dict):
        raise error("bad_result", "get_custom_metrics() returned %s; it has to be a dictionary of numbers" % shown(figures))
    for name, value in figures.items():
        send_figure(channel, name, value, unit_of(str(name)))


def send_figure(channel, name, value, unit):
    figure = number(value)
    if figure is not None:
        metric = metric_name(name)
        metric = "custom/" + metric if metric in TAKEN else metric
        better = None if unit is None else "higher" if unit in RATES or re.search(RATE, str(name).lower()) else "lower"
        channel.send("sample", metric=metric, value=figure, unit=unit, better=better, gate=None if unit else False)


def unit_of(name):
    """The unit that the name of a figure ends with, or None. A rate is one of what stands before `_per_`: `tokens_per_s` in tokens/s."""
    rate = re.search(RATE, name.lower())
    if rate:
        return "%s/%s" % (rate.group(1), "s" if rate.group(2) else "ms" if rate.group(3) else "\u00b5s")
    return next((unit for end, unit in UNITS if name.lower().endswith(end)), None)


def metric_name(name):
    """A name that the protocol takes."""
    words = re.sub(r"[^A-Za-z0-9_./-]+", "_", str(name)).strip("_")[:180]
    return words or "figure"
