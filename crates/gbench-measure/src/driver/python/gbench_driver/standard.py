"""Imports modules of the standard library late, and from the standard library for certain.

Starting has to cost little, so what few cases need is imported when it is needed. By then the user's folders stand first in
`sys.path`, and a user's `traceback.py` must not be taken for Python's, also where the user has already imported it.
"""
import os
import sys

from . import originals

_search_path = [entry for entry in sys.path if entry]
_folder = os.path.dirname(os.path.abspath(os.__file__))
_loaded = {}


def standard(name):
    """The module of the standard library of that name."""
    if name not in _loaded:
        users = sys.modules.get(name)
        if users is not None and not os.path.abspath(getattr(users, "__file__", None) or _folder).startswith(_folder):
            del sys.modules[name]
        else:
            users = None
        search_path, sys.path[:] = sys.path[:], _search_path
        try:
            with originals.BuiltIn():
                __import__(name)
            _loaded[name] = sys.modules[name]
        finally:
            sys.path[:] = search_path
            if users is not None:
                sys.modules[name] = users
    return _loaded[name]
