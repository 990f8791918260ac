"""The `skip_conditions` of bench.yaml: where a Python expression is true, this machine does not run the case.

The gate says which conditions may be evaluated; here they are, by the interpreter that would run the benchmark.
"""
import re

from .failures import error, skip
from .failures import message as message_of

MODULES = {"torch": "torch", "numpy": "numpy", "np": "numpy", "jax": "jax", "os": "os", "sys": "sys"}

# A backend without its library is not here, whatever a condition would say of it.
BACKENDS = {"cuda": "torch", "rocm": "torch", "pytorch": "torch", "jax": "jax"}


def check(case):
    """Raises a skip for the first condition that holds, and an error of kind `skip_condition` for one that cannot be evaluated."""
    for condition in case["skip_conditions"]:
        if all(condition.get(key) in (None, case[key]) for key in ("backend", "precision")) and _holds(condition, case["backend"]):
            raise skip(condition.get("reason") or "bench.yaml skips it where %s" % (condition.get("check") or "it is listed"))


def _holds(condition, backend):
    expression = condition.get("check")
    if expression is None:
        return True
    expression = str(expression)
    known = {}
    for name, module in MODULES.items():
        if re.search(r"\b%s\b" % name, expression):
            try:
                known[name] = __import__(module)
            except BaseException as failure:
                if isinstance(failure, ModuleNotFoundError) and failure.name == module == BACKENDS.get(backend):
                    raise skip("the backend `%s` needs %s, which is not installed" % (backend, module))
                raise error("skip_condition", "bench.yaml: the condition `%s` needs %s, which cannot be imported: %s"
                            % (expression, module, message_of(failure)), failure)
    try:
        return bool(eval(expression, known))
    except BaseException as failure:
        raise error("skip_condition", "bench.yaml: the condition `%s` cannot be evaluated: %s" % (expression, message_of(failure)), failure)
