"""The samples of one case: kept in order, sent between measurements, never while a clock runs.

A process may be stopped from outside at any time, and the next call may never return. So a sample is sent at once, except where
sending would take time that counts between the samples: shorter ones wait until a millisecond is over. The rest is sent when the
measurement ends, also when it ends by an exception.
"""
from . import originals

SENT, COLLECTED = 0.001, 2.0  # seconds


class Samples:
    def __init__(self, channel, unit="s"):
        self.channel = channel
        self.unit = unit
        self.values = []
        self.sent = 0
        self.last = self.collected = originals.monotonic()

    def add(self, *values):
        self.values.extend(values)
        now = originals.monotonic()
        if now - self.last > SENT:
            self.send_rest()
        if now - self.collected > COLLECTED:
            originals.collect()  # the collector is off in the meantime, and cycles of many seconds may not pile up
            self.collected = now

    def send_rest(self):
        self.channel.samples(self.values[self.sent:], unit=self.unit)
        self.sent = len(self.values)
        self.last = originals.monotonic()
