"""Cases under profilers, with a stand-in for torch that says what reaches it."""
import json
import os
import tempfile

from .support import DriverTest, written

TORCH = """
import types
CALLS = []
cuda = types.SimpleNamespace(is_available=lambda: False)
cuda.nvtx = types.SimpleNamespace(range_push=lambda name: CALLS.append("push " + name), range_pop=lambda: CALLS.append("pop"))
"""
PROFILER = """
import enum, json, torch

class ProfilerActivity(enum.Enum):
    CPU, CUDA = 0, 1

class Averages:
    def table(self, sort_by, row_limit):
        return "sorted by %s" % sort_by

class profile:
    def __init__(self, activities, record_shapes, profile_memory):
        assert activities == [ProfilerActivity.CPU] and record_shapes and profile_memory
    def start(self):
        torch.CALLS.append("profiler on")
    def stop(self):
        torch.CALLS.append("profiler off")
    def export_chrome_trace(self, path):
        with open(path, "w") as file:
            json.dump({"traceEvents": [call for call in torch.CALLS if call == "call"]}, file)
    def key_averages(self, group_by_input_shape):
        return Averages()
"""
BENCH = """
import torch
class Bench:
    def benchmark_fn(self):
        torch.CALLS.append("call")
    def teardown(self):
        print("\\n".join(torch.CALLS))
"""
FILES = {"torch/__init__.py": TORCH, "torch/profiler.py": PROFILER, "b.py": BENCH}


class Watched(DriverTest):
    def profiled(self, files=FILES):
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: os.path.join(folder, name) for name in ("trace", "table")}
            told = written(files, ["b.py"], torch_profile=paths)
            texts = {}
            for name, path in paths.items():
                if os.path.exists(path):
                    with open(path) as file:
                        texts[name] = file.read()
        return told, texts

    def test_s0_23_s2_18_the_measured_calls_have_a_trace_and_a_table(self):
        told, texts = self.profiled()
        self.measured(told)
        calls = told.stdout.decode().split("\n")
        on, off = calls.index("profiler on"), calls.index("profiler off")
        self.assertEqual(calls[:on].count("call"), 2, "the warm-up is not in it")
        self.assertGreaterEqual(calls[on:off].count("call"), 3)
        self.assertEqual(calls[off:].count("call"), 0)
        self.assertIn("traceEvents", json.loads(texts["trace"]))
        self.assertEqual(texts["table"], "sorted by cpu_time_total\n")

    def test_s0_26_a_process_that_is_timed_has_neither_profiler_nor_ranges(self):
        told = written(FILES, ["b.py"])
        self.measured(told)
        self.assertEqual(set(told.stdout.decode().split()), {"call"})

    def test_s0_24_each_stage_is_a_range_in_a_process_that_is_watched(self):
        told = written(FILES, ["b.py"], environment={"GBENCH_NVTX": "1"})
        self.measured(told)
        calls = told.stdout.decode().split("\n")
        pushed = [call for call in calls if call.startswith("push")]
        self.assertEqual(pushed, ["push gbench: " + stage for stage in ("load", "setup", "warmup", "measure", "verify", "teardown")])
        self.assertEqual(calls.count("pop"), 5, "the last one is closed behind the teardown")

    def test_b35_a_stage_is_a_range_of_the_process_too_where_torch_has_such(self):
        torch = TORCH + 'cuda.nvtx.range_start = lambda name: CALLS.append("start " + name) or len(CALLS)\n' \
            + 'cuda.nvtx.range_end = lambda handle: CALLS.append("end of " + CALLS[handle - 1])\n'
        told = written(dict(FILES, **{"torch/__init__.py": torch}), ["b.py"], environment={"GBENCH_NVTX": "1"})
        self.measured(told)
        calls = told.stdout.decode().split("\n")
        begin = calls.index("start gbench: measure")
        end = calls.index("end of start gbench: measure")
        self.assertGreaterEqual(calls[begin:end].count("call"), 3)
        self.assertEqual((calls[begin - 1], calls[end + 1]), ("push gbench: measure", "pop"))

    def test_a_benchmark_without_torch_says_so(self):
        told, texts = self.profiled({"b.py": "class Bench:\n    def benchmark_fn(self):\n        pass\n"})
        self.failed(told, "profile", "has not imported torch")
        self.assertEqual(texts, {})
