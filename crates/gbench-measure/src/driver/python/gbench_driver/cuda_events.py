"""Measures by CUDA events, which the device itself stamps, so that the time to launch from Python is not in the sample.

Before each pair of events the queue is kept busy for as long as launching the sample's calls takes: otherwise a short kernel would
wait for its launch between the two, and the events would measure how fast Python launches.

    host     | sleep | begin | call call call | end |
    device           [ sleep ........................ ][ begin call call call end ]

Two things are not seen by events: work on another stream, and work of the host, which happens while the device still sleeps. So a
batch of calls is first held against the wall clock. Where the two disagree the wall clock around device-wide waits is what counts.
"""
import math

from . import originals
from .isolation import resource
from .wall import Wall

RESOLUTION = 0.5e-6  # seconds, by NVIDIA's guide
STEPS = 20
CHECKS, MOST_CHECKS = 3, 20  # by how many answers one has to be ahead, and of how many
SPAN, ENOUGH = 3e-3, 0.15  # seconds of a batch that is checked, and of all checks
APART, APART_AT_LEAST = 0.05, 25e-6  # work elsewhere: by how much of the events' time and by how many seconds the wall clock is above it
HOST, HOST_AT_LEAST = 0.1, 100e-6  # work of the host, likewise for one call; a launch alone takes less
LONGEST_WAIT = 2e-3  # seconds that the queue is kept busy at most
LONG = 5e-3  # seconds of a call beside which a launch is nothing
MARGIN, EXTRA_WAIT = 1.5, 20e-6
MOST_CALLS = 200  # launches that fit into the queue while it is busy
SLEEPS, SLEEP_CYCLES = 3, 1000000
TRIES = 3  # of a sample for which the device had to wait


class CudaEvents(Wall):
    """As `Wall`, but `interval` asks the device. Warm-up and the first look at a result are by the wall clock."""

    name = "cuda_events"

    def __init__(self, call, settings, look, cuda, before=None, one_call=False):
        super().__init__(call, settings, look, cuda.synchronize, before, one_call)
        self.cuda = cuda
        self.begin, self.end = cuda.event(enable_timing=True), cuda.event(enable_timing=True)
        self.disturbed = False
        self.off_stream = self.host_bound = None  # words for the record, where the wall clock is used
        self.cycles = self.wait_cycles = 0  # of `_sleep`: in a second, and before a sample
        self.needs_wait = self.was_late = False  # launching takes longer than the work; in the last batch the device waited for it
        self.late = 0  # samples that hold waiting for a launch
        self.clock_floor, self.floor = self.floor, STEPS * RESOLUTION * 1e9

    def by_wall(self):
        return self.settings.cold or self.off_stream or self.host_bound

    def interval(self, calls):
        if self.by_wall():
            return super().interval(calls)
        for tried in range(TRIES):
            if tried:
                self._prepare()
            seconds = self._timed(calls, self.wait_cycles)[0]
            if not self.was_late:
                break
        self.late += self.was_late
        return seconds * 1e9

    def _timed(self, calls, wait_cycles=0):
        """Seconds of so many calls: by the events, by the wall clock, and until all were launched."""
        call, cuda = self.call, self.cuda
        cuda.synchronize()
        if wait_cycles:
            cuda.sleep(wait_cycles)
        start = originals.perf_counter_ns()
        cuda.record(self.begin)
        for _ in range(calls - 1):
            call()
        self.was_late = bool(wait_cycles) and self.needs_wait and cuda.is_idle()
        call()
        launched = originals.perf_counter_ns()
        cuda.record(self.end)
        cuda.synchronize()
        wall = originals.perf_counter_ns() - start
        return self.begin.elapsed_time(self.end) / 1e3, wall / 1e9, (launched - start) / 1e9

    def measure(self, samples):
        if not self.settings.cold:  # else one call, and nothing before it: no check either. The wall clock sees every stream.
            self._check()
        if self.by_wall():
            self.floor = self.clock_floor
        super().measure(samples)

    def _calibrate(self, samples, tries, duration=0.0):
        """By the wall clock as ever; by events the check has found out how long a call takes, and here is how many fit."""
        if self.by_wall():
            super()._calibrate(samples, tries, duration)
        elif not self.one_call:
            self._choose(math.ceil(self._least(duration) / 1e9 / max(self.device, 1e-9)))

    def _choose(self, wanted):
        """Sets the calls of a sample, at most as many as wanted, and the wait that outlasts their launches.

        The device has to wait for a launch where that takes longer than the work: for the first one, and for what each further
        one takes longer. (A call that is longer than any wait is measured with its gaps, which are then part of it.)
        """
        behind = max(self.launch - self.device, 0.0)
        self.needs_wait = behind > 0
        longest = (LONGEST_WAIT - EXTRA_WAIT) / MARGIN
        most = 1 + int(max(longest - self.launch, 0.0) / behind) if behind > 0 else MOST_CALLS
        self.calls = max(1, min(wanted, most, MOST_CALLS))
        wait = (self.launch + (self.calls - 1) * behind) * MARGIN + EXTRA_WAIT
        self.wait_cycles = int(min(wait, LONGEST_WAIT) * self.cycles)

    def _check(self):
        """Holds the events against the wall clock, and finds out how long a call takes: to launch, on the device, and altogether."""
        self._prepare()
        self.looked_at()
        empty = self._empty()
        self._prepare()
        first = self._timed(1)
        calls = 1 if self.one_call else max(1, min(MOST_CALLS, math.ceil(SPAN / max(first[1], 1e-7))))
        apart = lambda by_events, wall, _: wall - empty - by_events > max(APART_AT_LEAST, APART * by_events)
        found = self._repeated(calls, 0, apart)
        answers = [apart(*times) for times in found]
        if all(answers) or (len(answers) >= CHECKS and sum(answers) > len(answers) / 2 and not self.disturbed):
            self.off_stream = ("work ran outside of the current stream, which events do not see: timed by the wall clock around "
                               "device-wide waits")
            return
        self.device, wall, self.launch = (max(min(times), 0.0) / calls for times in zip(*found))
        wall = max(wall - empty / calls, 0.0)
        if wall < LONG:  # else a wait would gain nothing, and hide work of the host
            self._learn_to_wait()
        if self.cycles:
            self.device = 0.0  # as if it did nothing: waits for all of the launches
            self._choose(calls)
            runs_dry = lambda by_events, wall, launch: launch >= self.wait_cycles / self.cycles
            self.device = min(times[0] for times in self._repeated(self.calls, self.wait_cycles, runs_dry)) / self.calls
        nothing = self.device * self.calls < RESOLUTION * max(2, self.calls / 10)
        if nothing or wall - self.device > max(HOST_AT_LEAST, HOST * self.device):
            self.host_bound = ("a call takes %.3g ms and %.3g ms of that on the device: timed by the wall clock, which is what the "
                               "caller waits for" % (wall * 1e3, self.device * 1e3))
            return
        self._choose(1)

    def _repeated(self, calls, wait_cycles, question):
        """Times of so many calls, each as `_timed` gives them: until the answers to a question about them are clear, or it has taken
        long enough. Those in which the system gave the processor to somebody else say nothing, if there are others.
        """
        found, disturbed, balance = [], [], 0
        begin = originals.monotonic()
        while abs(balance) < CHECKS and len(found) + len(disturbed) < MOST_CHECKS:
            self._prepare()
            before = _interruptions()
            times = self._timed(calls, wait_cycles)
            if _interruptions() > before:
                disturbed.append(times)
            else:
                found.append(times)
                balance += 1 if question(*times) else -1
            if originals.monotonic() - begin > ENOUGH:
                break
        self.disturbed = not found
        return found or disturbed

    def _empty(self):
        """Seconds by which the wall clock is above the events where there is nothing between them."""
        call, self.call = self.call, lambda: None
        try:
            return min(wall - by_events for by_events, wall, _ in (self._timed(1) for _ in range(CHECKS)))
        finally:
            self.call = call

    def _learn_to_wait(self):
        """Finds out how many cycles of `_sleep` are a second; none where this torch has no such function.

        The first one loads its kernel, which takes longer than it sleeps. A clock that rises later would end a wait early, so the fastest
        counts.
        """
        if not self.cuda.can_sleep():
            return
        self.cuda.sleep(1)
        slept = []
        for _ in range(SLEEPS):
            self.cuda.synchronize()
            self.cuda.record(self.begin)
            self.cuda.sleep(SLEEP_CYCLES)
            self.cuda.record(self.end)
            self.cuda.synchronize()
            slept.append(self.begin.elapsed_time(self.end) / 1e3)
        self.cycles = SLEEP_CYCLES / min(slept) if min(slept) > 0 else 0

    def notes(self):
        if not self.by_wall():
            notes = super().notes()
            if self.late:
                notes["waited_for_launches"] = "in %d samples the device waited for a launch: their times hold that wait" % self.late
            return notes
        notes = {"clock": Wall.name, "calls_per_sample": self.calls, "off_stream": self.off_stream, "host_bound": self.host_bound}
        return {name: value for name, value in notes.items() if value is not None}


def _interruptions():
    """How often the system took the processor from this thread."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw if hasattr(resource, "RUSAGE_THREAD") else 0


def as_graph(cuda, call):
    """The call captured in a CUDA graph; calling it replays the graph."""
    torch = cuda.torch
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):  # what is allocated and compiled at the first calls must not be in the graph
            call()
    torch.cuda.current_stream().wait_stream(side)
    originals.collect()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay
