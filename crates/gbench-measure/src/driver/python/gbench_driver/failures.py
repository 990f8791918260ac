"""What an exception out of a user's code means: this machine cannot run it (a skip), or it failed (an error).

The decision is made by the exception, never by what the benchmark printed. A missing GPU is a reason to skip only where there
is none: the same words on a machine with a GPU mean that something is broken.
"""
import os
import re
import sys

from . import originals
from .plain import text
from .standard import standard

HERE = os.path.dirname(os.path.abspath(__file__))
TRACE_LIMIT = 60000
MESSAGE_LIMIT = 4000

# Texts and not compiled: compiling them would take milliseconds of each start, and most cases fail in no way.
NO_CUDA = (
    r"\b(CUDA|GPU)s?( device)?( is| are)? (required|not available|unavailable|not found)\b"
    r"|\b(requires?|needs?) (a |an |one )?(NVIDIA )?(CUDA|GPU)s?\b"  # not CUDA_HOME, which goes on with a letter of a word
    r"|CUDA driver version is insufficient|accelerator device when none is available|without ATen_cuda library"
    r"|No CUDA GPUs are available|not compiled with CUDA|Found no NVIDIA driver|no CUDA-capable device|No CUDA (device|runtime)"
)
OUT_OF_MEMORY = r"out of memory|can't allocate memory|CUBLAS_STATUS_ALLOC_FAILED"
REFUSES = "does not have a deterministic implementation"
# At the beginning of a line, also behind the name of an exception whose text was taken over: not within a sentence.
MARK = r"(?:^\s*|\b\w*(?:Error|Exception|Skip|SkipTest|Skipped): )SKIPPED:(.*)"
SKIPS = ("SkipTest", "Skipped")  # unittest's and pytest's exceptions, by name: neither is imported for this


class Stop(Exception):
    """The driver's own word on a case: it is skipped, or it failed for a reason that the driver itself found."""

    def __init__(self, outcome, message, kind=None, cause=None):
        super().__init__(message)
        self.outcome, self.message, self.kind, self.cause = outcome, message, kind, cause


def skip(reason):
    return Stop("skip", reason)


def error(kind, message, cause=None):
    return Stop("error", message, kind, cause)


def judge(failure, cuda_is_there, default_kind=None):
    """The event for an exception, as its name and keys. `cuda_is_there` is called only where the answer matters."""
    if isinstance(failure, Stop):
        if failure.outcome == "skip":
            return "skip", {"reason": failure.message}
        return "error", {"message": failure.message, "kind": failure.kind, "trace": trace(failure.cause) if failure.cause else None}
    reason = skip_reason(failure, cuda_is_there)
    if reason is not None:
        return "skip", {"reason": reason}
    return "error", {"message": message(failure), "kind": default_kind or kind(failure), "trace": trace(failure)}


def skip_reason(failure, cuda_is_there):
    """Why the machine cannot run it, or None."""
    words = text(failure)
    mark = re.search(MARK, words, re.MULTILINE | re.DOTALL) if "SKIPPED:" in words else None
    if mark:
        return first_line(mark.group(1)) or "the benchmark gave no reason"
    if type(failure).__name__ in SKIPS:
        return first_line(words) or "the benchmark gave no reason"
    if isinstance(failure, Exception) and re.search(NO_CUDA, words, re.IGNORECASE) and not cuda_is_there():
        return "needs a CUDA device: " + first_line(words)
    return None


def kind(failure):
    """The kind of the error: what the gate has advice for, else the name of the exception."""
    name = type(failure).__name__
    words = text(failure)
    if isinstance(failure, MemoryError) or name == "OutOfMemoryError" or (
            isinstance(failure, RuntimeError) and is_out_of_memory(words)):
        return "out_of_memory"
    if REFUSES in words:
        return "nondeterministic_operation"
    if isinstance(failure, ImportError):
        return "import"
    if isinstance(failure, SystemExit):
        return "exit"
    return name


def is_out_of_memory(words):
    return re.search(OUT_OF_MEMORY, words, re.IGNORECASE) is not None


def message(failure):
    """`Type: text`, or what the module did where it raised nothing in the ordinary sense."""
    if isinstance(failure, SystemExit):
        return "it called sys.exit(%s)" % ("" if failure.code is None else text(repr(failure.code)))
    if isinstance(failure, KeyboardInterrupt):
        return "it raised KeyboardInterrupt"
    name = type(failure).__qualname__
    module = type(failure).__module__
    if module not in ("builtins", "__main__", None):
        name = "%s.%s" % (module, name)
    if isinstance(failure, SyntaxError):
        place = "%s, line %s" % (failure.filename, failure.lineno)
        return "%s: %s (%s)" % (name, text(failure.msg), place)
    words = text(failure)
    return cut("%s: %s" % (name, words) if words else name, MESSAGE_LIMIT)


def trace(failure):
    """The traceback with its causes, without the driver's own frames and those of the import system."""
    try:
        traceback = standard("traceback")
        with originals.BuiltIn():
            told = traceback.TracebackException.from_exception(failure)
            _without_own_frames(told, set())
            return cut(text("".join(told.format())), TRACE_LIMIT)
    except BaseException as trouble:  # an exception whose own text raises, or no memory left
        return "the traceback cannot be written: %s" % type(trouble).__name__


def _without_own_frames(told, seen):
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    told.stack[:] = [frame for frame in told.stack if not is_own(frame.filename)]
    _without_own_frames(told.__cause__, seen)
    _without_own_frames(told.__context__, seen)
    for part in getattr(told, "exceptions", None) or ():
        _without_own_frames(part, seen)


def is_own(filename):
    """Whether a frame is of the driver or of the import system: neither says anything about the benchmark."""
    return filename.startswith(HERE + os.sep) or filename.startswith("<frozen importlib")


def first_line(words):
    lines = words.strip().splitlines()
    return cut(lines[0].strip(), MESSAGE_LIMIT) if lines else ""


def cut(words, limit):
    """The text, without its middle where it is too long: the first and the last lines say most."""
    if len(words) <= limit:
        return words
    return "%s\n[... %d characters left out ...]\n%s" % (words[:limit // 2], len(words) - limit, words[-limit // 2:])


def cuda_is_there():
    """Whether this machine has a CUDA device: torch's word and the device files, for a broken torch sees none where there is one."""
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.cuda.is_available():
            return True
    except BaseException:
        pass  # a broken torch knows nothing of the machine
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return False
    return os.path.exists("/dev/dxg") or bool(_nvidia_files())


def _nvidia_files():
    try:
        return [name for name in os.listdir("/dev") if re.match(r"nvidia\d+$", name)]
    except OSError:
        return []
