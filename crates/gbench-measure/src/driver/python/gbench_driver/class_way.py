"""The way `class`: an object with `setup`, `benchmark_fn` and `teardown`, as harnesses of baseline/optimized pairs write it.

The object comes from the module's factory `get_benchmark()`, else from the class that the request names, else from the first
class that the module defines itself and that has `benchmark_fn`. All methods but that one are optional.
"""
import types

from . import results
from .calls import Signature, check_arguments
from .failures import error
from .plain import text

TIMES_ITSELF = False
FACTORY = "get_benchmark"


class Subject:
    times_itself = False

    def __init__(self, module, place, case):
        self.file = place.file
        self.object = make(module, place, case)
        self.call = self.object.benchmark_fn
        self.what = "benchmark_fn() in %s" % place.file

    def wants_cuda(self):
        return getattr(self.object, "device", None)

    def config(self):
        return self._optional("get_config")

    def setup(self):
        self._optional("setup")

    def renewal(self):
        """For `fresh_inputs`: what is called before each sample, or None, and words for the record."""
        if callable(getattr(self.object, "setup", None)):
            return self.setup, "setup() before each sample"
        return None, "not applied: the benchmark has no setup()"

    def teardown(self):
        self._optional("teardown")

    def work(self):
        stated = self._optional("get_workload_metadata")
        return results.work(stated) if stated is not None else ({}, {})

    def send_figures(self, channel):
        figures = self._optional("get_custom_metrics")
        if figures is not None:
            results.send_figures(channel, figures)

    def validate(self):
        """None where the benchmark does not check itself, else whether it passed, the message and no figures."""
        check = getattr(self.object, "validate_result", None)
        if not callable(check):
            return None
        verdict = check()
        if isinstance(verdict, types.CoroutineType):
            verdict.close()
            return False, "validate_result() is `async`: it has checked nothing", {}
        if verdict is None or verdict is True or (isinstance(verdict, str) and not verdict.strip()):
            return True, None, {}
        if isinstance(verdict, str):
            return False, text(verdict), {}
        if type(verdict).__name__ in ("bool", "bool_", "bool"):
            return (True, None, {}) if verdict else (False, "validate_result() returned False", {})
        return False, "validate_result() returned %s; None, True or an empty text would mean that the result is right" % text(verdict)[:200], {}

    def digest_source(self, returned):
        """What tells one run's output from another's: the object's own digest, else what the call returned."""
        for name in ("get_output_digest", "digest"):
            method = getattr(self.object, name, None)
            if callable(method):
                return method()
        return results.without_times(returned)

    def _optional(self, name):
        method = getattr(self.object, name, None)
        return method() if callable(method) else None


def make(module, place, case):
    """The benchmark object of the module."""
    maker, what = _maker(module, place, case)
    arguments = dict(case["params"])
    if arguments or not what.startswith(FACTORY):
        check_arguments("%s in %s" % (what, place.file), Signature(maker), arguments)
    made = maker(**arguments)
    if not callable(getattr(made, "benchmark_fn", None)):
        raise error("no_benchmark", "%s in %s gave %s, which has no method benchmark_fn()" % (what, place.file, _a(made)))
    return made


def _maker(module, place, case):
    if case["class"]:
        named = getattr(module, case["class"], None)
        if not isinstance(named, type):
            raise error("no_benchmark", "%s has no class `%s`; its classes are: %s"
                    % (place.file, case["class"], _listed(own_classes(module))))
        return named, case["class"] + "()"
    factory = getattr(module, FACTORY, None)
    if callable(factory):
        return factory, FACTORY + "()"
    for found in own_classes(module):
        if hasattr(found, "benchmark_fn") and not getattr(found, "__abstractmethods__", None):
            return found, found.__name__ + "()"
    raise error("no_benchmark", "%s has no function get_benchmark() and no class of its own with benchmark_fn(); its classes are: %s"
                % (place.file, _listed(own_classes(module))))


def own_classes(module):
    """The classes that the module defines itself, in the order of the file."""
    return [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__]


def _listed(classes):
    return ", ".join("`%s`" % found.__name__ for found in classes) or "none"


def _a(made):
    return "None" if made is None else "an object of class `%s`" % type(made).__name__
