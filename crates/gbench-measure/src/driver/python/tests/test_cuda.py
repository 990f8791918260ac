"""What the driver does on a GPU, with a stand-in for torch whose one device is scripted (fixtures/python/fakes/gpu)."""
import os
import tempfile

from .support import DriverTest, FIXTURES, drive, function, in_a_quiet_moment, pair, single, written

GPU = {"path": ["../fakes/gpu"]}
# The driver asks for a device before it imports a module; here the interpreter itself loads the stand-in.
PRELOADED = {"PYTHONPATH": os.path.join(FIXTURES, "fakes", "preloaded") + ":" + os.path.join(FIXTURES, "fakes", "gpu")}


def options(**more):
    return dict(GPU, **more)


class Events(DriverTest):
    def around(self, told, seconds):
        """The device is played by the host's clock, so a busy machine only adds to it."""
        self.takes(min(told.values()), seconds * 0.95, seconds * 1.3)

    @in_a_quiet_moment
    def test_s0_45_s2_23_s3_5_work_on_a_device_is_timed_by_its_events(self):
        told = single(pair("on_cuda.py", params={"milliseconds": 2.0}), "timing", options=GPU)
        self.measured(told)
        self.assertEqual(told.notes()["calls_per_sample"], 1)
        with self.on_a_quiet_machine():
            self.assertEqual(told.notes()["clock"], "cuda_events")
        self.around(told, 0.002)
        self.assertEqual(told.one("memory"), {"event": "memory", "device_peak_bytes": 1024})
        self.assertIn("cuda:Scripted GPU", [event.get("device") for event in told.of("metadata")])

    def test_b12_a_device_of_rocm_is_not_called_cuda(self):
        told = single(pair("on_cuda.py"), "timing", options=GPU, environment={"FAKE_TORCH_HIP": "6.4"})
        self.assertIn("rocm:Scripted GPU", [event.get("device") for event in told.of("metadata")])

    def test_s0_37_s1_8_memory_of_the_device_is_what_torch_says(self):
        told = single(pair("on_cuda.py"), "timing", options=GPU)
        self.assertEqual(told.one("memory"), {"event": "memory", "device_peak_bytes": 1024})
        notes = told.notes()
        self.assertEqual((notes["device_allocated_bytes"], notes["device_reserved_bytes"], notes["device_peak_reserved_bytes"]), (1024,) * 3)
        self.assertEqual(notes["memory_from"], "torch.cuda.max_memory_allocated")

    @in_a_quiet_moment
    def test_s0_45_s2_23_s3_5_work_on_another_stream_is_seen_by_the_wall_clock(self):
        told = single(pair("on_cuda.py", params={"milliseconds": 2.0, "side": True}), "timing", options=GPU)
        self.measured(told)
        with self.on_a_quiet_machine():
            self.assertEqual(told.notes()["clock"], "perf_counter_ns")
            self.assertIn("outside of the current stream", told.notes().get("off_stream", ""))
        self.around(told, 0.002)

    @in_a_quiet_moment
    def test_short_work_is_repeated_within_a_sample(self):
        told = single(pair("on_cuda.py", params={"milliseconds": 0.001}), "timing", options=GPU)
        self.measured(told)
        with self.on_a_quiet_machine():
            self.assertGreater(told.notes()["calls_per_sample"], 1)

    @in_a_quiet_moment
    def test_s2_23_the_wall_clock_waits_for_the_device(self):
        told = single(pair("on_cuda.py", params={"milliseconds": 2.0}), "timing", options=options(mode="perf_counter"))
        self.assertEqual(told.notes()["clock"], "perf_counter_ns")
        self.around(told, 0.002)

    @in_a_quiet_moment
    def test_one_cold_call_is_timed_by_the_wall_clock(self):
        told = single(pair("on_cuda.py"), "timing", options=GPU, cold=True)
        self.measured(told, 1)
        self.assertEqual(told.notes()["clock"], "perf_counter_ns")
        self.takes(told.values()[0], 0.0019, 0.05)

    def test_s3_7_the_cache_is_flushed_before_each_sample(self):
        told = single(pair("on_cuda.py"), "timing", options=options(flush_l2=True))
        self.measured(told)
        self.assertEqual(told.notes()["flush_l2"], "2048 bytes written before each sample")

    def test_events_replaced_by_the_benchmark_fail_the_case(self):
        self.failed(single(pair("patches_events.py"), "timing", options=GPU), "patched_clock", "torch.cuda.Event.elapsed_time", "patches_events.py")

    def test_s0_47_do_bench_gives_all_its_samples(self):
        told = single(pair("on_cuda.py"), "timing", options=options(mode="do_bench"))
        self.assertEqual(told.values(), [0.0015, 0.0025])
        self.assertEqual(told.notes()["clock"], "do_bench")

    def test_b35_under_a_profiler_a_sample_is_one_call_and_nothing_of_the_driver_is_launched(self):
        for mode in "auto", "cuda_events", "do_bench":
            with tempfile.NamedTemporaryFile("r") as seen:
                told = single(pair("on_cuda.py", params={"milliseconds": 0.001}), "timing", options=options(mode=mode, flush_l2=True),
                              profiled=True, environment={"FAKE_TORCH_LAUNCHES": seen.name})
                self.measured(told)
                self.assertEqual({line for line in seen.read().split("\n") if line.startswith("run")}, {"run work"})
            self.assertEqual((told.notes()["clock"], told.notes()["calls_per_sample"]), ("perf_counter_ns", 1))
        # In a process that is timed, the same look finds them.
        with tempfile.NamedTemporaryFile("r") as seen:
            single(pair("on_cuda.py", params={"milliseconds": 0.001}), "timing", options=options(flush_l2=True),
                   environment={"FAKE_TORCH_LAUNCHES": seen.name})
            launched = seen.read()
        self.assertIn("spin_kernel", launched)
        self.assertIn("vectorized_elementwise_kernel", launched)

    def test_the_choices_of_autotuners_are_noted_by_kernel(self):
        text = ("from triton.runtime.autotuner import Autotuner, Config\n"
                "def scale(n): pass\ndef never(n): pass\n"
                "tuned = Autotuner(scale, [Config({'BLOCK': 64}), Config({'BLOCK': 128}, num_warps=8)], ['n'])\n"
                "idle = Autotuner(never, [Config({})], [])\n"
                "class Bench:\n    def benchmark_fn(self):\n        tuned(2)\n        tuned(3)\n")
        told = written({"b.py": text}, ["b.py"], environment=PRELOADED)
        self.assertEqual(told.notes()["autotuned"],
                         {"scale": ["BLOCK: 128, num_warps: 8, num_stages: 3", "BLOCK: 64, num_warps: 4, num_stages: 3"]})

    def test_b37_an_old_do_bench_gives_quantiles_and_the_record_says_so(self):
        told = single(pair("on_cuda.py"), "timing", options=options(mode="do_bench"), environment={"FAKE_TRITON": "3.1.0"})
        self.assertEqual((min(told.values()), max(told.values()), len(told.values())), (0.0015, 0.0025, 21))
        self.assertNotEqual(told.values(), sorted(told.values()))
        self.assertIn("quantiles of its samples: triton 3.1.0", told.notes()["do_bench"])

    def test_do_bench_is_not_mixed_with_what_it_does_not_do(self):
        told = single(pair("on_cuda.py"), "timing", options=options(mode="do_bench"), cold=True)
        self.failed(told, "mode", "`do_bench` warms up")
        told = single(pair("on_cuda.py"), "timing", options=options(mode="do_bench", fresh_inputs=True))
        self.assertIn("not applied", told.notes()["fresh_inputs"])

    def test_s3_23_one_failing_question_loses_no_other(self):
        notes = single(pair("on_cuda.py"), "timing", options=GPU).notes()
        self.assertEqual((notes["torch"], notes["torch_cuda"], notes["gpus"]), ("2.9.0+cu130", "13.0", ["Scripted GPU"]))
        self.assertIn("cuDNN cannot be loaded", notes["cudnn_unknown"])

    def test_two_cases_on_the_device_both_measure(self):
        told = drive([pair("on_cuda.py"), pair("on_cuda.py", params={"side": True})], "timing", options=GPU)
        self.assertEqual([len(told.values(case=case)) for case in (0, 1)], [3, 3])


class Ranges(DriverTest):
    def test_s0_71_a_range_reaches_nvtx_and_is_closed_by_an_exception(self):
        told = single(pair("ranges.py"), "timing", options=GPU)
        self.measured(told)
        self.assertEqual(told.one("validation"), {"event": "validation", "passed": True})

    def test_s0_71_without_nvtx_a_range_does_nothing(self):
        self.measured(single(pair("ch2/baseline_author.py", params={"n": 5})))
        told = single(pair("ranges.py"), "timing", options={"path": ["../fakes/cpu"]})
        self.measured(told)
        self.assertEqual(told.one("validation"), {"event": "validation", "passed": True})


class Labels(DriverTest):
    def run_labelled(self, **params):
        return single(function("labelled.py", params=params, backend="cuda"), "timing", environment=PRELOADED)

    def test_s1_30_a_row_for_cuda_that_ran_on_the_cpu_is_an_error(self):
        self.failed(self.run_labelled(where="cpu", reaches=False), "wrong_device", "CUDA's library", "run_benchmark() in labelled.py")
        self.failed(self.run_labelled(where="cpu"), "wrong_device", "its result lies on the CPU")
        self.failed(self.run_labelled(where="nowhere"), "wrong_device", "it allocated nothing")
        self.measured(self.run_labelled(where="cuda"))


class Deterministic(DriverTest):
    def test_s0_28_the_mode_is_on_before_the_modules_own_code(self):
        told = single(pair("deterministic.py"), "timing", options=options(deterministic=True))
        self.measured(told)
        self.assertEqual(told.one("validation"), {"event": "validation", "passed": True})
        self.assertEqual(told.notes()["deterministic"], "torch and cuDNN")
        self.assertFalse(single(pair("deterministic.py"), "timing", options=GPU).one("validation")["passed"])

    def test_s0_28_an_operation_that_refuses_is_said_to(self):
        told = single(pair("deterministic.py", params={"refuse": True}), "timing", options=options(deterministic=True))
        self.failed(told, "nondeterministic_operation", "scatter_add_cuda")

    def test_s0_27_cuda_is_among_the_seeded(self):
        told = single(pair("on_cuda.py"), "timing", options=GPU)
        self.assertEqual(told.notes()["seeded"][-2:], ["torch", "cuda"])


class Without(DriverTest):
    def test_s0_69_asking_for_a_gpu_where_there_is_none_is_a_skip(self):
        told = single(pair("cuda_required.py"), "timing", options={"path": ["../fakes/cpu"]})
        self.skipped(told, "needs a CUDA device: CUDA required for this benchmark")

    def test_s0_69_the_same_words_where_there_is_one_are_an_error(self):
        self.failed(single(pair("cuda_required.py"), "timing", options=GPU), "RuntimeError", "CUDA required")

    def test_s0_30_a_package_whose_import_raises_is_recorded_and_the_run_goes_on(self):
        told = single(pair("import_fails_broken_package.py"), "misbehaving", options={"path": ["../fakes/broken"]})
        self.measured(told)
        self.assertEqual(told.notes()["packages_broken"], {"torch": "OSError: libcudart.so.12: cannot open shared object file"})

    def test_modes_that_need_what_is_not_there_are_skipped_and_never_timed_otherwise(self):
        for mode, words in (("cuda_events", "CUDA events"), ("do_bench", "triton is not installed"), ("torch_timer", "torch is not installed")):
            self.skipped(single(pair("ch2/baseline_minimal.py"), options={"mode": mode}), words)
        self.skipped(single(pair("ch2/baseline_minimal.py"), options={"cuda_graph": True}), "CUDA graph")

    def test_s3_7_a_flush_without_a_gpu_is_said_not_to_be_applied(self):
        told = single(pair("ch2/baseline_minimal.py"), options={"flush_l2": True})
        self.measured(told)
        self.assertEqual(told.notes()["flush_l2"], "not applied: no CUDA device")
