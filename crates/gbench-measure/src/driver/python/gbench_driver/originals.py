"""The clocks and system calls as they were before any foreign module was imported.

A benchmark that replaces `time.perf_counter` (to cheat, or for a test of its own) must not change what is measured. So the driver
measures with the functions kept here, and looks after each case whether the public names still hold them.

Other functions may be replaced at will (`json.dumps`, `gc.collect`), and the driver has to work on: what it needs behind foreign
code is kept here as well, its modules have built-in functions of their own (`start.py`), and where it uses the standard library
Python's own are put back for so long (`BuiltIn`).
"""
import builtins
import gc
import json
import os
import time

perf_counter_ns = time.perf_counter_ns
monotonic = time.monotonic
sleep = time.sleep
getpid = os.getpid
write = os.write
fstat, listdir = os.fstat, os.listdir
open_descriptor, close_descriptor = os.open, os.close
leave = os._exit
collect = gc.collect
collector_off, collector_on, collector_is_on = gc.disable, gc.enable, gc.isenabled
line_of_json = json.JSONEncoder(allow_nan=False).encode

_builtins = dict(vars(builtins))
_standard = [(module, {name: value for name, value in vars(module).items() if callable(value)}) for module in (builtins, os, os.path, gc, json)]

CLOCKS = (
    "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "process_time_ns",
    "thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns", "sleep",
)

_kept = []  # (words for the report, object, name of the attribute, the original)


def keep(words, owner, name):
    """Remembers an attribute that a benchmark must not replace."""
    original = getattr(owner, name, None)
    if original is not None:
        _kept.append((words, owner, name, original))


def put_back():
    """Puts back what was replaced since, and returns the names of it."""
    replaced = []
    for words, owner, name, original in _kept:
        if getattr(owner, name, None) is not original:
            replaced.append(words)
            setattr(owner, name, original)
    return replaced


class BuiltIn:
    """While it lasts, the built-in functions are Python's own: the standard library and the import system need them."""

    def __enter__(self):
        now = vars(builtins)
        self.theirs = {name: now.get(name, self) for name, original in _builtins.items() if now.get(name, self) is not original}
        now.update(_builtins)

    def __exit__(self, *failure):
        for name, value in self.theirs.items():
            if value is self:
                delattr(builtins, name)
            else:
                setattr(builtins, name, value)


def put_back_standard():
    """Restores built-in functions and those of the standard modules that the driver uses; returns whether any was replaced."""
    found = False
    for name in set(vars(builtins)) - set(_builtins):
        delattr(builtins, name)
        found = True
    for module, functions in _standard:
        now = vars(module)
        for name, original in functions.items():
            if now.get(name) is not original:
                setattr(module, name, original)
                found = True
    return found


for _name in CLOCKS:
    keep("time." + _name, time, _name)


def tick_ns():
    """The smallest step of the clock that was seen, in nanoseconds: what two readings in direct succession differ by."""
    smallest = 1000000
    for _ in range(200):
        begin = end = perf_counter_ns()
        while end == begin:
            end = perf_counter_ns()
        smallest = min(smallest, end - begin)
    return smallest
