"""Which clock a call on a GPU is timed by, with a stand-in for torch whose two devices, launches and memory are scripted."""
import os

from .support import DriverTest, HERE, function, in_a_quiet_moment, pair, written

GPUS = {"path": [os.path.join(HERE, "two_gpus")]}
DEFAULT = {"burnin": 0.02, "duration": 0.1, "iterations": 10}
CALL = """
import torch
class Bench:
    device = "cuda"
    def setup(self):
        self.held = torch.empty(1000, device="cuda")
    def benchmark_fn(self):
        %s
"""
BIG = CALL.replace("1000", "1000000") % "torch.work(2000)" + "    def teardown(self): self.held = None\n"
CPU = """
import torch
class Bench:
    def benchmark_fn(self):
        torch.host(1000)
"""


def options(**more):
    return dict(GPUS, **more)


class Clocks(DriverTest):
    @in_a_quiet_moment  # by itself: all processes of a test seldom find a quiet moment together
    def one(self, text, clock, microseconds, request=None, **more):
        told = written({"bench.py": text}, ["bench.py"], **dict({"iterations": 10, "warmup": 5, "options": options(**more)}, **request or {}))
        self.assertEqual(told.of("error"), [], told.stderr)
        with self.on_a_quiet_machine():
            self.assertEqual(told.notes()["clock"], clock, told.notes())
        self.takes(min(told.values()) * 1e6, microseconds * 0.9, microseconds * 1.6)
        return told.notes()

    @in_a_quiet_moment
    def test_a_short_kernel_is_not_timed_by_how_fast_python_launches_it(self):
        for request in (DEFAULT, {}):
            notes = self.one(CALL % "torch.work(2, launch=10)", "cuda_events", 2, request)
            with self.on_a_quiet_machine():
                self.assertTrue(1 < notes["calls_per_sample"] < 180, notes)

    @in_a_quiet_moment
    def test_a_kernel_that_takes_longer_than_its_launch_is_repeated_for_a_share_of_the_duration(self):
        notes = self.one(CALL % "torch.work(100, launch=10)", "cuda_events", 100, DEFAULT)
        with self.on_a_quiet_machine():
            self.assertTrue(80 <= notes["calls_per_sample"] <= 120, notes)

    @in_a_quiet_moment
    def test_work_of_the_host_does_not_vanish_behind_a_busy_queue(self):
        for milliseconds in (1, 1.9, 3):
            notes = self.one(CALL % "torch.host(%d); torch.work(50)" % (milliseconds * 1000), "perf_counter_ns", milliseconds * 1000 + 50)
            with self.on_a_quiet_machine():
                self.assertNotIn("off_stream", notes)
            self.assertIn("on the device", notes["host_bound"])
        for lines in ("torch.host(12000); torch.work(50)", "torch.host(2000); torch.work(10050); torch.cuda.synchronize()"):
            self.one(CALL % lines, "cuda_events", 12050)  # no wait hides anything of it

    @in_a_quiet_moment
    def test_what_puts_nothing_on_a_device_is_timed_by_the_wall_clock(self):
        for microseconds in (20, 1000):
            notes = self.one(CALL % "torch.host(%d)" % microseconds, "perf_counter_ns", microseconds)
            with self.on_a_quiet_machine():
                self.assertNotIn("off_stream", notes)
            self.assertIn("0 ms", notes["host_bound"])

    @in_a_quiet_moment
    def test_work_on_another_stream_is_seen_where_it_is_short_and_where_it_only_lasts_longer(self):
        for main, side, together in ((10000, 14000, 14000), (0.45, 45, 45), (1, 40, 40)):
            text = CALL % "torch.work(%s); torch.work(%s, side=True)" % (main, side)
            notes = self.one(text, "perf_counter_ns", together)
            with self.on_a_quiet_machine():
                self.assertIn("off_stream", notes)
            self.assertIn("outside of the current stream", notes["off_stream"])
        text = CALL % "torch.work(10); torch.work(14, side=True)"
        notes = self.one(text, "perf_counter_ns", 14, DEFAULT)
        with self.on_a_quiet_machine():
            self.assertIn("off_stream", notes)

    def test_the_events_of_a_case_on_another_device_are_recorded_there(self):
        text = (CALL % "torch.work(300, device=1)").replace('"cuda"', '"cuda:1"')
        self.one(text, "cuda_events", 300)
        told = written({"bench.py": text}, ["bench.py"], options=GPUS)
        self.assertIn("cuda:Scripted GPU 1", [event.get("device") for event in told.of("metadata")])

    def test_one_cold_call_cannot_be_timed_by_events(self):
        told = written({"bench.py": CALL % "torch.work(1000)"}, ["bench.py"], options=options(mode="cuda_events"), cold=True)
        self.failed(told, "mode", "`cuda_events`", "`auto`")
        told = written({"bench.py": CALL % "torch.work(1000)"}, ["bench.py"], options=GPUS, cold=True)
        self.assertEqual((told.notes()["clock"], told.values()[0] > 0.001), ("perf_counter_ns", True))


class Neighbours(DriverTest):
    """Cases that share a process with one that uses a device."""

    def both(self, first, second, **request):
        told = written({"first.py": first, "second.py": second}, ["first.py", "second.py"], **dict({"iterations": 10, "options": GPUS}, **request))
        self.assertEqual(told.of("error"), [], told.stderr)
        return told

    @in_a_quiet_moment
    def test_a_case_on_the_cpu_behind_one_on_a_device_is_timed_by_the_wall_clock(self):
        told = self.both(BIG, CPU)
        self.assertEqual(told.notes(1)["clock"], "perf_counter_ns")
        self.assertNotIn("host_bound", told.notes(1))
        self.takes(min(told.values(case=1)), 0.0009, 0.0016)
        self.assertEqual(([event.get("device") for event in told.of("metadata", 1) if event.get("device")], told.of("memory", 1)), ([], []))

    def test_the_peak_of_memory_is_the_cases_own(self):
        small = BIG.replace("1000000", "1000")
        for mode in ("auto", "perf_counter", "do_bench"):
            told = self.both(BIG, small, options=options(mode=mode))
            self.assertEqual([event["device_peak_bytes"] for event in told.of("memory")], [1000000, 1000], mode)

    def test_a_flush_of_the_cache_is_no_memory_of_the_benchmarks(self):
        text = CALL % 'torch.empty(500, device="cuda"); torch.work(2000)'
        for flush in (False, True):
            told = written({"bench.py": text}, ["bench.py"], options=options(flush_l2=flush))
            self.assertEqual(told.one("memory")["device_peak_bytes"], 1500)

    @in_a_quiet_moment
    def test_a_module_that_stays_loaded_and_allocates_nothing_more_is_waited_for(self):
        text = """
import torch
held = torch.empty(1000, device="cuda")
def bench(n):
    torch.work(n)
"""
        cases = [function("bench.py", function="bench", params={"n": n}) for n in (2000, 3000)]
        told = written({"bench.py": text}, cases, options=GPUS)
        self.takes(min(told.values(case=1)), 0.0029, 0.005)
        told = written({"bench.py": text.replace("(n)\n", "(n)\n    return held\n")}, cases, options=GPUS)
        with self.on_a_quiet_machine():
            self.assertEqual([told.notes(case)["clock"] for case in (0, 1)], ["cuda_events", "cuda_events"])
        self.assertEqual(len([event for event in told.of("metadata") if event.get("device")]), 2)

    def test_numbers_of_calls_that_do_bench_does_not_follow_are_said_not_to_be(self):
        told = written({"bench.py": BIG}, ["bench.py"], options=options(mode="do_bench"))
        self.assertIn("not applied: `do_bench` goes by time", told.notes()["iterations"])
        self.assertIn("not applied", told.notes()["warmup"])
        told = written({"bench.py": BIG}, ["bench.py"], options=options(mode="do_bench"), **DEFAULT)
        self.assertNotIn("iterations", told.notes())
