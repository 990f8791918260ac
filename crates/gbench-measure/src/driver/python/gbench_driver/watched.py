"""What profilers are shown of a case: ranges of its stages for NVIDIA's, and torch's own profiler around the measured calls.

Nothing of it happens unless the gate asks for it, which it does in processes whose times it throws away.
"""
import importlib
import os
import sys

from .failures import error


class StageRanges:
    """An NVTX range for each stage, where the process is to have them and torch is loaded and has them.

    Each is one of its thread and, where torch has such, one of the process: autograd launches kernels from another thread.
    """

    def __init__(self):
        self.wanted, self.open, self.of_process = os.environ.get("GBENCH_NVTX") == "1", None, None

    def enter(self, stage):
        self.leave()
        if not self.wanted:
            return
        nvtx = getattr(getattr(sys.modules.get("torch"), "cuda", None), "nvtx", None)
        try:
            nvtx.range_push("gbench: " + stage)
            self.open = nvtx
            self.of_process = nvtx.range_start("gbench: " + stage)
        except Exception:
            pass  # no NVTX in this torch, or no torch yet: the stage is not marked

    def leave(self):
        if self.open is not None:
            if self.of_process is not None:
                self.open.range_end(self.of_process)
            self.open.range_pop()
            self.open = self.of_process = None


class TorchProfile:
    """torch.profiler, where `files` name a trace and a table to write."""

    def __init__(self, files):
        self.files, self.profiler, self.on_cuda = files, None, False

    def start(self):
        if self.files is None:
            return
        torch = sys.modules.get("torch")
        if torch is None:
            raise error("profile", "torch's profiler was asked for, and the benchmark has not imported torch")
        try:
            module = importlib.import_module("torch.profiler")
            self.on_cuda = torch.cuda.is_available()
            kinds = [module.ProfilerActivity.CPU] + ([module.ProfilerActivity.CUDA] if self.on_cuda else [])
            self.profiler = module.profile(activities=kinds, record_shapes=True, profile_memory=True)
            self.profiler.start()
        except Exception as failure:
            raise error("profile", "torch's profiler cannot be started: %s" % failure, failure)

    def stop(self):
        """Writes what was seen."""
        if self.profiler is None:
            return
        profiler, self.profiler = self.profiler, None
        try:
            profiler.stop()
            profiler.export_chrome_trace(self.files["trace"])
            order = "cuda_time_total" if self.on_cuda else "cpu_time_total"
            table = profiler.key_averages(group_by_input_shape=True).table(sort_by=order, row_limit=100)
            with open(self.files["table"], "w", encoding="utf-8") as file:
                file.write(table + "\n")
        except Exception as failure:
            raise error("profile", "what torch's profiler saw cannot be written: %s" % failure, failure)
