"""Keeps the cases of one process from each other: what a case changed in the process is put back before the next one.

Put back are the settings that Python and the numerical libraries hold in global variables. What cannot be put back (threads,
children, a trace function) is named, and the gate starts a fresh process for the cases behind it.
"""
import builtins
import gc
import os
import signal
import sys
import warnings

from . import libraries

try:
    import _locale
except ImportError:  # an interpreter without locales has none to put back
    _locale = None


class State:
    """The process as it is now."""

    def __init__(self):
        self.environment = dict(os.environ)
        self.folder = _folder()
        self.path, self.arguments = sys.path[:], sys.argv[:]
        self.streams = sys.stdin, sys.stdout, sys.stderr
        self.files = [_file(descriptor) for descriptor in range(3)]
        self.builtins = dict(vars(builtins))
        self.cores, self.nice, self.umask = _cores(), os.nice(0), _umask()
        self.excepthook, self.displayhook = sys.excepthook, sys.displayhook
        self.recursion = sys.getrecursionlimit()
        self.switching = sys.getswitchinterval()
        self.collecting, self.thresholds = gc.isenabled(), gc.get_threshold()
        self.warnings = warnings.filters[:]
        self.signals = {number: signal.getsignal(number) for number in signal.valid_signals()}
        self.locale = _locale.setlocale(_locale.LC_ALL, None) if _locale else None
        libraries.keep("numpy")
        libraries.keep("torch")

    def put_back(self):
        """Restores the state, and returns words for what could not be restored."""
        left = []
        if sys.gettrace() is not None:
            sys.settrace(None)
            left.append("a trace function (sys.settrace)")
        if sys.getprofile() is not None:
            sys.setprofile(None)
            left.append("a profile function (sys.setprofile)")
        for what, restore in self._steps():
            try:
                restore()
            except BaseException as failure:
                left.append("%s: %s" % (what, type(failure).__name__))
        if any(stream is not None and stream.closed for stream in self.streams):
            left.append("a closed sys.stdin, sys.stdout or sys.stderr")
        if [_file(descriptor) for descriptor in range(3)] != self.files:
            left.append("another file at descriptor 0, 1 or 2")
        if os.nice(0) != self.nice:
            left.append("another priority (os.nice)")
        return left

    def _steps(self):
        return (
            ("environment", self._environment),
            ("working folder", lambda: os.chdir(self.folder)),
            ("sys", self._sys),
            ("builtins", self._builtins),
            ("processor cores", lambda: _cores() == self.cores or os.sched_setaffinity(0, self.cores)),
            ("umask", lambda: os.umask(self.umask)),
            ("garbage collector", self._collector),
            ("warnings", self._warnings),
            ("signal handlers", self._signals),
            ("timers", self._timers),
            ("locale", lambda: _locale and _locale.setlocale(_locale.LC_ALL, self.locale)),
            ("settings of libraries", libraries.put_back),
        )

    def _environment(self):
        if dict(os.environ) != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)

    def _sys(self):
        # Not the import finders: a library that stays loaded may need its own.
        sys.path[:], sys.argv[:] = self.path, self.arguments
        sys.stdin, sys.stdout, sys.stderr = self.streams
        sys.excepthook, sys.displayhook = self.excepthook, self.displayhook
        sys.setrecursionlimit(self.recursion)
        sys.setswitchinterval(self.switching)

    def _builtins(self):
        for name in set(vars(builtins)) - set(self.builtins):
            delattr(builtins, name)
        vars(builtins).update(self.builtins)

    def _collector(self):
        (gc.enable if self.collecting else gc.disable)()
        gc.set_threshold(*self.thresholds)

    def _warnings(self):
        warnings.filters[:] = self.warnings
        getattr(warnings, "_filters_mutated", lambda: None)()

    def _signals(self):
        for number, handler in self.signals.items():
            if signal.getsignal(number) is not handler and handler is not None:
                signal.signal(number, handler)

    def _timers(self):
        signal.alarm(0)
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)


def _file(descriptor):
    """What tells which file a descriptor is of; None for a closed one."""
    try:
        status = os.fstat(descriptor)
        return status.st_dev, status.st_ino
    except OSError:
        return None


def _cores():
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


def _umask():
    """The mask; it can be read only by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _folder():
    try:
        return os.getcwd()
    except OSError:  # the folder is gone
        return "/"
