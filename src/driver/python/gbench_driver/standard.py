"""Imports modules of the standard library late, and from the standard library for certain.

Starting has to cost little, so what few cases need is imported when it is needed. By then the user's folders stand first in
`sys.path`, and a user's `traceback.py` must not be taken for Python's.
"""
import sys

_search_path = [entry for entry in sys.path if entry]


def standard(name):
    """The module of the standard library of that name."""
    if name in sys.modules:
        return sys.modules[name]
    users = sys.path[:]
    sys.path[:] = _search_path
    try:
        __import__(name)
    finally:
        sys.path[:] = users
    return sys.modules[name]
