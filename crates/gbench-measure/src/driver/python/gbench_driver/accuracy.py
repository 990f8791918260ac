"""Holds a function's output against a reference: three figures, and whether they are within the tolerances.

numpy is used where the benchmark has loaded it, else plain Python does the same for nested lists: a benchmark without numpy has
to be checkable as well.
"""
import json
import math
import os
import sys

from .calls import Signature
from .failures import error
from .plain import number, shown

TINY = 1e-12  # below that, a reference value counts as zero in the relative error


class Mismatch(Exception):
    """The outputs cannot be compared; the text says why."""


def find_reference(module, place, case, arguments):
    """The expected output, or None where the module has none."""
    named = case["reference"]
    if named and named.endswith((".json", ".npy")):
        return _from_file(os.path.join(place.root, named), named)
    if named:
        names = [named]
    else:
        names = ["reference_result", "reference", place.bare + "_reference"]
    for name in names:
        found = getattr(module, name, None)
        if found is not None and (named or _may_be_one(found)):
            return _called(found, arguments) if callable(found) else found
    if named:
        raise error("no_reference", "%s has no `%s`, which is named as its reference" % (place.file, named))
    return None


def _may_be_one(found):
    """Whether what has a reference's name, by chance perhaps, is a function or an output: a module, a class or a text is neither."""
    if isinstance(found, (type, type(math))):
        return False
    if callable(found) or number(found) is not None or hasattr(found, "shape"):
        return True
    if isinstance(found, dict):
        found = list(found.values())
    return isinstance(found, (list, tuple)) and bool(found) and _may_be_one(found[0]) and not callable(found[0])


def _called(function, arguments):
    """The reference function's result; it is given those of the parameters that it takes."""
    signature = Signature(function)
    return function(**{name: value for name, value in arguments.items() if signature.any_name or signature.takes(name)})


def _from_file(path, named):
    try:
        if named.endswith(".npy"):
            import numpy
            return numpy.load(path, allow_pickle=False)
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, ImportError) as failure:
        raise error("no_reference", "the reference file %s cannot be read: %s" % (named, failure), failure)


def judge(output, reference, tolerances, what):
    """Whether it passed, a message if not, and the figures."""
    try:
        figures = compare(output, reference)
    except Mismatch as mismatch:
        return False, "%s: %s" % (what, mismatch), {}
    if not all(math.isfinite(value) for value in figures.values()):
        return False, "%s: the output holds a value that is not a finite number where the reference has one, or the other way round" % what, figures
    for name, value in figures.items():
        limit = tolerances.get(name)
        if limit is not None and value > limit:
            return False, "%s: %s is %.3g, and %.3g is allowed" % (what, name, value, limit), figures
    return True, None, figures


def compare(output, reference):
    """`rmse`, `max_error` and `relative_error` of two outputs of one shape. A NaN agrees with a NaN in the same place."""
    left, right = list_of(output), list_of(reference)
    if shape(left) != shape(right):
        raise Mismatch("the output has the shape %s and the reference %s" % (shape(left), shape(right)))
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "ndarray"):
        return _with_numpy(numpy, left, right)
    squares, largest, relative, count = 0.0, 0.0, 0.0, 0
    for a, b in zip(flat(left), flat(right)):
        difference = 0.0 if a == b or (a != a and b != b) else abs(a - b)
        if math.isnan(difference):
            return {"rmse": math.nan, "max_error": math.nan, "relative_error": math.nan}
        squares += difference * difference
        largest = max(largest, difference)
        relative = max(relative, difference / max(abs(b), TINY) if difference else 0.0)
        count += 1
    return {"rmse": math.sqrt(squares / count), "max_error": largest, "relative_error": relative}


def _with_numpy(numpy, left, right):
    a, b = (numpy.concatenate([numpy.ravel(part) for part in flat(value)]) for value in (left, right))
    wide = numpy.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else numpy.float64
    a, b = a.astype(wide), b.astype(wide)
    with numpy.errstate(all="ignore"):
        difference = numpy.where((a == b) | (numpy.isnan(a) & numpy.isnan(b)), 0.0, numpy.abs(a - b))
        relative = numpy.where(difference == 0.0, 0.0, difference / numpy.maximum(numpy.abs(b), TINY))
        figures = numpy.sqrt(numpy.mean(difference ** 2)), numpy.max(difference), numpy.max(relative)
    return dict(zip(("rmse", "max_error", "relative_error"), (float(value) for value in figures)))


def list_of(value):
    """The output as an array of numpy, or as nested lists and numbers."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if "bfloat16" in str(getattr(value, "dtype", "")) else value
        value = value.numpy() if "numpy" in sys.modules and hasattr(value, "numpy") else value.tolist()
    if hasattr(value, "shape") and hasattr(value, "tolist") and "numpy" not in sys.modules:
        value = value.tolist()
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value, key=str)]
    if isinstance(value, (list, tuple)):
        return [list_of(entry) for entry in value]
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        if getattr(value.dtype, "kind", "f") not in "biufc":
            raise Mismatch("an array of type %s cannot be compared" % value.dtype)
        return value
    figure = 1 if value is True else 0 if value is False else number(value)
    if figure is None:
        raise Mismatch("%s is no number, list or array, so it cannot be compared with a reference" % shown(value))
    return figure


def shape(value):
    """The shape as a tuple; lists of unequal lengths have none."""
    if isinstance(value, list):
        shapes = [shape(entry) for entry in value]
        if not shapes:
            raise Mismatch("there is nothing in the output or in the reference to compare")
        if any(other != shapes[0] for other in shapes):
            return (len(shapes), tuple(shapes))
        return (len(shapes),) + shapes[0]
    found = tuple(getattr(value, "shape", ()))
    if 0 in found:
        raise Mismatch("there is nothing in the output or in the reference to compare")
    return found


def flat(value):
    if isinstance(value, list):
        for entry in value:
            yield from flat(entry)
    else:
        yield value
