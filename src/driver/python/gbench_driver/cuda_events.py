"""Measures by CUDA events, which the device itself stamps, so that the time to launch from Python is not in the sample.

Before each pair of events the queue is kept busy for a while: otherwise a short kernel would wait for its launch between the two.
Events see one stream only. A benchmark that works on another would look endlessly fast, so a few calls are held against the wall
clock first, and where the two disagree the wall clock around device-wide waits is what counts.
"""
import gc

from . import originals
from .wall import Wall

RESOLUTION = 0.5e-6  # seconds, by NVIDIA's guide
STEPS = 20
CHECKS = 3
APART, APART_AT_LEAST = 1.5, 50e-6
LONGEST_WAIT = 2e-3  # seconds that the queue is kept busy at most
MOST_CALLS = 200  # launches that fit into the queue while it is busy


class CudaEvents(Wall):
    """As `Wall`, but `interval` asks the device. Warm-up and the first look at a result are by the wall clock."""

    name = "cuda_events"

    def __init__(self, call, settings, look, cuda, before=None, one_call=False):
        super().__init__(call, settings, look, cuda.synchronize, before, one_call)
        self.cuda = cuda
        self.begin, self.end = cuda.event(enable_timing=True), cuda.event(enable_timing=True)
        self.off_stream = False
        self.wait_cycles = 0
        self.clock_floor, self.floor = self.floor, STEPS * RESOLUTION * 1e9

    def interval(self, calls):
        if self.off_stream:
            return super().interval(calls)
        call, begin, end = self.call, self.begin, self.end
        self.cuda.synchronize()
        if self.wait_cycles:
            self.cuda.torch.cuda._sleep(self.wait_cycles)
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        self.cuda.synchronize()
        return begin.elapsed_time(end) * 1e6

    def measure(self, samples):
        if self.settings.cold:
            # One call, and nothing before it: no check either. The wall clock sees every stream.
            self.off_stream = True
        else:
            self._check_streams()
        if self.off_stream:
            self.floor = self.clock_floor
        super().measure(samples)

    def _calibrate(self, duration=0.0):
        calls = super()._calibrate(duration)
        self.calls = min(self.calls, MOST_CALLS) if not self.off_stream else self.calls
        return calls

    def _check_streams(self):
        """Holds the events against the wall clock, and finds out how long a launch takes."""
        gaps, launches = [], []
        for _ in range(CHECKS):
            self._prepare()
            self.cuda.synchronize()
            start = originals.perf_counter_ns()
            self.begin.record()
            self.call()
            self.end.record()
            launched = originals.perf_counter_ns()
            self.cuda.synchronize()
            wall = (originals.perf_counter_ns() - start) / 1e9
            by_events = self.begin.elapsed_time(self.end) / 1e3
            gaps.append(wall - by_events if wall > APART * by_events else 0.0)
            launches.append((launched - start) / 1e9)
            self.estimate = by_events * 1e9
        self.off_stream = min(gaps) > APART_AT_LEAST
        if not self.off_stream:
            self.wait_cycles = self._cycles(min(launches))

    def _cycles(self, launch):
        """Cycles of `_sleep` that outlast the launch of one sample."""
        sleep = getattr(self.cuda.torch.cuda, "_sleep", None)
        if sleep is None:
            return 0
        calls = 1 if self.one_call else max(1, min(MOST_CALLS, int(self.floor / max(self.estimate, 1)) + 1))
        wanted = min(LONGEST_WAIT, launch * calls * 1.5 + 20e-6)
        cycles = 1000000
        self.begin.record()
        sleep(cycles)
        self.end.record()
        self.cuda.synchronize()
        seconds = self.begin.elapsed_time(self.end) / 1e3
        return int(cycles * wanted / seconds) if seconds > 0 else 0

    def notes(self):
        if self.off_stream:
            notes = {"clock": Wall.name, "calls_per_sample": self.calls}
            if not self.settings.cold:
                notes["off_stream"] = ("work ran outside of the current stream, which events do not see: timed by the wall clock around "
                                       "device-wide waits")
            return notes
        return super().notes()


def as_graph(cuda, call):
    """The call captured in a CUDA graph; calling it replays the graph."""
    torch = cuda.torch
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):  # what is allocated and compiled at the first calls must not be in the graph
            call()
    torch.cuda.current_stream().wait_stream(side)
    gc.collect()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay
