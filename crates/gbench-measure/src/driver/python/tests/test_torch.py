"""Benchmarks with the real torch, on the CPU. Skipped where the interpreter has none.

`GBENCH_TEST_TORCH` names an interpreter with torch; without it the one of the other tests is asked.
"""
import os
import subprocess
import unittest

from .support import DriverTest, PYTHON, drive, function, in_a_quiet_moment, pair, written

TORCH = os.environ.get("GBENCH_TEST_TORCH", PYTHON)
HAS_TORCH = subprocess.run([TORCH, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0


@unittest.skipUnless(HAS_TORCH, "torch is not installed in " + TORCH)
class Torch(DriverTest):
    def single(self, case, **request):
        return drive([case], "torch", python=TORCH, **request)

    def test_s0_46_work_on_the_cpu_is_timed_by_the_wall_clock(self):
        told = self.single(function("gemm.py", params={"n": 64}))
        self.measured(told)
        self.assertEqual(told.notes()["clock"], "perf_counter_ns")
        # Without a device the gate takes it for the host.
        self.assertEqual([event["device"] for event in told.of("metadata") if event.get("device")], [])
        self.assertRegex(told.notes()["torch"], r"^\d+\.\d+")
        self.assertRegex(told.events[0]["notes"]["packages"]["torch"], r"^\d+\.\d+")

    @in_a_quiet_moment
    def test_s0_48_the_blocks_of_torchs_timer_are_the_samples(self):
        told = self.single(function("gemm.py", params={"n": 64}), duration=0.3, options={"mode": "torch_timer"},
                           environment={"OMP_NUM_THREADS": "1"})  # two threads would wait for each other on a busy machine
        self.measured(told, len(told.values()))
        self.assertGreater(len(told.values()), 1)
        notes = told.notes()
        self.assertEqual((notes["clock"], notes["calls_per_sample"]), ("torch_timer", notes["number_per_run"]))
        with self.on_a_quiet_machine():
            self.assertAlmostEqual(sum(told.values()) * notes["number_per_run"], 0.3, delta=0.2)

    @in_a_quiet_moment
    def test_s0_48_torchs_timer_makes_a_few_blocks_with_the_threads_that_torch_has(self):
        text = ("import time, torch\ntorch.set_num_threads(2)\nclass Bench:\n    def benchmark_fn(self):\n        time.sleep(%s)\n"
                "        assert torch.get_num_threads() == 2\n")
        for seconds, blocks in ((0.08, 5), (0.3, 5)):
            told = written({"b.py": text % seconds}, ["b.py"], python=TORCH, options={"mode": "torch_timer"})
            self.measured(told, len(told.values()))
            with self.on_a_quiet_machine():  # after some seconds two are enough
                self.assertEqual(len(told.values()), blocks)
            self.assertEqual(told.notes()["threads"], 2)
            self.assertIn("not applied: `torch_timer` goes by time", told.notes()["iterations"])

    def test_s1_10_tensors_are_compared_with_the_reference(self):
        told = self.single(function("gemm.py", params={"n": 16}, precision="bf16", tolerances={"max_error": 1e-6}))
        self.assertFalse(told.one("validation")["passed"])
        told = self.single(function("gemm.py", params={"n": 16}, precision="fp32", tolerances={"max_error": 1e-6}))
        self.assertTrue(told.one("validation")["passed"], told)

    def test_s0_27_torch_is_seeded_before_the_modules_own_code(self):
        def drawn(seed):
            told = self.single(pair("drawn.py"), seed=seed)
            self.assertIn("torch", told.notes()["seeded"])
            return told.values("at_import"), told.values("in_setup")

        self.assertEqual(drawn(7), drawn(7))
        self.assertNotEqual(drawn(7), drawn(8))

    def test_s0_28_the_deterministic_mode_is_on_before_the_modules_own_code(self):
        told = self.single(pair("drawn.py"), options={"deterministic": True})
        self.assertEqual(told.values("deterministic"), [1])
        self.assertEqual(self.single(pair("drawn.py")).values("deterministic"), [0])

    def test_s0_28_an_operation_that_refuses_is_said_to(self):
        told = self.single(function("refuses.py"), options={"deterministic": True})
        self.failed(told, "nondeterministic_operation", "deterministic")

    def test_s0_85_tensors_have_a_digest(self):
        told = self.single(function("gemm.py", params={"n": 16}, precision="bf16"), options={"check_determinism": True})
        self.assertEqual(told.notes()["determinism"], "two runs from one seed agree")

    def test_settings_of_torch_are_put_back(self):
        told = drive([pair("settings.py"), pair("settings.py")], "torch", python=TORCH)
        self.assertEqual([event["passed"] for event in told.of("validation")], [True, True])
        self.assertEqual(told.values("threads", 0), told.values("threads", 1))

    def test_s0_69_asking_torch_for_a_gpu_where_there_is_none_is_a_skip(self):
        told = self.single(pair("asks_for_cuda.py"))
        if told.of("skip"):
            self.skipped(told, "needs a CUDA device")
        else:
            self.measured(told)

    def test_s0_47_do_bench_without_a_gpu_is_a_skip(self):
        told = self.single(function("gemm.py", params={"n": 16}), options={"mode": "do_bench"})
        if told.of("skip"):
            self.assertRegex(told.one("skip")["reason"], "triton is not installed|needs a CUDA device")
        else:
            self.measured(told, len(told.values()))

    def test_s0_45_events_are_not_replaced_by_another_clock(self):
        told = self.single(function("gemm.py", params={"n": 16}), options={"mode": "cuda_events"})
        if told.of("skip"):
            self.skipped(told, "CUDA events")
        else:
            self.measured(told)
