"""What the driver asks of CUDA, through the torch that the benchmark itself has loaded.

The driver never imports torch: a benchmark without it must not pay seconds for it. The functions that time and wait are kept
as soon as torch has been imported, before the benchmark can replace them.
"""
import sys

from . import originals

MIB = 1024 * 1024
FLUSH_BYTES = 256 * MIB  # where the size of the L2 cache is unknown
_functions = {}


def keep(torch):
    """Remembers torch's clocks and waits."""
    cuda = getattr(torch, "cuda", None)
    if cuda is None or "synchronize" in _functions or not hasattr(cuda, "synchronize") or not hasattr(cuda, "Event"):
        return
    _functions["synchronize"] = cuda.synchronize
    _functions["Event"] = cuda.Event
    originals.keep("torch.cuda.Event", cuda, "Event")
    originals.keep("torch.cuda.synchronize", cuda, "synchronize")
    for name in ("elapsed_time", "record", "synchronize", "query"):
        originals.keep("torch.cuda.Event." + name, cuda.Event, name)
    for name in ("max_memory_allocated", "max_memory_reserved", "reset_peak_memory_stats"):
        originals.keep("torch.cuda." + name, cuda, name)


def torch_with_cuda():
    """The loaded torch if it has a CUDA device, else None."""
    torch = sys.modules.get("torch")
    try:
        return torch if torch is not None and torch.cuda.is_available() else None
    except BaseException:
        return None  # a broken torch; who uses it will fail with its own words


def device_of(value):
    """`cuda`, `cpu`, ... of a tensor, or of the first tensor in a list, tuple or dictionary; else None."""
    device = getattr(value, "device", None)
    kind = getattr(device, "type", None)
    if isinstance(kind, str):
        return kind
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return next((kind for kind in (device_of(entry) for entry in value[:16]) if kind), None)
    return None


def is_cuda(device):
    """Whether a benchmark's `device` attribute (text or torch.device) names CUDA."""
    return device is not None and str(device).split(":")[0] == "cuda"


class Cuda:
    """The CUDA devices that a case uses."""

    def __init__(self, torch):
        self.torch = torch
        keep(torch)
        self.wait, self.event = _functions["synchronize"], _functions["Event"]
        self.devices = self.used() or [torch.cuda.current_device()]

    def used(self):
        """The devices on which torch has allocated memory in this process."""
        cuda = self.torch.cuda
        if not cuda.is_initialized():
            return []
        return [device for device in range(cuda.device_count()) if cuda.max_memory_allocated(device) > 0]

    def synchronize(self):
        for device in self.devices:
            self.wait(device)

    def flush_buffer(self):
        """Memory of at least twice the L2 cache: writing it leaves nothing of the benchmark's in there."""
        size = getattr(self.torch.cuda.get_device_properties(self.devices[0]), "L2_cache_size", 0) * 2 or FLUSH_BYTES
        return self.torch.empty(size, dtype=self.torch.int8, device="cuda:%d" % self.devices[0])

    def reset_peak(self):
        for device in self.devices:
            self.torch.cuda.reset_peak_memory_stats(device)

    def memory(self, own):
        """Peak of allocated memory over the devices, without `own` bytes that the driver holds, and notes about what is allocated
        and reserved.
        """
        cuda, devices = self.torch.cuda, self.devices
        notes = {
            "device_allocated_bytes": sum(cuda.memory_allocated(device) for device in devices),
            "device_reserved_bytes": sum(cuda.memory_reserved(device) for device in devices),
            "device_peak_reserved_bytes": sum(cuda.max_memory_reserved(device) for device in devices),
        }
        return sum(cuda.max_memory_allocated(device) for device in devices) - own, notes

    def name(self):
        return "cuda:" + ", ".join(self.torch.cuda.get_device_name(device) for device in self.devices)
