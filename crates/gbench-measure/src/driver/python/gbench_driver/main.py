"""Goes through the cases of a request: each is announced, run, and cleaned up after.

The process ends by `os._exit`, after the streams are flushed: a benchmark may leave a thread that never ends or a handler at exit
that hangs, and neither may cost a result that has already been sent.
"""
import os
import sys

from . import author, failures, gpu, leftovers, loading, originals, versions
from .case_run import CaseRun
from .channel import open_channel
from .isolation import State
from .request import Unusable, read_request
from .seeds import Seeds
from .standard import standard

FAILED = 70  # exit code of a fault of the driver's own
UNUSABLE = 64  # of a request that it cannot follow


def main(arguments):
    channel = open_channel()
    code, clean = 0, False
    try:
        if len(arguments) != 2:
            raise Unusable("call it as: python start.py REQUEST.json")
        request = read_request(arguments[1])
        clean = run_cases(request, channel)
    except (Unusable, OSError, ValueError) as failure:
        code = UNUSABLE
        channel.send("error", kind="request", message="the driver cannot follow the request: %s" % failure)
    except BaseException as failure:  # a fault of the driver; the trace is wanted with all its frames
        code = FAILED
        originals.put_back_standard()
        channel.send("error", kind="driver", message="a fault in gbench's Python driver: " + failures.message(failure),
                     trace="".join(standard("traceback").format_exception(type(failure), failure, failure.__traceback__))[:20000])
    channel.send("end")
    leave(code, clean)


def run_cases(request, channel):
    """Runs the cases, up to the first that leaves something behind. Returns whether none did."""
    channel.send("metadata", notes=versions.interpreter())
    author.offer()
    seeds = Seeds(request.seed, request.options["deterministic"])
    cache = {}
    places = [loading.Place(request.root, case["file"] or "") for case in request.cases]
    for index, (case, place) in enumerate(zip(request.cases, places)):
        channel.send("case", index=index)
        following = places[index + 1] if index + 1 < len(places) else None
        if not run_case(request, case, place, channel, seeds, cache, following):
            return False
    return True


def run_case(request, case, place, channel, seeds, cache, following):
    """Runs one case. Returns whether the process is fit for another."""
    originals.collect()
    gpu.begin_case()
    before = leftovers.Running()
    state = State(place.root)
    author.set_params(case["params"])
    seeds.seed = request.seed if case["seed"] is None or "seed" in request.pinned else case["seed"]
    run = CaseRun(request, case, channel, seeds, cache)
    run.run(place)
    state.changed = originals.put_back_standard()
    left = leftovers.Left(before, place.root)
    at_work = left.at_work(run.before_setup)
    if at_work:
        run.outcome.ended_by(failures.error(
            "left_running", "a thread of the benchmark's was still running after teardown() (%s), so its work may be in no sample. End it in "
            "teardown(), or wait for it in the measured function" % ", ".join(at_work)))
    same = following is not None and following.path == place.path and run.outcome.cause is None
    remains = left.words() + state.put_back(for_same_file=same)
    notes = run.outcome.notes()
    if remains:
        notes["leaves"] = remains
    if state.names:
        notes["put_back"] = state.names
    notes.update(seeds.notes())
    run.notes(notes)
    if same and not state.changed:
        loading.keep(place)
    else:
        forget(place, following)
    free_device_memory()
    return not remains


def forget(place, following):
    """Drops the case's modules."""
    if following is not None and following.folder == place.folder:
        loading.forget_module(place)
    else:
        loading.forget_folder(place)


def free_device_memory():
    torch = gpu.torch_with_cuda()
    if torch is not None and torch.cuda.is_initialized():
        originals.collect()
        torch.cuda.empty_cache()


def leave(code, clean):
    """Flushes what was printed, and ends the process at once; see the module's text.

    The streams of C are flushed only in a clean process: a thread that was left behind may hold one of them for ever.
    """
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except BaseException:
            pass  # closed, or replaced by something that cannot be flushed
    if clean:
        try:
            standard("ctypes").CDLL(None).fflush(None)
        except BaseException:
            pass  # an interpreter without ctypes
    originals.leave(code)
