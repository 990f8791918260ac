"""The channel to the gate: one event is one line of JSON, written with one call.

Nothing here goes through `sys.stdout`, so a benchmark may print, close or replace it as it likes.
"""
import fcntl
import os

from . import originals
from .plain import plain

LINE_LIMIT = 1000000  # bytes; the protocol allows 1 MiB
SAMPLES_IN_A_LINE = 20000  # a number has at most 25 bytes
# A benchmark that closes "all" descriptors stops at a number that somebody took for large enough: the first of these that the limit
# of open files allows.
HIGH = (5000, 1000, 200)
LOST = 3  # exit code


class Channel:
    def __init__(self, descriptor, path=None):
        self.descriptor = descriptor
        self.path = path
        self.owner = os.getpid()
        self.file = file_of(descriptor)

    def send(self, event, **keys):
        """Sends an event; keys that are None are left out. A forked child sends nothing: the channel is its parent's."""
        if originals.getpid() != self.owner:
            return
        line = {"event": event}
        line.update((key, value) for key, value in keys.items() if value is not None)
        with originals.BuiltIn():
            words = originals.line_of_json(plain(line))
        self._write((words + "\n").encode("ascii"))

    def samples(self, values, metric="time", unit="s", **keys):
        """Sends samples, in as many lines as they need."""
        for start in range(0, len(values), SAMPLES_IN_A_LINE):
            part = values[start:start + SAMPLES_IN_A_LINE]
            self.send("samples", metric=metric, values=part, unit=unit, **keys)

    def _write(self, line):
        if len(line) > LINE_LIMIT:
            raise ValueError("an event of %d bytes is longer than a line may be" % len(line))
        reopened = False
        while line:
            try:
                if file_of(self.descriptor) != self.file:
                    raise OSError("the benchmark closed it")  # and has another file of its own by that number, perhaps
                line = line[originals.write(self.descriptor, line):]
            except OSError as failure:
                self._reopen(failure, reopened)
                reopened = True

    def _reopen(self, failure, again):
        """The benchmark closed the descriptor.

        The path still leads to the channel. Without one there is nobody to tell, but the log.
        """
        try:
            if self.path is None or again or isinstance(failure, BrokenPipeError):
                raise failure
            self.descriptor = _high(originals.open_descriptor(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC), closing=True)
            self.file = file_of(self.descriptor)
        except OSError:
            words = "gbench driver: the channel to the gate cannot be written (%s); nothing more can be measured\n" % failure
            try:
                originals.write(2, words.encode())
            finally:
                originals.leave(LOST)


def open_channel():
    """The channel that the gate gave: a descriptor, else a path, else stdout (when started by hand).

    The variables are taken out of the environment: what the benchmark starts must not write to it.
    """
    number, path = os.environ.pop("GBENCH_FD", None), os.environ.pop("GBENCH_EVENTS", None)
    if number:
        given = int(number)
        os.set_inheritable(given, False)
        return Channel(_high(given, closing=True), path)
    if path:
        given = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        return Channel(_high(given, closing=True), path)
    return Channel(_high(1, closing=False))


def _high(descriptor, closing):
    """A copy of the descriptor with a high number, which no child inherits."""
    for number in HIGH:
        try:
            high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, number)
        except OSError:  # the limit of open files is lower than that
            continue
        if closing:
            originals.close_descriptor(descriptor)
        return high
    return descriptor


def file_of(descriptor):
    """What tells which file a descriptor is of; None for a closed one."""
    try:
        status = originals.fstat(descriptor)
        return status.st_dev, status.st_ino
    except OSError:
        return None
