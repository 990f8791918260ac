"""Keeps the cases of one process from each other: what a case changed in the process is put back before the next one.

Put back are the settings that Python and the numerical libraries hold in global variables. What cannot be put back (threads,
children, a trace function, a library that was loaded with other settings) is named, and the gate starts a fresh process for the
cases behind it.

A module that stays loaded for the next case of its file would not set again what was put back: `changed` says that it has to be
imported anew.
"""
import gc
import os
import signal
import sys
import warnings
from importlib.machinery import PathFinder

from . import libraries, originals
from .channel import file_of
from .loading import is_users

try:
    import _locale
except ImportError:  # an interpreter without locales has none to put back
    _locale = None
try:
    import resource
except ImportError:  # a system without limits
    resource = None

# Variables that libraries read once, when they are loaded. (torch itself sets CUDA_MODULE_LOADING.)
READ_ONCE = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "VECLIB_", "NUMEXPR_", "NUMBA_", "CUDA_", "CUBLAS_", "PYTORCH_", "TORCH_",
             "NVIDIA_", "NCCL_", "XLA_", "JAX_", "TF_")
_carried = []  # words for what a library of an earlier case of the same file was loaded with


class State:
    """The process as it is now. `root`: the folder of what is the user's. `names`: of what was put back in modules of Python's."""

    def __init__(self, root="/"):
        self.root, self.changed, self.names = root, False, []
        self.modules, self.finders = dict(sys.modules), sys.meta_path[:]
        self.limits = _limits()
        self.start_method = _start_method()
        self.environment = dict(os.environ)
        self.folder = _folder()
        self.path, self.arguments = sys.path[:], sys.argv[:]
        self.streams = sys.stdin, sys.stdout, sys.stderr
        self.files = [file_of(descriptor) for descriptor in range(3)]
        self.cores, self.nice, self.umask = _cores(), os.nice(0), _umask()
        self.excepthook, self.displayhook = sys.excepthook, sys.displayhook
        self.recursion = sys.getrecursionlimit()
        self.switching = sys.getswitchinterval()
        self.collecting, self.thresholds = originals.collector_is_on(), gc.get_threshold()
        self.warnings = warnings.filters[:]
        self.signals = {number: signal.getsignal(number) for number in signal.valid_signals()}
        self.locale = _locale.setlocale(_locale.LC_ALL, None) if _locale else None
        libraries.keep("numpy")
        libraries.keep("torch")
        libraries.keep_standard()

    def put_back(self, for_same_file=False):
        """Restores the state, and returns words for what could not be restored.

        `for_same_file`: the next case is of the same file, and wants libraries as that file has had them loaded.
        """
        left = []
        _carried.extend(self._loaded_with_others())
        if not for_same_file:
            left += _carried
            _carried.clear()
        if sys.gettrace() is not None:
            sys.settrace(None)
            left.append("a trace function (sys.settrace)")
        if sys.getprofile() is not None:
            sys.setprofile(None)
            left.append("a profile function (sys.setprofile)")
        for what, restore in self._steps():
            try:
                restore()
            except BaseException as failure:
                left.append("%s: %s" % (what, type(failure).__name__))
        if any(stream is not None and stream.closed for stream in self.streams):
            left.append("a closed sys.stdin, sys.stdout or sys.stderr")
        if [file_of(descriptor) for descriptor in range(3)] != self.files:
            left.append("another file at descriptor 0, 1 or 2")
        if os.nice(0) != self.nice:
            left.append("another priority (os.nice)")
        return left + self._modules() + self._functions()

    def _steps(self):
        return (
            ("environment", self._environment),
            ("working folder", lambda: os.chdir(self.folder)),
            ("sys", self._sys),
            ("processor cores", lambda: _cores() == self.cores or os.sched_setaffinity(0, self.cores)),
            ("umask", lambda: os.umask(self.umask)),
            ("garbage collector", self._collector),
            ("warnings", self._warnings),
            ("signal handlers", self._signals),
            ("timers", self._timers),
            ("locale", lambda: _locale and _locale.setlocale(_locale.LC_ALL, self.locale)),
            ("settings of libraries", libraries.put_back),
            ("what torch has compiled", libraries.forget_compiled),
            ("import finders", self._finders),
            ("limits of resources", self._limits),
            ("start method of multiprocessing", self._start_method),
        )

    def _loaded_with_others(self):
        """Words for libraries that were loaded while this case ran, with variables that it had changed by then."""
        words = []
        for library, environment in libraries.environments.items():
            names = sorted(name for name in set(environment) | set(self.environment) if name.startswith(READ_ONCE)
                           and name != "CUDA_MODULE_LOADING" and environment.get(name) != self.environment.get(name))
            if names and library in sys.modules and library not in self.modules:
                words.append("%s loaded with another %s" % (library, ", ".join(names)))
        return words

    def _modules(self):
        """Puts back modules that were replaced in `sys.modules`, and takes out made-up ones that hide one that is installed."""
        left = []
        for name, module in self.modules.items():
            now = sys.modules.get(name)
            if now is not module and not is_users(getattr(module, "__file__", None), self.root):
                sys.modules[name] = module
                if now is not None:
                    left.append("another module as sys.modules[%r]" % name)
        for name in [name for name in sys.modules if name not in self.modules and "." not in name]:
            module = sys.modules[name]
            if getattr(module, "__spec__", None) is None and getattr(module, "__file__", None) is None and _is_installed(name):
                del sys.modules[name]
                left.append("another module as sys.modules[%r]" % name)
        return left

    def _functions(self):
        changed, left = libraries.put_back_functions(self.root)
        self.names = libraries.put_back_standard(self.root)
        self.changed = self.changed or changed or bool(self.names)
        return left

    def _finders(self):
        """Without those of the user's; one of a library that stays loaded has to stay as well."""
        kept = [finder for finder in sys.meta_path if finder in self.finders or not self._is_users(finder)]
        if any(finder not in kept for finder in self.finders):
            kept = self.finders + [finder for finder in kept if finder not in self.finders]
        if kept != sys.meta_path:
            sys.meta_path[:] = kept
            self.changed = True

    def _is_users(self, finder):
        kind = finder if isinstance(finder, type) else type(finder)
        return is_users(getattr(sys.modules.get(kind.__module__), "__file__", None), self.root)

    def _limits(self):
        for kind, limit in _limits().items():
            if limit != self.limits[kind]:
                resource.setrlimit(kind, self.limits[kind])
                self.changed = True

    def _start_method(self):
        if _start_method() is not self.start_method:
            sys.modules["multiprocessing.context"]._default_context._actual_context = self.start_method
            self.changed = True

    def _environment(self):
        if dict(os.environ) != self.environment:
            self.changed = True
            os.environ.clear()
            os.environ.update(self.environment)

    def _sys(self):
        # Not the import finders: a library that stays loaded may need its own.
        sys.path[:], sys.argv[:] = self.path, self.arguments
        sys.stdin, sys.stdout, sys.stderr = self.streams
        sys.excepthook, sys.displayhook = self.excepthook, self.displayhook
        sys.setrecursionlimit(self.recursion)
        sys.setswitchinterval(self.switching)

    def _collector(self):
        (originals.collector_on if self.collecting else originals.collector_off)()
        gc.set_threshold(*self.thresholds)

    def _warnings(self):
        warnings.filters[:] = self.warnings
        getattr(warnings, "_filters_mutated", lambda: None)()

    def _signals(self):
        for number, handler in self.signals.items():
            if signal.getsignal(number) is not handler and handler is not None:
                signal.signal(number, handler)

    def _timers(self):
        signal.alarm(0)
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)


def _limits():
    """The limits of this process by their kind."""
    kinds = {value for name, value in vars(resource).items() if name.startswith("RLIMIT_")} if resource else ()
    return {kind: resource.getrlimit(kind) for kind in kinds}


def _start_method():
    """How multiprocessing starts its children, as far as that is settled."""
    return getattr(getattr(sys.modules.get("multiprocessing.context"), "_default_context", None), "_actual_context", None)


def _is_installed(name):
    """Whether an import would find a module of that name."""
    try:
        return name in sys.builtin_module_names or PathFinder.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _cores():
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


def _umask():
    """The mask; it can be read only by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _folder():
    try:
        return os.getcwd()
    except OSError:  # the folder is gone
        return "/"
