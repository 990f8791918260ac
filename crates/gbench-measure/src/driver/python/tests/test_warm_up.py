"""First calls that are unlike the others: compiled, imported or cached at the first time."""
import statistics

from .support import DriverTest, in_a_quiet_moment, written

DEFAULT = {"burnin": 0.02, "duration": 0.1, "iterations": 10}
FIRST = """
import time
class Bench:
    calls = 0
    def benchmark_fn(self):
        self.calls += 1
        if self.calls == 1:
            time.sleep(%s)
        sum(range(5))
    def get_custom_metrics(self):
        return {"calls": self.calls}
"""
SLOWER_FIRST = """
import time
class Bench:
    calls = 0
    def benchmark_fn(self):
        self.calls += 1
        time.sleep({1: 0.1, 2: 0.06, 3: 0.03}.get(self.calls, 0.001))
"""
SLOW = """
import time
class Bench:
    calls = 0
    def benchmark_fn(self):
        self.calls += 1
        time.sleep(0.15)
    def get_custom_metrics(self):
        return {"calls": self.calls}
"""


class WarmUp(DriverTest):
    def one(self, text, **request):
        told = written({"bench.py": text}, ["bench.py"], **request)
        self.assertEqual(told.of("error"), [], told.stderr)
        return told

    @in_a_quiet_moment
    def test_a_burn_in_goes_on_while_calls_become_shorter(self):
        told = self.one(SLOWER_FIRST, **DEFAULT)
        self.takes(max(told.values()), 0.001, 0.02)

    @in_a_quiet_moment
    def test_a_burn_in_of_long_calls_is_three(self):
        told = self.one(SLOW, **DEFAULT)
        self.assertEqual(len(told.values()), 2)
        with self.on_a_quiet_machine():  # a call that is much shorter than one that was disturbed asks for another
            self.assertEqual(told.values("calls"), [5])

    @in_a_quiet_moment
    def test_a_slow_first_call_says_nothing_of_how_many_make_a_sample(self):
        for seconds, request in ((0.002, {"warmup": 1}), (0.002, {"warmup": 0}), (0.002, {"warmup": 3}), (0.1, DEFAULT), (0.002, dict(DEFAULT, duration=0))):
            told = self.one(FIRST % seconds, **dict({"iterations": 10}, **request))
            with self.on_a_quiet_machine():
                self.assertGreater(told.notes()["calls_per_sample"], 20, request)
                self.assertLess(statistics.median(told.values()), 5e-6, request)

    def test_without_warm_up_long_calls_all_count(self):
        told = self.one(SLOW, warmup=0, iterations=3)
        self.assertEqual((len(told.values()), told.values("calls")), (3, [3]))
