"""Where imported code comes from.

In a comparison of commits each side is measured in a tree of its own. Code that is imported from the user's checkout instead (an
editable install, `PYTHONPATH`, an absolute path) is the same on both sides, and no change of it would ever be seen.
"""
import os
import sys

from .failures import error
from .loading import is_users

# Where compilers of kernels keep what they made, as in `gbench_model::KERNEL_CACHES`. Triton imports its launchers from there.
KERNEL_CACHES = ("CUDA_CACHE_PATH", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "NUMBA_CACHE_DIR")


def is_within(path, folder):
    return path == folder or path.startswith(folder + os.sep)


class Provenance:
    """`tree`: the folders `own` and `checkout`, or None where there is one tree alone."""

    def __init__(self, tree):
        self.own, self.checkout = (os.path.realpath(tree[name]) for name in ("own", "checkout")) if tree else (None, None)
        # What lies in a cache was compiled from what this side has imported. The gate's own caches lie in the checkout's `.gbench`.
        caches = (os.environ.get(name) for name in KERNEL_CACHES)
        self.compiled = tuple(os.path.realpath(folder) + os.sep for folder in caches if folder)

    def python_path(self):
        """The folders of `PYTHONPATH`. Those of the checkout are left out, because they are not of this side."""
        folders = (os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry)
        return [folder for folder in folders if self.own is None or self.own == self.checkout or self._may_lead_to(os.path.realpath(folder))]

    def _may_lead_to(self, folder):
        return is_within(folder, self.own) or not is_within(folder, self.checkout)

    def told(self, failure):
        """The failure, with a word on a file that only the checkout has: git does not know it, so no tree has it."""
        path = getattr(failure, "filename", None)
        if self.checkout is None or not isinstance(failure, FileNotFoundError) or not isinstance(path, str):
            return failure
        below = os.path.relpath(os.path.realpath(path), self.own)
        if below.startswith(os.pardir) or not os.path.exists(os.path.join(self.checkout, below)):
            return failure
        return error(
            type(failure).__name__,
            "%s: %s is in your checkout and in no commit, so that the tree of this side lacks it: commit it, or let `build` make it"
            % (type(failure).__name__, below), failure)

    def check(self):
        """Raises where a module that is loaded now is the checkout's."""
        if self.checkout is None or self.own == self.checkout:
            return
        found = [(name, path) for name, path in ((name, self._of_checkout(name, module)) for name, module in list(sys.modules.items())) if path]
        for name, _ in found:
            # The next case of the process is asked for its own imports alone.
            sys.modules.pop(name, None)
        for name, path in found:
            raise error(
                "shared_code",
                "it imports `%s` from %s, which is your checkout and not the tree of this side: base and head would run the same "
                "code" % (name, path))

    def _of_checkout(self, name, module):
        """The file of a module that is the checkout's, or None."""
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or name == "__main__" or name.split(".")[0] == __name__.split(".")[0]:
            return None
        path = os.path.realpath(path)
        installed = {os.path.realpath(prefix) + os.sep for prefix in (sys.prefix, sys.base_prefix)}
        if path.startswith((self.own + os.sep,) + self.compiled) or any(path.startswith(prefix) and not self.checkout.startswith(prefix) for prefix in installed):
            return None
        return path if is_users(path, self.checkout) else None
