"""Starts the driver: `python start.py REQUEST.json`.

A file of its own, because everything has to be in place before a user's module is imported: the driver's own modules are loaded
and the clocks are kept, and only then this folder leaves `sys.path`, so that nothing in it can stand in front of a user's module
of the same name.

The guard at the end is needed: a worker that `multiprocessing` spawns runs this file again under another name, and must not
measure.
"""
import os
import sys


NEEDS = (3, 8)


def start():
    if sys.version_info < NEEDS:
        sys.exit("gbench's Python driver needs Python 3.8 or newer; %s is %s" % (sys.executable, sys.version.split()[0]))
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    from gbench_driver import main

    own = (here, os.path.realpath(here))
    sys.path[:] = [entry for entry in sys.path if entry not in own]
    main.main(sys.argv)


if __name__ == "__main__":
    start()
