"""What a case has left running: threads and child processes.

A thread of the user's that is still at work may have done work that no sample holds, and takes time from the next case. Threads
of libraries (progress bars, pools that wait) are common and harmless by themselves, but the next case gets a fresh process. So is a
thread that the import of the module has started and that has only waited since, such as one that filters what is printed.

Work that the measured calls handed to a pool goes on behind them, on threads that were there before and that end well. It is found
by what those threads and children do when nobody calls any more.
"""
import _thread
import os
import sys

from . import originals
from .loading import is_users

GRACE = 0.05  # seconds that a thread or a child has to end
WAITING = 0.01  # seconds of processor time that a thread which only waits may use
STEP, BUSY = 0.005, 0.3  # seconds between two looks at those that may be at work, and the share of them that a busy one runs
# How long they may go on behind the last call: a queue that is filled ahead is refilled. In calls, and in seconds at least and at most.
THREADS, CHILDREN, LEAST, MOST = 4, 40, 0.01, 1.0
POOL = os.path.join("concurrent", "futures", "thread.py")


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


class Others:
    """The threads of Python and the children that are there now, and which of them are at work.

    `before`, `root`: a thread of the user's that was not there before is at work as long as it lives.
    """

    def __init__(self, before=None, root="/"):
        self.before, self.root = before, root
        own = _thread.get_ident()
        self.threads = [ident for ident in sys._current_frames() if ident != own]
        self.children = children()

    def busy(self):
        """Those that work now, by a look of some milliseconds; empty at once where there is nobody. Together they need not work more
        than one: they may share the interpreter's lock.
        """
        if not self.threads and not self.children:
            return {}
        before, begin = self._worked(), originals.monotonic()
        originals.sleep(STEP)
        elapsed, now = originals.monotonic() - begin, self._worked()
        found = {}
        for kind in ("thread", "process"):
            moved = {key: now[key] - before[key] for key in now if key[0] == kind and key in before}
            if sum(moved.values()) >= BUSY * elapsed:
                found.update((key, self._words(key)) for key, seconds in moved.items() if seconds > 0)
        frames = sys._current_frames()
        for ident in self.threads:
            frame = frames.get(ident)
            if _is_in_a_task(frame) or (frame is not None and self.before is not None and ident not in self.before.threads
                                        and _is_users(frame, _name(ident)[1], self.root)):
                found["thread", ident] = self._words(("thread", ident))
        return found

    def _worked(self):
        """Seconds by thread and child."""
        worked = {("thread", ident): processor_time(ident, True) for ident in self.threads}
        worked.update((("process", pid), _seconds("/proc/%d/task" % pid)) for pid in self.children)
        return {key: seconds for key, seconds in worked.items() if seconds is not None}

    def _words(self, key):
        return "thread " + _name(key[1])[0] if key[0] == "thread" else "process %d %s" % (key[1], self.children[key[1]])


def at_work_behind(call, busy, before, root):
    """Words for the threads and children that go on working behind the measured calls, without those that were `busy` before any.

    `call`: seconds that one takes. `before`: who was there before the calls.
    """
    others, begin = Others(before, root), originals.monotonic()
    suspects = None
    while True:
        now = others.busy()
        suspects = {key: words for key, words in now.items() if key not in busy and (suspects is None or key[0] in {kind for kind, _ in suspects})}
        elapsed = originals.monotonic() - begin
        late = [words for (kind, _), words in suspects.items()
                if elapsed > min(MOST, max(LEAST, call * (THREADS if kind == "thread" else CHILDREN)))]
        if late or not suspects:
            return sorted(set(late))


def _is_in_a_task(frame):
    """Whether a thread of a pool is within a task, which may only wait."""
    while frame is not None:
        if frame.f_code.co_name == "run" and frame.f_code.co_filename.endswith(POOL):
            return True
        frame = frame.f_back
    return False


def _has_waited(ident, earlier):
    then, now = earlier.threads.get(ident), processor_time(ident)
    return then is not None and now is not None and now - then < WAITING


def processor_time(ident, and_waited_for_one=False):
    """Seconds that a thread has worked, or would have on an idle machine; None where that is not known."""
    try:
        return _schedule("/proc/self/task/%d/schedstat" % _name(ident)[1].native_id, and_waited_for_one)
    except (OSError, ValueError, IndexError, TypeError, AttributeError):
        return None  # a thread that Python has not started, or a kernel without that file


def _seconds(folder):
    """Seconds that all threads of a process have worked or waited for a processor; None where that is not known."""
    try:
        return sum(_schedule(os.path.join(folder, task, "schedstat"), True) for task in originals.listdir(folder))
    except (OSError, ValueError, IndexError):
        return None  # it has ended, or a kernel without that file


def _schedule(path, and_waited_for_one):
    with open(path) as file:
        ran, waited = file.read().split()[:2]
    return (int(ran) + (int(waited) if and_waited_for_one else 0)) / 1e9


def _name(ident):
    """The thread's name, and its object where it has one."""
    threading = sys.modules.get("threading")
    thread = getattr(threading, "_active", {}).get(ident)
    return (thread.name if thread is not None else "without a name"), thread


def _is_users(frame, thread, root):
    """Whether any function on the thread's stack, or the function it was started with, lies in the user's tree.

    A thread whose function is a built-in one, such as `time.sleep`, has no stack that tells; no library that is known starts such.
    """
    while frame is not None:
        if is_users(frame.f_code.co_filename, root):
            return True
        frame = frame.f_back
    target = getattr(thread, "_target", None)
    if isinstance(target, type(os.getpid)):
        return True
    code = getattr(target, "__code__", None)
    return code is not None and is_users(code.co_filename, root)


def children():
    """The living children of this process: command names by process id."""
    found = {}
    try:
        for task in originals.listdir("/proc/self/task"):
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
