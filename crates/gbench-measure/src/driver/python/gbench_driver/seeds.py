"""Seeds the generators of random numbers, as soon as each has been imported.

A module may draw its inputs while it is imported, so seeding after the import would be too late; and importing numpy or torch
only to seed them would cost every other benchmark seconds. So the import of those is watched, and they are seeded (and torch put
into its deterministic mode) before the code that imported them goes on.
"""
import os
import sys

from . import gpu, libraries
from .versions import PACKAGES

SEEDED = ("random", "numpy", "torch")
WATCHED = frozenset(SEEDED) | frozenset(name.replace("-", "_") for name in PACKAGES)


class Seeds:
    """A finder that finds nothing itself: it lets the others find and looks on while the package is executed."""

    def __init__(self, seed, deterministic):
        self.seed, self.deterministic = seed, deterministic
        self.seeded = []
        self.broken = {}
        self.asked = set()
        self.is_deterministic = False  # torch has been told
        if deterministic:
            # cuBLAS reads it once, when it is loaded.
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        if name not in WATCHED and name not in libraries.STANDARD or name in self.asked:
            return None
        self.asked.add(name)
        try:
            spec = next((spec for spec in (finder.find_spec(name, path, target) for finder in list(sys.meta_path)
                                           if finder is not self and hasattr(finder, "find_spec")) if spec), None)
        finally:
            self.asked.discard(name)
        if spec is not None and spec.loader is not None:
            if name not in libraries.STANDARD:  # those read none
                libraries.environments[name] = dict(os.environ)
            self._watch(name, spec.loader)
        return spec

    def _watch(self, name, loader):
        """Puts a function of ours in front of this one loader's; it goes when the package has been executed."""
        execute = getattr(loader, "exec_module", None)
        if execute is None or isinstance(loader, type):
            return  # shared by all built-in modules, which need no seed

        def exec_module(module):
            del loader.exec_module
            try:
                execute(module)
            except BaseException as failure:
                self.broken[name] = "%s: %s" % (type(failure).__name__, str(failure)[:500])
                raise
            self.broken.pop(name, None)
            self._ready(name, module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass  # a loader without a dictionary; it is seeded after the import

    def _ready(self, name, module):
        if name == "torch":
            gpu.keep(module)
            self._make_deterministic(module)
        libraries.keep(name)
        if name in libraries.STANDARD:
            libraries.keep_standard(name)
        if name in SEEDED:
            self._seed(name)

    def _make_deterministic(self, torch):
        if self.deterministic:
            self.is_deterministic = True
            torch.use_deterministic_algorithms(True)
            torch.backends.cudnn.deterministic = True
            torch.backends.cudnn.benchmark = False

    def seed_all(self):
        """Seeds what is loaded. Called before each import and again before each setup."""
        for name in SEEDED:
            if name in sys.modules:
                self._seed(name)

    def _seed(self, name):
        module = sys.modules.get(name)
        try:
            if name == "random":
                module.seed(self.seed)
            elif name == "numpy":
                module.random.seed(self.seed % 2**32)
            else:
                module.manual_seed(self.seed)  # CUDA's generators as well, now or when CUDA starts
        except Exception:
            return  # half imported, or not the package that the name promises: it is not in the list
        if name not in self.seeded:
            self.seeded.append(name)

    def notes(self):
        """For the record.

        The generators that were seeded and with what, the packages whose import raised, and whether the deterministic mode is on.
        """
        notes = {}
        if self.seeded:
            notes["seed"] = self.seed
            notes["seeded"] = self.seeded + (["cuda"] if "torch" in self.seeded and gpu.torch_with_cuda() else [])
        if self.broken:
            notes["packages_broken"] = dict(self.broken)
        if self.deterministic:
            notes["deterministic"] = "torch and cuDNN" if self.is_deterministic else "not applied: torch is not loaded"
        return notes
