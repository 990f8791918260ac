"""Chooses the timer of a case, by the mode that was asked for and by what the benchmark really uses.

The mode `auto` uses CUDA events where the case runs on CUDA, else the wall clock. Whether it does is known only when the warm-up
is over: a benchmark may allocate on the device at its first call. So the warm-up is by the wall clock, and the choice is made
behind it.

Under a profiler the times are not used, so the driver makes calls one by one, by the wall clock: all else would put kernels of the driver, or
of another harness, beside those of the benchmark.
"""
import sys

from . import gpu, other_devices, originals
from .failures import error, skip
from .wall import Wall


class Timer:
    """Warm-up first, then the choice, then the measurement; see the module's text."""

    unit = "s"

    def __init__(self, options, settings, subject, look, profiled=False):
        self.options, self.settings, self.subject, self.profiled = options, settings, subject, profiled
        self.look = lambda value, counts: self._see_device(value) or look(value, counts)
        self.call = subject.call
        self.extra = {}
        self.cuda = None
        self.returns_cuda = False  # a call has returned what lies on a CUDA device
        self.own_bytes, self.flush = 0, None  # of the driver's on the device
        self.renew = self._renewal()
        mode = options["mode"]
        if mode == "cuda_events" and settings.cold:
            raise error("mode", "the mode `cuda_events` calls several times before it measures; a cold measurement needs the mode `auto`")
        cuda = gpu.torch_with_cuda()
        if mode == "cuda_events" and cuda is None:
            raise skip("needs a CUDA device that torch sees: timing with CUDA events was asked for")
        if options["cuda_graph"] and cuda is None:
            raise skip("needs a CUDA device that torch sees: a CUDA graph was asked for")
        if options["flush_l2"] and cuda is None:
            self.extra["flush_l2"] = "not applied: no CUDA device"
        self.wait = None  # for devices, before the clock starts and before it stops
        self._find_devices()
        self._wait_for_jax()
        self.inner = self._foreign(mode) or self._wall()

    def _see_device(self, value):
        self.returns_cuda = self.returns_cuda or gpu.device_of(value) == "cuda"

    def _find_devices(self):
        """Sets `cuda` where the benchmark says that it runs on CUDA, or has allocated or returned something there; else what other
        device is to be waited for.
        """
        torch = gpu.torch_with_cuda()
        held = []
        if torch is not None:
            found = gpu.Cuda(torch)
            if found.used() or self.returns_cuda or gpu.is_cuda(self.subject.wants_cuda()):
                self.cuda, self.wait = found, found.synchronize
                return
            held = gpu.holding(torch)
        if held:
            # A module that stayed loaded may work on tensors of the case before, and allocate nothing.
            found.devices, self.wait = held, found.synchronize
            self.extra["waited_with"] = "torch.cuda.synchronize: there is memory of an earlier case"
            return
        self.wait, words = other_devices.find() or (None, None)
        if words:
            self.extra["waited_with"] = words

    def _wait_for_jax(self):
        """JAX returns before the work is done; the call has to wait for what it returns."""
        jax = sys.modules.get("jax")
        if jax is not None and hasattr(jax, "block_until_ready") and "jax" not in self.extra:
            inner, wait = self.call, jax.block_until_ready
            self.call = lambda: wait(inner())
            self.extra["jax"] = "waited for with block_until_ready"

    def _foreign(self, mode):
        """Another harness's timer, where one was asked for by name; imported only then."""
        if mode not in ("do_bench", "torch_timer") or self.profiled:
            return None
        if self.settings.cold or self.options["cuda_graph"]:
            raise error("mode", "the mode `%s` warms up and calls by its own rules; a cold measurement or a CUDA graph needs the mode `auto`" % mode)
        for option in ("flush_l2", "fresh_inputs"):
            if self.options[option]:
                self.extra[option] = "not applied: the timer of another harness goes by its own rules"
        with originals.BuiltIn():
            from . import other_timers
        kind = other_timers.DoBench if mode == "do_bench" else other_timers.TorchTimer
        return kind(self.call, self.settings, self.look)

    def _wall(self):
        return Wall(self.call, self.settings, self.look, self.wait, self._before(), self._one_call())

    def _one_call(self):
        return self.profiled or self.renew is not None or (self.options["flush_l2"] and self.cuda is not None)

    def _renewal(self):
        """What makes the inputs anew, or None."""
        if not self.options["fresh_inputs"]:
            return None
        renew, self.extra["fresh_inputs"] = self.subject.renewal()
        return renew

    def _before(self):
        """What runs before each sample, outside of the timed region; None if nothing."""
        renew = self.renew
        if self.options["flush_l2"] and self.cuda is not None and self.flush is None:
            self.flush = self.cuda.flush_buffer()
        flush = self.flush
        if flush is not None:
            self.own_bytes = flush.numel()
            self.extra["flush_l2"] = "%d bytes written before each sample" % self.own_bytes
        elif self.options["flush_l2"]:
            self.extra.setdefault("flush_l2", "not applied: the benchmark does not use CUDA")
        if renew is None and flush is None:
            return None

        def before():
            if renew is not None:
                renew()
            if flush is not None:
                if self.profiled:
                    first, second = flush.chunk(2)
                    first.copy_(second)  # not a kernel to a profiler
                else:
                    flush.zero_()
                self.cuda.synchronize()
        return before

    def warm_up(self):
        self.inner.warm_up()

    def begin(self):
        """The choice behind the warm-up."""
        before = self.inner
        self._find_devices()
        if not isinstance(before, Wall):
            if self.cuda is not None:
                self.cuda.reset_peak()
            return
        self._wait_for_jax()
        if self.options["cuda_graph"]:
            self._capture(before)
        # In `auto` the events of one device; work on several is waited for by the wall clock.
        wanted = self.options["mode"] == "cuda_events" or (
            self.options["mode"] == "auto" and self.cuda is not None and len(self.cuda.devices) == 1)
        if wanted and not self.profiled:
            with originals.BuiltIn():
                from .cuda_events import CudaEvents
            cuda = self.cuda or gpu.Cuda(gpu.torch_with_cuda())
            self.inner = CudaEvents(self.call, self.settings, self.look, cuda, self._before(), self._one_call())
        else:
            self.inner = self._wall()
        self.inner.keeps = before.keeps
        if self.cuda is not None:
            self.cuda.reset_peak()

    def _capture(self, before):
        if before.keeps:
            raise error("mode", "the benchmark returns inference times, which a replayed CUDA graph does not compute")
        with originals.BuiltIn():
            from .cuda_events import as_graph
        try:
            self.call = as_graph(self.cuda or gpu.Cuda(gpu.torch_with_cuda()), self.call)
        except Exception as failure:
            raise error("cuda_graph", "the call cannot be captured in a CUDA graph: %s" % failure, failure)
        self.extra["cuda_graph"] = "captured and replayed"

    def measure(self, samples):
        self.inner.measure(samples)
        if self.options["mode"] == "do_bench" and self.cuda is not None:
            # Its buffer for flushing the cache is not the benchmark's memory, and is gone now: the peak is that of one more call.
            self.cuda.reset_peak()
            self.call()
            self.cuda.synchronize()

    def send_more(self, channel):
        pass

    def notes(self):
        notes = self.inner.notes()
        notes.update(self.extra)
        return notes
