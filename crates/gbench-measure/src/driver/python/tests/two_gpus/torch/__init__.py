"""A torch with two scripted devices: time on a stream is a number that work adds to, launches take the host's time, and memory is
counted as by torch's allocator. A stand-in for what the driver asks of torch and no more.
"""
import time

__version__ = "2.9.0+cu130"
int8 = "torch.int8"


class version:
    cuda = "13.0"


class backends:
    class cudnn:
        deterministic = benchmark = False

        @staticmethod
        def version():
            return 91000


def host(microseconds):
    """Keeps the processor busy."""
    until = time.perf_counter() + microseconds / 1e6
    while time.perf_counter() < until:
        pass


class _Stream:
    """When the work on a stream will be over, by the host's clock."""

    free_at = 0.0

    def put(self, seconds):
        self.free_at = max(self.free_at, time.perf_counter()) + seconds
        return self.free_at


class _Device:
    def __init__(self):
        self.main, self.side = _Stream(), _Stream()
        self.allocated = self.peak = self.count = 0


_devices = [_Device(), _Device()]
_current = [0]
_loaded = []  # kernels


def work(microseconds, side=False, device=None, launch=0):
    """Work on a device, which takes so long to launch."""
    host(launch)
    there = _devices[_current[0] if device is None else device]
    (there.side if side else there.main).put(microseconds / 1e6)


class _Where:
    def __init__(self, kind, index):
        self.type, self.index = kind, index


class Tensor:
    def __init__(self, size, device):
        kind, _, index = str(device).partition(":")
        self.size, self.device = size, _Where(kind, int(index or _current[0]))
        self.owner = _devices[self.device.index] if kind == "cuda" else _Device()
        self.owner.allocated += size
        self.owner.count += 1
        self.owner.peak = max(self.owner.peak, self.owner.allocated)

    def __del__(self):
        self.owner.allocated -= self.size

    def numel(self):
        return self.size

    def zero_(self):
        pass


def empty(size, dtype=None, device="cpu"):
    return Tensor(size, device)


class cuda:
    class device:
        def __init__(self, index):
            self.index = index

        def __enter__(self):
            self.before, _current[0] = _current[0], self.index

        def __exit__(self, *failure):
            _current[0] = self.before

    class Event:
        def __init__(self, enable_timing=False):
            self.at = self.device = None

        def record(self):
            self.device = _current[0]
            self.at = _devices[self.device].main.put(0.0)

        def elapsed_time(self, other):
            assert self.device == other.device, "events of two devices"
            return (other.at - self.at) * 1000

    @staticmethod
    def is_available():
        return True

    is_initialized = is_available

    @staticmethod
    def device_count():
        return len(_devices)

    @staticmethod
    def current_device():
        return _current[0]

    @staticmethod
    def get_device_name(device):
        return "Scripted GPU %d" % device

    @staticmethod
    def get_device_properties(device):
        class properties:
            L2_cache_size = 1000
            multi_processor_count = 7
        return properties

    @staticmethod
    def synchronize(device=None):
        there = _devices[_current[0] if device is None else device]
        while time.perf_counter() < max(there.main.free_at, there.side.free_at):
            pass

    @staticmethod
    def current_stream(device=None):
        class stream:
            @staticmethod
            def query():
                return time.perf_counter() >= _devices[_current[0] if device is None else device].main.free_at
        return stream

    @staticmethod
    def _sleep(cycles):
        # As with CUDA's lazy loading: the host is kept while events are already stamped.
        if not _loaded:
            _loaded.append("sleep")
            host(5000)
        _devices[_current[0]].main.put(cycles / 1e9)

    @staticmethod
    def memory_allocated(device=0):
        return _devices[device].allocated

    memory_reserved = memory_allocated

    @staticmethod
    def max_memory_allocated(device=0):
        return _devices[device].peak

    max_memory_reserved = max_memory_allocated

    @staticmethod
    def memory_stats(device=0):
        return {"allocation.all.allocated": _devices[device].count}

    @staticmethod
    def reset_peak_memory_stats(device=0):
        _devices[device].peak = _devices[device].allocated

    @staticmethod
    def empty_cache():
        pass


def manual_seed(seed):
    pass
