"""What a case really ran on, and the memory it took there.

A row that says "cuda" and ran on the CPU is worse than no row: it is an error here, by what torch knows of its own allocations
and by where the result lies, never by the source text.
"""
import os
import sys

from . import gpu
from .failures import cuda_is_there, error, skip
from .other_devices import is_mapped

# Other libraries than torch that may have used a GPU: where one is loaded, the driver does not know what ran.
OTHERS = ("jax", "cupy", "numba.cuda", "tensorflow", "pycuda", "cuda", "onnxruntime", "tvm", "paddle", "mxnet")
PACKAGE_OF = {"pytorch": "torch", "jax": "jax"}


def check_backend(backend):
    """A skip where this machine does not have the backend."""
    if backend == "cuda" and not cuda_is_there():
        raise skip("needs a CUDA device, and there is none")
    if backend == "rocm" and not os.path.exists("/dev/kfd"):
        raise skip("needs a ROCm device, and there is none")
    if backend in PACKAGE_OF and not _importable(PACKAGE_OF[backend]):
        raise skip("%s is not installed" % PACKAGE_OF[backend])


def _importable(name):
    import importlib.util
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class Used:
    """The device of a case, after its measured calls. `name` is None where it is not known."""

    def __init__(self, subject, timer):
        self.subject = subject
        self.own = getattr(timer, "own_bytes", 0)
        torch = gpu.torch_with_cuda()
        self.cuda = getattr(timer, "cuda", None) or (gpu.Cuda(torch) if torch is not None and gpu.Cuda(torch).used() else None)
        self.on_cuda = self.cuda is not None and (bool(self.cuda.used()) or getattr(timer, "returns_cuda", False))
        if self.on_cuda:
            self.name = self.cuda.name()
        else:
            by_torch_alone = "torch" in sys.modules and not any(name in sys.modules for name in OTHERS)
            self.name = "cpu" if by_torch_alone or not _gpu_library_is_loaded() else None

    def memory(self, alone):
        """The keys of the event `memory`, and notes. Host memory only where the process has one case: its peak is the process's."""
        if self.on_cuda:
            peak, notes = self.cuda.memory(self.own)
            return {"device_peak_bytes": peak}, dict(notes, memory_from="torch.cuda.max_memory_allocated")
        peak = _host_peak() if alone else None
        return ({"host_peak_bytes": peak}, {"memory_from": "VmHWM of the process"}) if peak else ({}, {})

    def check(self, case):
        """An error where the case is labelled CUDA and evidently ran on the CPU."""
        if case["backend"] != "cuda" or case["way"] != "function":
            return
        label = "%s is listed for the backend cuda, but " % self.subject.what
        if not _gpu_library_is_loaded():
            raise error("wrong_device", label + "the process has not even loaded CUDA's library: it ran on the CPU")
        if gpu.device_of(self.subject.call()) == "cpu":
            raise error("wrong_device", label + "its result lies on the CPU")
        if self.name == "cpu":
            raise error("wrong_device", label + "it allocated nothing on a CUDA device")


def _gpu_library_is_loaded():
    """Whether this process has the driver library of a GPU in its memory; without it no GPU can be reached."""
    return is_mapped("libcuda.so", "libamdhip64", "libhsa-runtime")


def _host_peak():
    """Peak resident memory of this process in bytes."""
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass  # not a Linux /proc: not measured
    return None
