"""Imports a user's module as if it were run from its own folder, and forgets it again.

Benchmarks import their siblings by bare name (`import helper`) and shared code from the top of their repository (`from
common.python import ...`), and are imported by others under both names. Cases of one process that live in different folders may
have siblings of equal names, so what came from a case's folder is dropped before the next folder's turn.
"""
import importlib
import importlib.util
import os
import sys
from importlib.machinery import PathFinder

_kept = {}  # the module that stays loaded for the next case of the same file, by its path

MARKS = (os.path.join("common", "python"), "core")


class Place:
    """Where a module lies: `path` and `folder` absolute, `dotted` from `base` (`ch1.baseline_moe`), `bare` the file's name.

    `base` is the repository's top by its marks, else the root. Where the first folder below it is called like a module of Python's
    or an installed one (`code/ch1`), that folder takes its place: the package below it could not be imported otherwise.
    """

    def __init__(self, root, file):
        self.root = os.path.abspath(root)
        self.path = os.path.abspath(os.path.join(self.root, file))
        self.folder = os.path.dirname(self.path)
        self.file = file
        self.bare = os.path.splitext(os.path.basename(self.path))[0]
        self.marked = marked_ancestor(self.folder, self.root)
        self.base = self._out_of_packages(self.marked or self.root)
        self.dotted = self._dotted()
        self.is_taken = False  # whether the bare name is another module's

    def _dotted(self):
        relative = os.path.relpath(os.path.splitext(self.path)[0], self.base)
        return self.bare if relative.startswith(os.pardir) else relative.replace(os.sep, ".")

    def _out_of_packages(self, folder):
        """The folder, or that above the package that it is part of: a module's name begins at the top of its package."""
        while folder != self.root and _is_package(folder):
            folder = os.path.dirname(folder)
        return folder

    def _leave_taken_folders(self):
        while "." in self.dotted:
            top = self.dotted.split(".")[0]
            below = os.path.join(self.base, top)
            if _is_package(below) or not _is_installed(top, self.root):
                return
            self.base = below
            self.dotted = self._dotted()

    def extend_search_path(self, extra):
        """Puts the user's folders in front of `sys.path`: the module's own, what was asked for, the repository's top by its marks, and
        the root.

        A file that is called like an installed package (`triton.py`) wants that package when it imports it. Its folder goes to
        the end, and the file is not registered under the package's name.
        """
        self.is_taken = _is_installed(self.bare, self.root)
        self._leave_taken_folders()
        ahead = [] if self.is_taken else [self.folder]
        ahead += [os.path.join(self.root, entry) for entry in extra]
        ahead += [self.marked, None if self.base == self.folder else self.base, self.root]
        if self.is_taken:
            ahead = [entry for entry in ahead if entry != self.folder]
            sys.path.append(self.folder)
        sys.path[:0] = dict.fromkeys(entry for entry in ahead if entry)
        # `from ch01 import ...` in `code/ch01/x.py`: behind all else, where they hide nothing.
        sys.path.extend(entry for entry in self._above() if entry not in sys.path)

    def _above(self):
        """The folders between the module's own and the root."""
        folder = os.path.dirname(self.folder)
        while folder.startswith(self.root + os.sep):
            yield folder
            folder = os.path.dirname(folder)

    def names(self):
        """Under which names the module is registered, the one that it is told first."""
        if not self.is_taken:
            return (self.dotted, self.bare)
        return (self.dotted if self.dotted != self.bare else "benchmark." + self.bare,)


def _is_package(folder):
    return os.path.exists(os.path.join(folder, "__init__.py"))


def marked_ancestor(folder, root):
    """The nearest folder from here up to the root that holds `common/python` or `core`, or None."""
    while True:
        if any(os.path.isdir(os.path.join(folder, mark)) for mark in MARKS):
            return folder
        parent = os.path.dirname(folder)
        if folder == root or parent == folder or not folder.startswith(root):
            return None
        folder = parent


def _is_installed(name, root):
    """Whether the standard library or an installed package has that name. Asked before the user's folders are searched."""
    if name in sys.builtin_module_names:
        return True
    try:
        spec = PathFinder.find_spec(name)
        return spec is not None and spec.origin is not None and not is_users(spec.origin, root)
    except (ImportError, ValueError):
        return False


def load(place):
    """Imports the module and registers it under its dotted and its bare name. One that the case before has left loaded is used again."""
    kept = sys.modules.get(place.names()[0])
    if kept is not None and kept is _kept.get(place.path):
        return kept
    importlib.invalidate_caches()
    _parent_package(place)
    spec = importlib.util.spec_from_file_location(place.names()[0], place.path)
    module = importlib.util.module_from_spec(spec)
    for name in place.names():
        sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        forget_module(place)
        raise
    # A module may put another object in its own place.
    module = sys.modules.get(place.names()[0], module)
    for name in place.names():
        sys.modules[name] = module
    return module


def _parent_package(place):
    """Imports the packages around the module, as `import ch1.baseline_moe` would, where the folder says that it is one."""
    package = place.dotted.rpartition(".")[0]
    if package and os.path.exists(os.path.join(place.folder, "__init__.py")):
        importlib.import_module(package)


def keep(place):
    """Leaves the module loaded for the next case, which is of the same file."""
    _kept[place.path] = sys.modules.get(place.names()[0])


def forget_module(place):
    _kept.pop(place.path, None)
    for name in place.names():
        sys.modules.pop(name, None)


def forget_folder(place):
    """Drops the modules that were loaded from the case's folder, so that another folder gets its own of the same names."""
    forget_module(place)
    for name, module in list(sys.modules.items()):
        if is_users(getattr(module, "__file__", None), place.folder):
            sys.modules.pop(name, None)


def is_users(path, folder):
    """Whether a file is the user's own: under that folder, and not of an installed package or of the interpreter."""
    if not isinstance(path, str):
        return False
    path = os.path.abspath(path)
    parts = path.split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts:
        return False
    for taken in {sys.prefix, sys.base_prefix}:
        if path.startswith(taken + os.sep) and not folder.startswith(taken + os.sep):
            return False
    return path.startswith(folder.rstrip(os.sep) + os.sep)
