"""Turns any value into what JSON and the gate's reader take.

Values come from foreign code: NaN, numpy scalars, text with lone surrogates, objects that refuse to be printed. None of them may
cost a case its result.
"""
import math

TEXT_LIMIT = 100000
DEPTH_LIMIT = 12


def plain(value, depth=0):
    """The value as None, bool, int, float, str, list or dict. A float that is not finite is None."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**64 else str(value)
    if isinstance(value, float):
        value = float(value)
        return value if math.isfinite(value) else None
    if depth < DEPTH_LIMIT:
        if isinstance(value, dict):
            return {text(key): plain(entry, depth + 1) for key, entry in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [plain(entry, depth + 1) for entry in value]
    figure = number(value)
    return text(value) if figure is None else plain(figure, DEPTH_LIMIT)


def text(value):
    """The value as text that is valid UTF-8 and not endless, whatever its own `__str__` does."""
    try:
        words = str(value)
    except BaseException as failure:
        words = "<a %s that cannot be printed: %s>" % (type(value).__name__, type(failure).__name__)
    if len(words) > TEXT_LIMIT:
        words = words[:TEXT_LIMIT // 2] + " [...] " + words[-TEXT_LIMIT // 2:]
    return words.encode("utf-8", "backslashreplace").decode("utf-8")


def number(value):
    """The value as int or float if it is a number (numpy's and torch's scalars are), else None. Text and truth values are none."""
    if isinstance(value, (bool, str, bytes)) or type(value).__name__ in ("bool_", "bool"):
        return None
    if isinstance(value, (int, float)):
        return value
    if not hasattr(type(value), "__float__") and not hasattr(type(value), "__index__"):
        return None
    try:
        return float(value)
    except BaseException:
        return None


def shown(value, limit=80):
    """The value as a message names it."""
    try:
        words = repr(value)
    except BaseException:
        words = "a " + type(value).__name__
    words = text(words)
    return words if len(words) <= limit else words[:limit] + "..."
