"""What the gate asks for, with the defaults of everything that it left out.

Unknown keys are passed over, so that an older driver works with a newer gate.
"""
import json

PROTOCOL = 1

DEFAULTS = {
    "root": None, "process": 0, "iterations": 30, "warmup": 10, "duration": 0.0, "burnin": 0.0, "cold": False, "seed": 1337,
    "pinned": [], "alone": False, "options": {}, "cases": [], "tree": None,
    "profiled": False, "torch_profile": None,
}
OPTIONS = {
    "mode": "auto", "deterministic": False, "check_determinism": False, "flush_l2": False, "fresh_inputs": False, "cuda_graph": False,
    "path": [],
}
MODES = ("auto", "perf_counter", "cuda_events", "do_bench", "torch_timer")
CASE = {
    "way": None, "file": None, "class": None, "function": None, "params": {}, "precision": None, "backend": None,
    "first_precision": False, "first_backend": False, "tolerances": {}, "reference": None, "skip_conditions": [], "work": {}, "unit": "ms",
    "iterations": None, "warmup": None, "seed": None, "message": None, "shared_tolerances": False,
}


class Unusable(Exception):
    """The request cannot be followed."""


class Request:
    """The request; `cases` are dictionaries with all keys of `CASE`."""

    def __init__(self, document):
        if not isinstance(document, dict):
            raise Unusable("the request is not a JSON object")
        if document.get("protocol", PROTOCOL) != PROTOCOL:
            raise Unusable("the request speaks version %r of the protocol, this driver speaks %d" % (document["protocol"], PROTOCOL))
        given = _filled(DEFAULTS, document)
        self.options = _filled(OPTIONS, given["options"])
        self.cases = [_filled(CASE, case) for case in given["cases"]]
        self.root = given["root"]
        self.seed = given["seed"]
        self.iterations = max(1, int(given["iterations"]))
        self.warmup = max(0, int(given["warmup"]))
        self.duration = max(0.0, float(given["duration"]))
        self.burnin = max(0.0, float(given["burnin"]))
        self.cold = bool(given["cold"])
        self.pinned = list(given["pinned"])
        self.alone = bool(given["alone"])
        self.tree = given["tree"]
        self.profiled = bool(given["profiled"])
        self.torch_profile = given["torch_profile"]
        if not self.root:
            raise Unusable("the request has no `root`")
        if self.options["mode"] not in MODES:
            raise Unusable("`mode` is %r; there are %s" % (self.options["mode"], ", ".join(MODES)))


def _filled(defaults, given):
    return {key: default if given.get(key) is None else given[key] for key, default in defaults.items()}


def read_request(path):
    with open(path, encoding="utf-8") as file:
        return Request(json.load(file))
