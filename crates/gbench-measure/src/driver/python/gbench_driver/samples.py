"""The samples of one case: kept in order, sent between measurements, never while a clock runs.

A process may be stopped from outside at any time. So what was measured is sent every two seconds, and the rest when the
measurement ends, also when it ends by an exception.
"""
from . import originals

EVERY = 2.0  # seconds


class Samples:
    def __init__(self, channel, unit="s"):
        self.channel = channel
        self.unit = unit
        self.values = []
        self.sent = 0
        self.last = originals.monotonic()

    def add(self, value):
        self.values.append(value)
        if originals.monotonic() - self.last > EVERY:
            self.send_rest()
            originals.collect()  # the collector is off in the meantime, and cycles of many seconds may not pile up

    def send_rest(self):
        self.channel.samples(self.values[self.sent:], unit=self.unit)
        self.sent = len(self.values)
        self.last = originals.monotonic()
