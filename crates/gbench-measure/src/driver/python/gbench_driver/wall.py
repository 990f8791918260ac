"""Measures by the wall clock: `perf_counter`, read around a compiled loop of calls.

A sample spans at least a thousand steps of the clock, so that reading it adds less than 0.1 %; a call that is too short for that
is repeated, and the sample is the time of one. What a call returns is dropped within the timed region, as `timeit` does: a result
that was kept would be alive beside the next one and double the memory.
"""
import math
from itertools import repeat

from . import originals

TICKS = 1000
SETTLED = 0.02
WINDOW = 5
LONG, VERY_LONG = 10**9, 2 * 10**10  # nanoseconds of a call behind which no further one, or none at all, warms up
STILL_FALLING = 0.75  # a call that takes less than this share of the one before says that there is more to warm up
NO_DOUBT = 1e8  # nanoseconds of a call that was warmed up before and is no short one that was interrupted
WAITED_FOR = 1e6  # nanoseconds that a sample spans at least where a device is waited for: the wait is then less than 1 %


def time_calls(call, calls, clock=originals.perf_counter_ns):
    """Nanoseconds of so many calls."""
    turns = repeat(None, calls)
    begin = clock()
    for _ in turns:
        call()
    return clock() - begin


def time_calls_on_device(call, calls, synchronize, clock=originals.perf_counter_ns):
    """The same for work that a call only puts into a queue: the clock is stopped when the device is idle again."""
    turns = repeat(None, calls)
    synchronize()
    begin = clock()
    for _ in turns:
        call()
    synchronize()
    return clock() - begin


class Wall:
    """One case's measurement; `before` runs before each sample, untimed.

    `look(value, counts)` is shown what a call returned, may raise, and says whether the results of all measured calls are wanted.
    """

    name = "perf_counter_ns"

    def __init__(self, call, settings, look, synchronize=None, before=None, one_call=False):
        self.call, self.settings, self.look = call, settings, look
        self.synchronize, self.before, self.one_call = synchronize, before, one_call
        self.floor = max(TICKS * originals.tick_ns(), WAITED_FOR if synchronize else 0)
        self.calls = 1
        self.estimate = None  # nanoseconds of one call, by the last that was timed
        self.keeps = False

    def interval(self, calls):
        """Nanoseconds of so many calls, without looking at their results."""
        if self.synchronize is None:
            return time_calls(self.call, calls)
        return time_calls_on_device(self.call, calls, self.synchronize)

    def looked_at(self):
        """Nanoseconds of one call, and what it returned."""
        elapsed, results = self._kept(1)
        self.estimate = elapsed
        self.keeps = self.look(results[0], False)
        return elapsed, results[0]

    def _kept(self, calls):
        """Nanoseconds of so many calls, and what they returned."""
        results = []
        keep, call = results.append, self.call
        self.call = lambda: keep(call())
        try:
            return self.interval(calls), results
        finally:
            self.call = call

    def warm_up(self):
        """The calls that do not count: by number, or by time until they settle."""
        settings = self.settings
        if settings.cold:
            return
        if settings.burnin > 0:
            self._burn_in(settings.burnin)
        else:
            for _ in range(settings.warmup):
                self._prepare()
                self.looked_at()

    def _burn_in(self, seconds):
        """Warms up for that time, and for up to twice of it while the last five differ from the five before.

        The first call is not of that time: it may compile or import for seconds, and says nothing of the ones behind it. Two more
        are made at least, also where each is longer than the time, and more as long as each is much shorter than the one before:
        by that rule all of them together take less than four times the first of them. Behind a call of a second there is one alone,
        and behind one of twenty none.
        """
        self._prepare()
        first = self.looked_at()[0]
        if first >= VERY_LONG:
            # Another one might not fit into the stage's deadline.
            self.estimate = first
            return
        begin = originals.monotonic()
        times = []
        while True:
            self._prepare()
            calls = 1
            if times and not self.one_call:
                calls = max(1, min(int(seconds * 2e7 / max(self.estimate, 1)), 10**6))  # a fiftieth of the time at most
            if calls == 1:
                times.append(self.looked_at()[0])
            else:
                times.append(self.interval(calls) / calls)
            self.estimate = times[-1]
            elapsed = originals.monotonic() - begin
            if times[-1] >= LONG:
                return
            if len(times) < 2 or times[-1] < STILL_FALLING * times[-2]:
                continue
            if elapsed >= 2 * seconds or (elapsed >= seconds and _settled(times)):
                return

    def _prepare(self):
        if self.before is not None:
            self.before()

    def measure(self, samples):
        """Takes the samples, in seconds, into `samples`."""
        settings = self.settings
        originals.collect()
        was_on = originals.collector_is_on()
        originals.collector_off()
        try:
            if settings.cold:
                self._prepare()
                elapsed, value = self.looked_at()
                self.look(value, True)
                samples.add(elapsed / 1e9)
            elif settings.duration > 0:
                self._by_duration(samples)
            else:
                self._by_count(samples)
        finally:
            if was_on:
                originals.collector_on()

    def _by_count(self, samples):
        self._calibrate(samples, min(2, self.settings.iterations))
        while len(samples.values) < self.settings.iterations:
            samples.add(self._sample())

    def _by_duration(self, samples):
        """Until the time is over: the last sample ends as near to it as whole samples allow."""
        begin = originals.monotonic()
        self._calibrate(samples, 2, self.settings.duration)
        while True:
            elapsed = originals.monotonic() - begin
            each = elapsed / len(samples.values) if samples.values else 0.0
            if len(samples.values) >= 2 and elapsed + each / 2 >= self.settings.duration:
                return
            samples.add(self._sample())

    def _sample(self):
        self._prepare()
        if not self.keeps:
            return self.interval(self.calls) / self.calls / 1e9
        elapsed, results = self._kept(self.calls)
        for value in results:
            self.look(value, True)
        return elapsed / self.calls / 1e9

    def _calibrate(self, samples, tries, duration=0.0):
        """Finds the calls of a sample.

        By fresh calls, of which each is a sample if it is long enough by itself. One that is not makes them all part of finding
        out: the call before it was unlike those to come, the first of all perhaps, or one that was interrupted.
        """
        floor = self._least(duration)
        warmed = self.estimate is not None
        taken = []
        while len(taken) < tries:
            self._prepare()
            elapsed, value = self.looked_at()
            if elapsed < floor and not self.one_call:
                break
            taken.append((elapsed, value if self.keeps else None))
            value = None
            if warmed and elapsed >= NO_DOUBT:
                tries = 1  # kept at once, lest it is lost when the next one hangs
        if len(taken) == tries:
            for elapsed, value in taken:
                if self.keeps:
                    self.look(value, True)
                samples.add(elapsed / 1e9)
            samples.send_rest()
            return
        calls = 1
        while elapsed < floor and calls < 10**9:
            calls = max(calls + 1, min(math.ceil(calls * floor / max(elapsed, 1) * 1.1), calls * 100))
            elapsed = self.interval(calls)
        if floor > self.floor and elapsed > 1.5 * floor:  # the single call was faster than many are on this machine
            calls = math.ceil(calls * floor / elapsed * 1.1)
        self.calls = calls

    def _least(self, duration):
        """Nanoseconds that a sample spans at least: of a measurement by duration its share, so that there are as many samples as asked for.

        There are ten at least, because whole samples have to end within a tenth of the duration.
        """
        return max(self.floor, duration * 1e9 / max(self.settings.iterations, 10))

    def notes(self):
        return {"clock": self.name, "calls_per_sample": self.calls}


def _settled(times):
    if len(times) < 2 * WINDOW:
        return False
    last, before = sorted(times[-WINDOW:])[WINDOW // 2], sorted(times[-2 * WINDOW:-WINDOW])[WINDOW // 2]
    return abs(last - before) <= SETTLED * before
