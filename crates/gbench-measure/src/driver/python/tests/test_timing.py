"""How long is measured, how often, and by which clock."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

from .support import DriverTest, FIXTURES, START, drive, function, in_a_quiet_moment, pair, single, written

# It waits and does not work: on a busy machine that takes little longer, and finding out how many calls a sample needs takes as
# small a share of a duration as ever.
SLEEPS = """
import time
class Bench:
    calls = 0
    def benchmark_fn(self):
        self.calls += 1
        time.sleep(0.001)
    def get_custom_metrics(self):
        return {"calls": self.calls}
"""


class Amount(DriverTest):
    def sleeping(self, **request):
        return written({"b.py": SLEEPS}, ["b.py"], **request)

    @in_a_quiet_moment
    def test_s0_46_the_wall_clock_is_named(self):
        told = single(pair("ch2/baseline_minimal.py"))
        self.assertEqual(told.notes()["clock"], "perf_counter_ns")
        with self.on_a_quiet_machine():
            self.assertGreater(told.notes()["calls_per_sample"], 100)

    @in_a_quiet_moment
    def test_a_long_call_is_a_sample_of_its_own(self):
        told = single(function("known.py", function="sleeps"), "timing")
        self.measured(told)
        self.assertEqual(told.notes()["calls_per_sample"], 1)
        for value in told.values():
            self.takes(value, 0.02, 0.2)

    def test_without_warm_up_a_long_first_call_counts(self):
        told = single(pair("counts.py"), "timing", warmup=0, iterations=4)
        self.measured(told, 4)
        self.assertEqual(told.values("calls"), [4])

    def test_warm_up_calls_do_not_count(self):
        told = single(pair("counts.py"), "timing", warmup=5, iterations=4)
        self.measured(told, 4)
        self.assertEqual(told.values("calls"), [9])

    def test_s0_54_cold_is_one_call_and_nothing_before_it(self):
        told = single(pair("counts.py"), "timing", cold=True)
        self.measured(told, 1)
        self.assertEqual(told.values("calls"), [1])

    @in_a_quiet_moment
    def test_s4_24_a_duration_is_kept_to_a_tenth(self):
        told = self.sleeping(duration=0.5, iterations=20)
        calls = told.notes()["calls_per_sample"]
        with self.on_a_quiet_machine():
            self.assertAlmostEqual(sum(told.values()) * calls, 0.5, delta=0.1)
            self.assertGreater(len(told.values()), 4)

    @in_a_quiet_moment
    def test_s4_24_few_samples_do_not_stretch_a_duration(self):
        told = self.sleeping(duration=1.0, iterations=2)
        with self.on_a_quiet_machine():
            self.assertGreaterEqual(len(told.values()), 3)
            # Finding out how many calls a sample needs takes a part of it, too.
            self.assertTrue(0.4 < sum(told.values()) * told.notes()["calls_per_sample"] < 1.2, told.values())

    def test_a_duration_shorter_than_two_calls_still_has_two_samples(self):
        self.measured(single(function("known.py", function="sleeps"), "timing", duration=0.001), 2)

    @in_a_quiet_moment
    def test_s4_25_a_burn_in_goes_by_time(self):
        told = self.sleeping(burnin=0.3, warmup=0, iterations=3)
        self.measured(told)
        with self.on_a_quiet_machine():  # the calls of the burn-in may have been slower than the measured ones
            self.assertGreater(told.values("calls")[0] * statistics.median(told.values()), 0.1)

    def test_b24_each_sample_of_a_long_call_is_sent_before_the_next_call(self):
        told = single(function("known.py", function="slow"), "timing", iterations=4, warmup=0)
        self.measured(told, 4)
        self.assertEqual(len(told.of("samples")), 4)

    def test_s3_27_fresh_inputs_before_each_sample(self):
        told = single(pair("fresh.py"), "timing", iterations=4, warmup=1, options={"fresh_inputs": True})
        self.measured(told, 4)
        self.assertEqual(told.values("setups"), [6], "one at first, one for the warm-up call, one a sample")
        self.assertEqual(told.notes()["calls_per_sample"], 1)

    def test_the_collector_is_off_while_calls_are_measured(self):
        self.assertTrue(single(pair("garbage.py"), "timing").one("validation")["passed"])


class TriedAgain(DriverTest):
    def test_only_what_a_busy_machine_can_break_is_tried_again(self):
        tries = []

        @in_a_quiet_moment
        def takes(test, *seconds):
            tries.append(seconds[min(len(tries), len(seconds) - 1)])
            test.takes(tries[-1], 1.0, 2.0)

        takes(self, 2.5, 2.0, 1.5)
        self.assertEqual(tries, [2.5, 2.0, 1.5])
        tries.clear()
        with self.assertRaisesRegex(AssertionError, "0.5 not greater than or equal to 1.0"):
            takes(self, 2.5, 0.5)
        self.assertEqual(tries, [2.5, 0.5], "a fault is told at once, also at a later try")


BESIDE_TIMEIT = """
import statistics, sys, timeit
sys.path[:0] = sys.argv[1:]
from gbench_driver import settings, wall
import known
class Request: iterations, warmup, duration, burnin, cold, pinned = 40, 20, 0.0, 0.0, False, []
class Samples:
    def __init__(self): self.values = []
    def add(self, value): self.values.append(value)
own, other = [], []
for _ in range(7):
    samples = Samples()
    timer = wall.Wall(known.ten_microseconds, settings.Settings(Request, {"iterations": None, "warmup": None}), lambda value, counts: False)
    timer.warm_up()
    timer.measure(samples)
    own.append(min(samples.values))
    other.append(min(timeit.repeat(known.ten_microseconds, number=timer.calls, repeat=40)) / timer.calls)
print(min(own) / min(other), timer.calls)
"""


@in_a_quiet_moment
class Agreement(DriverTest):
    def test_the_loop_agrees_with_timeit(self):
        """Both in one process by turns, and the least of each: what disturbs the machine only adds."""
        words = [sys.executable, "-c", BESIDE_TIMEIT, os.path.dirname(START), os.path.join(FIXTURES, "timing")]
        ratio, calls = subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout.split()
        with self.on_a_quiet_machine():
            self.assertLess(abs(float(ratio) - 1), 0.02, "the loop differs from timeit")
            self.assertGreater(int(calls), 1)


@in_a_quiet_moment
class Asynchronous(DriverTest):
    def test_what_jax_returns_is_waited_for(self):
        told = single(function("on_jax.py"), "timing", options={"path": ["../fakes/jax"]})
        self.measured(told)
        self.takes(min(told.values()), 0.002, 0.003)
        self.assertIn("block_until_ready", told.notes()["jax"])

    def test_an_accelerator_that_is_not_cuda_is_waited_for(self):
        told = single(function("on_xpu.py"), "timing", options={"path": ["../fakes/xpu"]})
        self.measured(told)
        self.takes(min(told.values()), 0.0019, 0.003)
        self.assertIn("(xpu)", told.notes()["waited_with"])

    @unittest.skipUnless(shutil.which("cc"), "no C compiler, with which the stand-in for CUDA's library is made")
    def test_cuda_without_torch_is_waited_for_through_the_drivers_library(self):
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "libcuda.so.1")
            source = os.path.join(FIXTURES, "fakes", "driver", "libcuda.c")
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wl,-soname,libcuda.so.1", "-o", library, source], check=True)
            told = single(function("own_library.py", params={"library": library}), "timing")
        self.measured(told)
        self.takes(min(told.values()), 0.0019, 0.003)
        self.assertEqual(told.notes()["waited_with"], "cuCtxSynchronize")


class Many(DriverTest):
    def test_more_samples_than_fit_into_a_line_go_into_several(self):
        told = written({"b.py": "def bench(): return [1.5] * 41000\n"}, [{"way": "self_timed", "file": "b.py", "function": "bench"}], warmup=0)
        self.measured(told, 41000)
        self.assertGreaterEqual(len(told.of("samples")), 3)


class SelfTimed(DriverTest):
    def bench(self, *whats):
        cases = [{"way": "self_timed", "file": "returns.py", "function": "bench", "unit": "ms", "params": {"what": what}} for what in whats]
        return drive(cases, "self_timed").each()

    def test_s3_24_what_the_function_returns_is_the_sample(self):
        told, of_list = self.bench("number", "list")
        self.measured(told)
        self.assertEqual((told.values(), told.sample("time")["unit"]), ([1.25] * 3, "ms"))
        self.assertEqual(told.notes()["clock"], "self")
        self.assertEqual(of_list.values(), [1.0, 2.0, 3.0])

    def test_s3_24_what_is_no_time_is_an_error(self):
        whats = {"none": "None", "text": "'1.25 ms'", "nan": "nan", "zero": "0.0", "negative": "-1.0", "empty": "empty list", "truth": "True"}
        for words, told in zip(whats.values(), self.bench(*whats)):
            self.failed(told, "bad_result", words)
            self.assertEqual(told.values(), [])

    def test_options_that_cannot_be_followed_are_said_not_to_be(self):
        notes = self.bench("number")[0].notes()
        self.assertNotIn("mode", notes)
        case = {"way": "self_timed", "file": "returns.py", "function": "bench"}
        notes = single(case, "self_timed", options={"mode": "perf_counter", "fresh_inputs": True}).notes()
        self.assertEqual((notes["mode"], notes["fresh_inputs"]), ("not applied: the benchmark times itself",) * 2)

    def test_warm_up_calls_are_made(self):
        told = single({"way": "self_timed", "file": "returns.py", "function": "counted"}, "self_timed", warmup=2)
        self.assertEqual(told.values(), [3.0, 4.0, 5.0])

    @in_a_quiet_moment
    def test_warm_up_by_time_ends_with_the_call_that_fills_it(self):
        told = single({"way": "self_timed", "file": "returns.py", "function": "slow"}, "self_timed", warmup=10, burnin=0.02)
        with self.on_a_quiet_machine():
            self.assertEqual(told.values(), [2.0, 3.0, 4.0])


class Sweep(DriverTest):
    def row(self, file="table.py", name="run_benchmarks", **params):
        return {"way": "sweep", "file": file, "function": name, "params": params}

    def test_s2_1_a_case_is_one_row_of_the_table(self):
        told = drive([self.row(batch_sizes=2, operation="Swish"), self.row(batch_sizes=2, operation="GELU"), self.row(batch_size=4, operation="GELU")],
                     "sweeps")
        self.assertEqual([told.values(case=case) for case in range(3)], [[2.0], [1.0], [2.0]])
        self.assertEqual(told.stderr.split("\n")[:2], ["called with [2]", "called with [4]"], "equal calls are made once")
        self.assertEqual(told.sample("time")["unit"], "ms")
        self.assertEqual(told.sample("memory"), {"event": "sample", "metric": "memory", "value": 12.5, "unit": "MB", "better": "lower"})
        self.assertEqual(told.sample("gpu_efficiency"), {"event": "sample", "metric": "gpu_efficiency", "value": 100.0, "gate": False})

    def test_a_method_of_a_class_that_fills_its_results(self):
        told = single(self.row("runner.py", "Runner.run", sizes=8), "sweeps")
        self.assertEqual((told.values(), told.sample("time")["unit"]), ([16.0], "us"))
        self.failed(single(self.row("runner.py", "Needs.run"), "sweeps"), "arguments", "needs `device`")
        self.failed(single(self.row("runner.py", "Runner.go"), "sweeps"), "no_function", "`Runner` with a method `go`")

    def test_no_row_and_many_rows_are_errors_that_name_what_there_was(self):
        softmax, both, red = drive([self.row(batch_sizes=2, operation="Softmax"), self.row(batch_sizes=2), self.row(batch_sizes=2, colour="red")],
                                   "sweeps").each()
        self.failed(softmax, "no_row", "operation='Softmax'", "operation='GELU'")
        self.failed(both, "many_rows", "2 rows", "'GELU'", "'Swish'")
        self.failed(red, "no_row", "`colour`", "operation")

    def test_tables_that_are_none(self):
        rows = (
                ("nothing", "no_row", "returned None"), ("empty", "no_row", "gave no rows"), ("printed", "no_row", "returned None"),
                ("no time", "bad_result", "has no time"), ("zero", "bad_result", "0.0 as time_ms"), ("oom", "out_of_memory", "out of memory"),
                ("unsuccessful", "row_failed", "`success` is False"), ("two", "many_rows", "2 rows"), ("odd", "no_row", "5 as a row"))
        for (kind, outcome, words), told in zip(rows, drive([self.row("faults.py", kind=kind) for kind, *_ in rows], "sweeps").each()):
            self.failed(told, outcome, words)
            self.assertEqual(told.values(), [], kind)


class Seeds(DriverTest):
    def test_s0_27_two_runs_from_one_seed_agree(self):
        def drawn(seed):
            told = single(pair("ch1/baseline_random.py"), seed=seed)
            self.assertIn("random", told.notes()["seeded"])
            self.assertEqual(told.notes()["seed"], seed)
            return told.values("at_import"), told.values("in_setup")

        self.assertEqual(drawn(7), drawn(7))
        self.assertNotEqual(drawn(7), drawn(8))

    def test_s0_85_two_runs_in_one_process_are_compared_by_their_digest(self):
        cases = [pair("ch1/baseline_digest.py"), pair("ch1/baseline_digest.py", params={"steady": False}), pair("ch1/baseline_random.py"),
                 pair("ch1/baseline_inference.py"), pair("ch2/baseline_minimal.py")]
        steady, unsteady, seeded, *unchecked = drive(cases, options={"check_determinism": True}).each()
        self.assertEqual((steady.notes()["determinism"], steady.of("validation")), ("two runs from one seed agree", []))
        self.assertIn("nondeterministic: two runs from one seed gave", unsteady.one("validation")["message"])
        self.assertEqual(seeded.notes()["determinism"], "two runs from one seed agree")
        for told in unchecked:
            self.assertEqual(told.of("validation"), [])
            self.assertIn("not checked", told.notes()["determinism"])


class Start(DriverTest):
    def test_s0_30_the_interpreter_and_its_packages_are_recorded(self):
        told = single(pair("ch2/baseline_minimal.py"))
        first = told.events[0]["notes"]
        self.assertEqual(sorted(first), ["implementation", "interpreter", "packages", "prefix", "python"])
        self.assertTrue(json.dumps(first["packages"]).startswith("{"))

    def test_s1_8_peak_memory_is_sent_only_where_the_process_has_one_case(self):
        self.assertEqual(single(pair("ch2/baseline_minimal.py")).of("memory"), [])
        told = single(pair("ch2/baseline_minimal.py"), alone=True)
        self.assertGreater(told.one("memory")["host_peak_bytes"], 1000000)
        self.assertEqual(told.notes()["memory_from"], "VmHWM of the process")
