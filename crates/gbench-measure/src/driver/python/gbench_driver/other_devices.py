"""Waiting for devices that torch's CUDA module does not know of: CUDA used through cupy, numba or an own library, and torch's other accelerators.

A call that only puts work into a queue returns at once. Timed without waiting it would look endlessly fast, so the clock is stopped
when the device is idle.
"""
import sys

from .standard import standard

LIBRARY = "libcuda.so.1"


def is_mapped(*names):
    """Whether this process has one of these libraries in its memory; True where that cannot be known."""
    try:
        with open("/proc/self/maps", errors="replace") as file:
            return any(name in line for line in file for name in names)
    except OSError:
        return True


def find():
    """The function that waits and words for the record, or None where nothing has to be waited for."""
    return _accelerator_of_torch() or _cuda_context()


def _accelerator_of_torch():
    """An accelerator other than CUDA, by torch's own word."""
    accelerator = getattr(sys.modules.get("torch"), "accelerator", None)
    try:
        kind = accelerator.current_accelerator().type if accelerator.is_available() else None
    except Exception:
        return None  # no such module in this torch, or no accelerator
    return (accelerator.synchronize, "torch.accelerator.synchronize (%s)" % kind) if kind not in (None, "cuda", "cpu") else None


def _cuda_context():
    """The CUDA context of this thread, through the driver's library, if something has loaded that and made one."""
    if not is_mapped("libcuda.so"):
        return None
    try:
        ctypes = standard("ctypes")
        library = ctypes.CDLL(LIBRARY)
        context = ctypes.c_void_p()
        if library.cuCtxGetCurrent(ctypes.byref(context)) != 0 or not context.value:
            return None
        wait = library.cuCtxSynchronize
    except (ImportError, OSError, AttributeError):
        return None
    return wait, "cuCtxSynchronize"
