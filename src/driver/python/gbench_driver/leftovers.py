"""What a case has left running: threads and child processes.

A thread of the user's that is still at work may have done work that no sample holds, and takes time from the next case. Threads
of libraries (progress bars, pools that wait) are common and harmless by themselves, but the next case gets a fresh process. So is a
thread that the import of the module has started and that has only waited since, such as one that filters what is printed.
"""
import os
import sys

from . import originals
from .loading import is_users

GRACE = 0.05  # seconds that a thread or a child has to end
WAITING = 0.01  # seconds of processor time that a thread which only waits may use


class Running:
    """The threads and children that are there now."""

    def __init__(self):
        self.threads = {ident: processor_time(ident) for ident in sys._current_frames()}
        self.children = children()


class Left:
    """What runs beyond what was `before`: `users` and `others` are words for threads, `children` for processes."""

    def __init__(self, before, root, with_children=True):
        deadline = originals.monotonic() + GRACE
        while True:
            self._look(before, root, with_children)
            if not (self.users or self.others or self.children) or originals.monotonic() > deadline:
                return
            originals.sleep(0.005)

    def _look(self, before, root, with_children):
        self.users, self.others, self.children = {}, [], []
        for ident, frame in sys._current_frames().items():
            if ident not in before.threads:
                words, thread = _name(ident)
                if _is_users(frame, thread, root):
                    self.users[ident] = words
                else:
                    self.others.append(words)
        if with_children:
            multiprocessing = sys.modules.get("multiprocessing")
            if multiprocessing is not None and hasattr(multiprocessing, "active_children"):
                multiprocessing.active_children()  # reaps those that have ended
            self.children = ["process %d %s" % (pid, words) for pid, words in children().items() if pid not in before.children]

    def at_work(self, earlier):
        """Words for the user's threads, without those that were there `earlier` and have only waited since."""
        return [words for ident, words in self.users.items() if earlier is None or not _has_waited(ident, earlier)]

    def words(self):
        return ["thread " + words for words in list(self.users.values()) + self.others] + self.children


def _has_waited(ident, earlier):
    then, now = earlier.threads.get(ident), processor_time(ident)
    return then is not None and now is not None and now - then < WAITING


def processor_time(ident):
    """Seconds that a thread has worked; None where that is not known."""
    thread = _name(ident)[1]
    try:
        with open("/proc/self/task/%d/schedstat" % thread.native_id) as file:
            return int(file.read().split()[0]) / 1e9
    except (OSError, ValueError, IndexError, TypeError, AttributeError):
        return None  # a thread that Python has not started, or a kernel without that file


def _name(ident):
    """The thread's name, and its object where it has one."""
    threading = sys.modules.get("threading")
    thread = getattr(threading, "_active", {}).get(ident)
    return (thread.name if thread is not None else "without a name"), thread


def _is_users(frame, thread, root):
    """Whether any function on the thread's stack, or the function it was started with, lies in the user's tree."""
    while frame is not None:
        if is_users(frame.f_code.co_filename, root):
            return True
        frame = frame.f_back
    code = getattr(getattr(thread, "_target", None), "__code__", None)
    return code is not None and is_users(code.co_filename, root)


def children():
    """The living children of this process: command names by process id."""
    found = {}
    try:
        for task in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/children" % task) as file:
                for pid in file.read().split():
                    state, words = _process(pid)
                    if state not in ("Z", "X", None):
                        found[int(pid)] = words
    except OSError:
        pass  # a kernel without that file: the gate ends the whole group in any case
    return found


def _process(pid):
    try:
        with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as file:
            before, _, after = file.read().rpartition(")")
        return after.split()[0], before.partition("(")[2]
    except (OSError, IndexError):
        return None, ""
