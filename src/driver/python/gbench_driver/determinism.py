"""Runs a benchmark twice from the same seed, and compares what it says of its output."""
from .standard import standard


class NothingToCompare(Exception):
    """An object that has only its address to show."""


def check(subject, seeds):
    """A verdict for the event `validation` or None, and the note for the record."""
    if subject.times_itself:
        return None, "not checked: what the benchmark returns is its time"
    digests = []
    for _ in range(2):
        seeds.seed_all()
        subject.setup()
        source = subject.digest_source(subject.call())
        if source is None:
            return None, "not checked: the benchmark offers no get_output_digest() or digest() and returns nothing"
        try:
            digests.append(digest(source))
        except NothingToCompare:
            return None, "not checked: a returned %s cannot be compared; offer get_output_digest()" % type(source).__name__
    if digests[0] == digests[1]:
        return None, "two runs from one seed agree"
    return (False, "nondeterministic: two runs from one seed gave %s and %s" % (digests[0], digests[1]), {}), "two runs from one seed differ"


def digest(value):
    """A short text by which two outputs are told apart: the text itself where it is short, else a hash of the content."""
    if isinstance(value, (str, int)) and len(str(value)) <= 64:
        return str(value)
    state = standard("hashlib").sha256()
    _feed(state, value)
    return state.hexdigest()[:16]


def _feed(state, value):
    if hasattr(value, "detach"):
        value = value.detach().cpu().contiguous()
        try:
            value = value.numpy()
        except (TypeError, RuntimeError):  # bfloat16 and the like
            value = value.tolist()
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            state.update(repr(key).encode("utf-8", "replace"))
            _feed(state, value[key])
    elif isinstance(value, (list, tuple)):
        state.update(b"[%d" % len(value))
        for entry in value:
            _feed(state, entry)
    elif hasattr(value, "tobytes"):
        state.update(("%s %s" % (getattr(value, "dtype", ""), getattr(value, "shape", ""))).encode())
        state.update(value.tobytes())
    elif isinstance(value, (bytes, bytearray)):
        state.update(value)
    elif type(value).__repr__ is object.__repr__:
        raise NothingToCompare()
    else:
        state.update(repr(value).encode("utf-8", "replace"))
