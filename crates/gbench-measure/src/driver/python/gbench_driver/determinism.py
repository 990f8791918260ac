"""Runs a benchmark twice from the same seed, and compares what it says of its output."""
import re

from .standard import standard

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
DEEPEST = 50


def check(subject, seeds):
    """A verdict for the event `validation` or None, and the note for the record."""
    if subject.times_itself:
        return None, "not checked: what the benchmark returns is its time"
    found = []
    for _ in range(2):
        seeds.seed_all()
        subject.setup()
        source = subject.digest_source(subject.call())
        if source is None:
            return None, "not checked: the benchmark offers no get_output_digest() or digest() and returns nothing"
        found.append(Digest(source))
    first, second = found
    if first.words != second.words:
        return (False, "nondeterministic: two runs from one seed gave %s and %s" % (first.words, second.words), {}), "two runs from one seed differ"
    if not first.passed_over:
        return None, "two runs from one seed agree"
    named = ", ".join(sorted(first.passed_over))
    if not first.compared:
        return None, "not checked: a returned %s cannot be compared; offer get_output_digest()" % named
    return None, "two runs from one seed agree, but for what cannot be compared (%s); offer get_output_digest()" % named


class Digest:
    """`words`: a short text by which two outputs are told apart, the text itself where it is short, else a hash of the content.

    `passed_over`: the types of objects that have only their address to show; `compared`: whether there was anything else.
    """

    def __init__(self, value):
        self.passed_over, self.compared = set(), 0
        if isinstance(value, (str, int)) and len(str(value)) <= 64:
            self.words = str(value)
            return
        self.state = standard("hashlib").sha256()
        self._feed(value, 0)
        self.words = self.state.hexdigest()[:16]

    def _bytes(self, content):
        self.compared += 1
        self.state.update(content)

    def _feed(self, value, depth):
        if depth > DEEPEST:
            self.passed_over.add("structure deeper than %d levels" % DEEPEST)
            return
        if hasattr(value, "detach"):
            value = value.detach().cpu().contiguous()
            try:
                value = value.numpy()
            except (TypeError, RuntimeError):  # bfloat16 and the like
                value = value.tolist()
        if getattr(getattr(value, "dtype", None), "hasobject", False):
            value = value.tolist()  # the bytes of such an array are addresses
        fields = getattr(type(value), "__dataclass_fields__", None)
        if isinstance(value, dict):
            self._entries(((repr(key) if isinstance(key, (str, int)) else str(type(key)), value[key]) for key in sorted(value, key=str)), depth)
        elif fields:
            self._entries(((name, getattr(value, name, None)) for name in fields), depth)
        elif isinstance(value, (list, tuple)):
            self.state.update(b"[%d" % len(value))
            for entry in value:
                self._feed(entry, depth + 1)
        elif isinstance(value, (set, frozenset)):
            self._feed(sorted(value, key=repr), depth + 1)
        elif hasattr(value, "tobytes"):
            self._bytes(("%s %s" % (getattr(value, "dtype", ""), getattr(value, "shape", ""))).encode())
            self._bytes(value.tobytes())
        elif isinstance(value, (bytes, bytearray)):
            self._bytes(value)
        else:
            words = repr(value)
            if type(value).__repr__ is object.__repr__ or (not isinstance(value, str) and ADDRESS.search(words)):
                self.passed_over.add(type(value).__name__)
            else:
                self._bytes(words.encode("utf-8", "replace"))

    def _entries(self, entries, depth):
        for name, entry in entries:
            self.state.update(name.encode("utf-8", "replace"))
            self._feed(entry, depth + 1)
