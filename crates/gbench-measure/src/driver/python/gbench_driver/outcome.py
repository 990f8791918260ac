"""What became of a case.

One cause, the first. What goes wrong after it is kept as a note, so that a report names what to mend first.
"""
from . import failures, originals


class Outcome:
    def __init__(self, channel):
        self.channel = channel
        self.cause = None  # "skip" or "error", once one was sent
        self.later = []

    def ended_by(self, failure, default_kind=None):
        """Sends the event for an exception; the second and later ones become notes."""
        with originals.BuiltIn():
            event, keys = failures.judge(failure, failures.cuda_is_there, default_kind)
        if self.cause is None:
            self.cause = event
            self.channel.send(event, **keys)
        else:
            self.later.append(keys.get("message") or keys.get("reason"))

    def notes(self):
        return {"also_failed": self.later} if self.later else {}
