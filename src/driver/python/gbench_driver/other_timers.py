"""The timers of other harnesses, for users who ask for them by name: triton's `do_bench` and torch's `Timer`.

Where one is not installed the case is skipped. It is never timed in another way under the same name.
"""
import sys

from .failures import cuda_is_there, error, skip

MIN_RUN_TIME = 0.2  # seconds; torch's own default


class DoBench:
    """All samples of `triton.testing.do_bench`."""

    def __init__(self, call, settings, look):
        if not _importable("triton"):
            raise skip("triton is not installed, and `do_bench` was asked for")
        if not cuda_is_there():
            raise skip("needs a CUDA device: `do_bench` was asked for, and it times nothing else")
        self.call, self.settings, self.look = call, settings, look

    def warm_up(self):
        _first(self)

    def measure(self, samples):
        from triton.testing import do_bench
        options = {"return_mode": "all"}
        if self.settings.duration > 0:
            options["rep"] = self.settings.duration * 1000
        if self.settings.burnin > 0:
            options["warmup"] = self.settings.burnin * 1000
        for milliseconds in do_bench(self.call, **options):
            samples.add(float(milliseconds) / 1000)

    def notes(self):
        return {"clock": "do_bench", "calls_per_sample": 1}


class TorchTimer:
    """The blocks of `torch.utils.benchmark.Timer`, one sample each: they are neither split nor repeated to reach a number."""

    def __init__(self, call, settings, look):
        if not _importable("torch"):
            raise skip("torch is not installed, and `torch_timer` was asked for")
        self.call, self.settings, self.look = call, settings, look
        self.number_per_run = None

    def warm_up(self):
        _first(self)

    def measure(self, samples):
        from torch.utils.benchmark import Timer
        timer = Timer(stmt="call()", globals={"call": self.call})
        measured = timer.blocked_autorange(min_run_time=self.settings.duration or MIN_RUN_TIME)
        self.number_per_run = measured.number_per_run
        for seconds in measured.raw_times:
            samples.add(seconds / measured.number_per_run)

    def notes(self):
        return {"clock": "torch_timer", "calls_per_sample": self.number_per_run, "number_per_run": self.number_per_run}


def _first(timer):
    """The first call, whose result is looked at. What the later ones return stays with the foreign timer."""
    if timer.look(timer.call(), False):
        raise error("mode", "the benchmark returns inference times, which this timing mode cannot gather; use the mode `auto`")


def _importable(name):
    if name in sys.modules:
        return True
    import importlib.util
    return importlib.util.find_spec(name) is not None
