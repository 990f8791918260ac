"""Runs the driver as the gate does: a process, a request in a file, and a pipe for the events.

`GBENCH_TEST_PYTHON` names another interpreter to run it with.
"""
import compileall
import contextlib
import copy
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
START = os.path.join(os.path.dirname(HERE), "start.py")
FIXTURES = os.path.normpath(os.path.join(HERE, *[".."] * 6, "fixtures", "python"))
PYTHON = os.environ.get("GBENCH_TEST_PYTHON", sys.executable)
PATIENCE = 180  # seconds for which a test that the machine may have disturbed is tried again


class Told:
    """What a driver process said, and how it ended."""

    def __init__(self, lines, code, stdout, stderr, asked=1):
        self.asked = asked  # cases of the request
        self.events = [json.loads(line, parse_constant=_no_constant) for line in lines]
        self.code, self.stdout, self.stderr = code, stdout, stderr

    def of(self, event, case=None):
        """The events of that name; of one case by its index."""
        return [told for told in (self.events if case is None else self.case(case)) if told["event"] == event]

    def one(self, event, case=None):
        found = self.of(event, case)
        if len(found) != 1:
            raise AssertionError("%d events `%s`:\n%s\n%s" % (len(found), event, self, self.stderr))
        return found[0]

    def case(self, index):
        found, inside = [], False
        for told in self.events:
            if told["event"] == "case":
                inside = told["index"] == index
            if inside:
                found.append(told)
        return found

    def each(self):
        """For each case what would have been told of it alone. The process has to have gone through them all."""
        if len(self.of("case")) != self.asked:
            raise AssertionError("%d of %d cases:\n%s\n%s" % (len(self.of("case")), self.asked, self, self.stderr))
        alone = []
        for index in range(self.asked):
            alone.append(copy.copy(self))
            alone[-1].events = self.case(index)
            if index + 1 < self.asked:
                alone[-1].events.append(self.events[-1])  # the end of the process
        return alone

    def stages(self, case=None):
        return [told["stage"] for told in self.of("stage", case)]

    def values(self, metric="time", case=None):
        values = []
        for told in (self.events if case is None else self.case(case)):
            if told["event"] in ("sample", "samples") and told.get("metric", "time") == metric:
                values += told.get("values", [told.get("value")])
        return values

    def sample(self, metric):
        return next(told for told in self.events if told["event"] in ("sample", "samples") and told["metric"] == metric)

    def notes(self, case=None):
        notes = {}
        for told in self.of("metadata", case):
            notes.update(told.get("notes", {}))
        return notes

    def __str__(self):
        return "\n".join(json.dumps(told) for told in self.events)


def _no_constant(name):
    raise AssertionError("the literal %s is no JSON" % name)


def drive(cases, root="pairs", environment=None, python=None, channel="fd", timeout=600, bare=False, start=None, **request):
    """Runs the driver with these cases; further keywords are keys of the request. A `bare` request has no root.

    `start`: the file to start, where it is not to be that of `_start()`.
    """
    document = {"protocol": 1, "root": os.path.join(FIXTURES, root), "iterations": 3, "warmup": 2, "cases": cases}
    document.update(request)
    if bare:
        del document["root"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "request.json")
        with open(path, "w") as file:
            json.dump(document, file)
        variables = {key: value for key, value in os.environ.items() if not key.startswith("GBENCH_")}
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
        variables.update(environment or {})
        return _run([python or PYTHON, start or _start(), path], variables, folder, channel, timeout, len(cases))


@functools.lru_cache(maxsize=None)
def _folder():
    """A folder that is gone when the tests are over."""
    return tempfile.TemporaryDirectory()


@functools.lru_cache(maxsize=None)
def _start():
    """The driver as every process but the first of a gate finds it: in a folder of its own, with its bytecode.

    To compile it takes a third of the time of a process that measures little, and here there are hundreds of those.
    """
    folder = os.path.join(_folder().name, "driver")
    shutil.copytree(os.path.join(os.path.dirname(START), "gbench_driver"), os.path.join(folder, "gbench_driver"))
    compileall.compile_dir(folder, quiet=2)  # what is no Python is told by the first process
    return shutil.copy(START, folder)


def _run(words, variables, folder, channel, timeout, asked):
    lines, reader, write = [], None, None
    events = os.path.join(folder, "events")
    if "fd" in channel:
        read, write = os.pipe()
        variables["GBENCH_FD"] = str(write)
        reader = threading.Thread(target=_read, args=(read, lines))
        reader.start()
    if "path" in channel:
        variables["GBENCH_EVENTS"] = events
        open(events, "w").close()  # the gate has made it, a FIFO
    process = subprocess.Popen(words, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[write] if write else [])
    if write:
        os.close(write)
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    finally:
        process.kill()
    if reader:
        reader.join(600)
    if os.path.exists(events):
        with open(events, "rb") as file:
            lines += file.read().splitlines()
    if channel == "stdout":
        lines = stdout.splitlines()
    return Told(lines, process.returncode, stdout, stderr.decode("utf-8", "replace"), asked)


def _read(descriptor, lines):
    with os.fdopen(descriptor, "rb") as file:
        lines.extend(file.read().splitlines())


def pair(file, **keys):
    """A case of the way `class`."""
    return dict({"way": "class", "file": file}, **keys)


def function(file, **keys):
    return dict({"way": "function", "file": file}, **keys)


def single(case, root="pairs", **request):
    return drive([case], root, **request)


class Disturbed(AssertionError):
    """An assertion failed that a busy machine can break. `in_a_quiet_moment` tries such a test again, and after no other failure."""


class DriverTest(unittest.TestCase):
    """With the words for what most tests expect."""

    maxDiff = None

    @contextlib.contextmanager
    def on_a_quiet_machine(self):
        """For assertions on times, and on what the driver concludes from times: numbers of calls, a clock, who is at work.

        Only what a process that had to wait for the processor can break stands in here. Nothing may be read in here that is missing
        in such a case, because a `KeyError` is not tried again.
        """
        try:
            yield
        except AssertionError as failure:
            raise Disturbed(str(failure)) from failure

    def takes(self, seconds, least, below):
        """A time within limits. No load makes work shorter, so what is below the first of them is a fault at once."""
        self.assertGreaterEqual(seconds, least)
        with self.on_a_quiet_machine():
            self.assertLess(seconds, below)

    def nobody_at_work(self, told):
        """Asserts that the driver took no thread and no child for one at work: one that is about to end or to wait needs the processor for it."""
        with self.on_a_quiet_machine():
            self.assertNotIn("left_running", [error["kind"] for error in told.of("error")], told)

    def somebody_at_work(self, told, *words):
        """That the case failed by work that was left running: on a busy machine the calls take so long that none may be left behind
        them, or the driver looks while it waits for the processor.
        """
        with self.on_a_quiet_machine():
            self.assertNotEqual(told.of("error"), [], told)
        return self.failed(told, "left_running", *words)

    def measured(self, told, count=3):
        self.assertEqual(told.of("error"), [], told.stderr)
        self.assertEqual(told.of("skip"), [])
        self.assertEqual(len(told.values()), count, str(told))
        self.ended(told)

    def ended(self, told):
        self.assertEqual(told.events[-1], {"event": "end"}, told.stderr)
        self.assertEqual(told.code, 0, told.stderr)

    def failed(self, told, kind, *words):
        error = told.one("error")
        self.assertEqual(error["kind"], kind, error)
        for word in words:
            self.assertIn(word, error["message"])
        self.ended(told)
        return error

    def skipped(self, told, reason):
        self.assertIn(reason, told.one("skip")["reason"])
        self.assertEqual(told.of("error"), [])
        self.ended(told)


def in_a_quiet_moment(tests):
    """For tests of times, for classes of them, and for single steps of a test with many: one that was `Disturbed` is tried again for
    some minutes until it passes.

    A busy machine makes a time longer now and then, whoever measures it, and a driver that measures wrongly does so each time. Any
    other assertion fails at once, also at a later try: a fault that comes and goes must not be waited out.
    """
    if isinstance(tests, type):
        for name, test in list(vars(tests).items()):
            if name.startswith("test_"):
                setattr(tests, name, in_a_quiet_moment(test))
        return tests

    @functools.wraps(tests)
    def tried(self, *given, **named):
        begin = time.monotonic()
        while True:
            try:
                return tests(self, *given, **named)
            except Disturbed:
                if time.monotonic() - begin > PATIENCE:
                    raise
    return tried


def written(files, cases, **request):
    """As `drive`, with modules whose text stands in the test: `files` are texts by name, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        return drive([pair(case) if isinstance(case, str) else case for case in cases], folder, **request)


def each_written(texts, file="b.py", case=pair, **request):
    """As `written` for each of the texts, each as a file of that name in a folder of its own, but all in one process: to start an
    interpreter costs more than most cases. For tests that are not about what one case leaves to the next.
    """
    names = ["m%d/%s" % (index, file) for index in range(len(texts))]
    return written(dict(zip(names, texts)), [case(name) for name in names], **request).each()
