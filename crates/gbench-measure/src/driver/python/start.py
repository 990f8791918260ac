"""Starts the driver: `python start.py REQUEST.json`.

A file of its own, because everything has to be in place before a user's module is imported: the driver's own modules are loaded
and the clocks are kept, and only then this folder leaves `sys.path`, so that nothing in it can stand in front of a user's module
of the same name.

The driver's modules have built-in functions of their own, a copy: a benchmark may replace `len` or `open` for itself, and the driver
has to work on and say what became of it. Some of its modules are loaded late, when that may have happened already.

The guard at the end is needed: a worker that `multiprocessing` spawns runs this file again under another name, and must not
measure.
"""
import builtins
import os
import sys
from importlib.machinery import PathFinder, SourceFileLoader

NEEDS = (3, 8)
BUILT_IN = dict(vars(builtins))


class Own(SourceFileLoader):
    """Loads a module of the driver's, with built-in functions that nobody else has."""

    def exec_module(self, module):
        vars(module)["__builtins__"] = BUILT_IN
        super().exec_module(module)

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] != "gbench_driver":
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.origin is not None:
            spec.loader = cls(name, spec.origin)
        return spec


def start():
    if sys.version_info < NEEDS:
        sys.exit("gbench's Python driver needs Python 3.8 or newer; %s is %s" % (sys.executable, sys.version.split()[0]))
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    sys.meta_path.insert(0, Own)
    from gbench_driver import main

    own = (here, os.path.realpath(here))
    sys.path[:] = [entry for entry in sys.path if entry not in own]
    main.main(sys.argv)


if __name__ == "__main__":
    start()
