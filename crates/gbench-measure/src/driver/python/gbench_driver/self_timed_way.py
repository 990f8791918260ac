"""The way `self_timed`: the function measures itself and returns its time, a number or a list of numbers in the stated unit."""
from . import function_way, originals
from .failures import error
from .plain import number, shown
from .results import as_list


class Subject(function_way.Subject):
    times_itself = True

    def timer(self, settings, cache):
        return SelfTimer(self.call, settings, self.what, self.case["unit"])

    def validate(self):
        return None


class SelfTimer:
    """Calls the function as often as samples are wanted; what it returns is the sample."""

    def __init__(self, call, settings, what, unit):
        self.call, self.settings, self.what, self.unit = call, settings, what, unit

    def warm_up(self):
        """By time where no number of calls was asked for: such a function has mostly warmed up by itself, and may take seconds."""
        settings = self.settings
        if settings.cold:
            return
        if settings.burnin > 0:
            begin = originals.monotonic()
            while originals.monotonic() - begin < settings.burnin:
                self.call()
            return
        for _ in range(settings.warmup):
            self.call()

    def begin(self):
        pass

    def measure(self, samples):
        settings = self.settings
        begin = originals.monotonic()
        while True:
            samples.add(*times(self.call(), self.what))
            elapsed = originals.monotonic() - begin
            if settings.cold or (not settings.duration and len(samples.values) >= settings.iterations):
                return
            if settings.duration and elapsed >= settings.duration and len(samples.values) >= 2:
                return

    def send_more(self, channel):
        pass

    def notes(self):
        return {"clock": "self"}


def times(returned, what):
    """The times that one call returned, each checked."""
    values = as_list(returned)
    values = [returned] if values is None else values
    if not values:
        raise error("bad_result", "%s returned an empty list; it has to return its time" % what)
    for value in values:
        figure = number(value)
        if figure is None or not 0 < figure < float("inf"):
            raise error("bad_result", "%s returned %s as a time; it has to be a number above 0" % (what, shown(value)))
    return [float(number(value)) for value in values]
