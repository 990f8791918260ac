"""The timers of other harnesses, for users who ask for them by name: triton's `do_bench` and torch's `Timer`.

Where one is not installed the case is skipped. It is never timed in another way under the same name. What was asked for and is not
theirs to follow stands in the record as not applied.
"""
import sys

from . import originals
from .failures import cuda_is_there, error, skip

MIN_RUN_TIME = 0.2  # seconds; torch's own default
BLOCKS = 5  # of torch's timer at least
QUANTILES = 21  # of an old `do_bench`
LONG = 5.0  # seconds behind which two blocks are enough


class DoBench:
    """All samples of `triton.testing.do_bench`, or where its version gives none of them (before 3.2) their quantiles."""

    def __init__(self, call, settings, look):
        if not _importable("triton"):
            raise skip("triton is not installed, and `do_bench` was asked for")
        if not cuda_is_there():
            raise skip("needs a CUDA device: `do_bench` was asked for, and it times nothing else")
        self.call, self.settings, self.look = call, settings, look
        self.instead = None

    def warm_up(self):
        _first(self)

    def measure(self, samples):
        from triton.testing import do_bench
        options = self._options(do_bench)
        if self.settings.duration > 0:
            options["rep"] = self.settings.duration * 1000
        if self.settings.burnin > 0:
            options["warmup"] = self.settings.burnin * 1000
        for milliseconds in do_bench(self.call, **options):
            samples.add(float(milliseconds) / 1000)

    def _options(self, do_bench):
        import triton
        version = str(getattr(triton, "__version__", ""))
        if _numbers(version) >= (3, 2):
            return {"return_mode": "all"}
        self.instead = "%d quantiles of its samples: triton %s does not give them" % (QUANTILES, version)
        # Not in their order, which would look like a drift.
        places = [place * 8 % QUANTILES / (QUANTILES - 1) for place in range(QUANTILES)]
        code = do_bench.__code__
        names = code.co_varnames[:code.co_argcount]
        return {"percentiles" if "percentiles" in names else "quantiles": places}

    def notes(self):
        notes = dict(_not_applied(self.settings, "do_bench"), clock="do_bench", calls_per_sample=1)
        if self.instead:
            notes["do_bench"] = self.instead
        return notes


class TorchTimer:
    """The blocks of `torch.utils.benchmark.Timer`, one sample each: neither split nor repeated to reach a number, but for there to
    be a few. It runs with as many threads as torch has been told to use, which the timer by itself would set to one.
    """

    def __init__(self, call, settings, look):
        if not _importable("torch"):
            raise skip("torch is not installed, and `torch_timer` was asked for")
        self.call, self.settings, self.look = call, settings, look
        self.number_per_run = self.threads = None

    def warm_up(self):
        _first(self)

    def measure(self, samples):
        import torch
        from torch.utils.benchmark import Timer
        self.threads = torch.get_num_threads()
        timer = Timer(stmt="call()", globals={"call": self.call}, num_threads=self.threads)
        begin = originals.monotonic()
        measured = timer.blocked_autorange(min_run_time=self.settings.duration or MIN_RUN_TIME)
        self.number_per_run = measured.number_per_run
        times = list(measured.raw_times)
        if len(times) < BLOCKS and self.number_per_run > 1:
            self.number_per_run = max(1, self.number_per_run * len(times) // BLOCKS)  # the same calls in more blocks
            times = []
        while len(times) < BLOCKS and (len(times) < 2 or originals.monotonic() - begin < LONG):
            times += timer.timeit(self.number_per_run).raw_times
        for seconds in times:
            samples.add(seconds / self.number_per_run)

    def notes(self):
        return dict(_not_applied(self.settings, "torch_timer"), clock="torch_timer", calls_per_sample=self.number_per_run,
                    number_per_run=self.number_per_run, threads=self.threads)


def _not_applied(settings, mode):
    """Notes for numbers of calls: both timers go by time."""
    notes = {}
    if settings.duration <= 0:
        notes["iterations"] = "not applied: `%s` goes by time; `duration` is" % mode
    if settings.burnin <= 0 or mode == "torch_timer":
        notes["warmup"] = "not applied: `%s` warms up by its own rules" % mode
    return notes


def _first(timer):
    """The first call, whose result is looked at. What the later ones return stays with the foreign timer."""
    if timer.look(timer.call(), False):
        raise error("mode", "the benchmark returns inference times, which this timing mode cannot gather; use the mode `auto`")


def _numbers(version):
    """(3, 2) of `3.2.0+git`; a version that says nothing is a new one."""
    try:
        return tuple(int(part) for part in version.split(".")[:2])
    except ValueError:
        return (99, 0)


def _importable(name):
    if name in sys.modules:
        return True
    import importlib.util
    return importlib.util.find_spec(name) is not None
