"""What the driver asks of CUDA, through the torch that the benchmark itself has loaded.

The driver never imports torch: a benchmark without it must not pay seconds for it. The functions that time and wait are kept
as soon as torch has been imported, before the benchmark can replace them.
"""
import sys

from . import originals

MIB = 1024 * 1024
FLUSH_BYTES = 256 * MIB  # where the size of the L2 cache is unknown
_functions = {}
_before = {}  # by device: what the allocator said when the case began


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
        _functions[name] = getattr(cuda, name, None)


def torch_with_cuda():
    """The loaded torch if it has a CUDA device, else None."""
    torch = sys.modules.get("torch")
    try:
        return torch if torch is not None and torch.cuda.is_available() else None
    except BaseException:
        return None  # a broken torch; who uses it will fail with its own words


def begin_case():
    """Remembers what earlier cases of the process have done on the devices, so that it is not taken for this case's."""
    _before.clear()
    torch = torch_with_cuda()
    if torch is None or not torch.cuda.is_initialized():
        return
    keep(torch)
    for device in range(torch.cuda.device_count()):
        _functions["reset_peak_memory_stats"](device)
        _before[device] = torch.cuda.memory_allocated(device), _allocations(torch, device)


def _allocations(torch, device):
    """How often memory was allocated on the device; 0 where the allocator does not count."""
    try:
        return torch.cuda.memory_stats(device).get("allocation.all.allocated", 0)
    except Exception:
        return 0  # another allocator, or an older torch


def holding(torch):
    """The devices on which there is memory, also of an earlier case: work may be under way there without anything being allocated."""
    if not torch.cuda.is_initialized():
        return []
    return [device for device in range(torch.cuda.device_count()) if torch.cuda.memory_allocated(device) > 0]


def device_of(value):
    """`cuda`, `cpu`, ... of a tensor, or of the first tensor in a list, tuple or dictionary; else None."""
    try:
        kind = getattr(getattr(value, "device", None), "type", None)
    except Exception:
        return None  # an attribute that refuses to be read
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
        """The devices on which torch has allocated memory since the case began."""
        cuda = self.torch.cuda
        if not cuda.is_initialized():
            return []
        found = []
        for device in range(cuda.device_count()):
            held, count = _before.get(device, (0, 0))
            if cuda.max_memory_allocated(device) > held or _allocations(self.torch, device) > count:
                found.append(device)
        return found

    def synchronize(self):
        for device in self.devices:
            self.wait(device)

    def record(self, event):
        """On the current stream of the case's device, which need not be the current device."""
        self._there(event.record)

    def is_idle(self):
        """Whether the current stream has nothing left to do."""
        return self.torch.cuda.current_stream(self.devices[0]).query()

    def can_sleep(self):
        return hasattr(self.torch.cuda, "_sleep")

    def sleep(self, cycles):
        """Keeps the current stream busy."""
        self._there(lambda: self.torch.cuda._sleep(cycles))

    def _there(self, act):
        device = self.devices[0]
        if device == self.torch.cuda.current_device():
            act()
        else:
            with self.torch.cuda.device(device):
                act()

    def flush_buffer(self):
        """Memory of at least twice the L2 cache: writing it leaves nothing of the benchmark's in there."""
        size = getattr(self.torch.cuda.get_device_properties(self.devices[0]), "L2_cache_size", 0) * 2 or FLUSH_BYTES
        return self.torch.empty(size, dtype=self.torch.int8, device="cuda:%d" % self.devices[0])

    def reset_peak(self):
        for device in self.devices:
            self.torch.cuda.reset_peak_memory_stats(device)

    def memory(self, own):
        """Peak of allocated memory over the devices since the last `reset_peak`, without `own` bytes that the driver holds, and notes
        about what is allocated and reserved.
        """
        cuda, devices = self.torch.cuda, self.devices
        notes = {
            "device_allocated_bytes": sum(cuda.memory_allocated(device) for device in devices),
            "device_reserved_bytes": sum(cuda.memory_reserved(device) for device in devices),
            "device_peak_reserved_bytes": sum(cuda.max_memory_reserved(device) for device in devices),
        }
        return sum(cuda.max_memory_allocated(device) for device in devices) - own, notes

    def name(self):
        """ROCm's torch calls its devices `cuda`, too."""
        kind = "rocm:" if getattr(self.torch.version, "hip", None) else "cuda:"
        return kind + ", ".join(self.torch.cuda.get_device_name(device) for device in self.devices)
