"""References, tolerances and the check of determinism: what counts as right, wrong, and not known."""
import unittest

from .support import DriverTest, each_written, function, written
from .test_numpy import HAS_NUMPY

CHECK = {"check_determinism": True}


class References(DriverTest):
    def kernel(self, text, **keys):
        return written({"k.py": text}, [function("k.py", **keys)])

    def test_tolerances_without_a_reference_are_an_error_that_says_what_to_add(self):
        told = self.kernel("def k_kernel(n=10): return n\n", tolerances={"rmse": 1e-6})
        self.failed(told, "no_reference", "tolerances", "Add a function `reference`")
        shared = self.kernel("def k_kernel(n=10): return n\n", tolerances={"rmse": 1e-6}, shared_tolerances=True)
        self.measured(shared)
        self.assertIn("no reference", shared.notes()["unchecked"])
        self.assertEqual(len(told.values()), 3)
        self.measured(self.kernel("def k_kernel(n=10): return n\nreference = 10\n", tolerances={"rmse": 1e-6}))

    def test_a_module_a_class_or_a_text_called_reference_is_none(self):
        none = ("import json as reference", "reference = 'https://example.org/paper'", "class reference: pass", "reference = ['Smith', 'Jones']",
                "reference = {'author': 'Smith'}")
        one = ("reference = 10", "def reference(): return 10", "reference_result = 10.0", "import operator as reference\nreference_result = 10")
        all_told = each_written([line + "\ndef k_kernel(n=10): return n\n" for line in none + one], "k.py", function)
        for line, told in zip(none + one, all_told):
            if line in none:
                self.assertEqual((told.of("validation"), told.notes()["reference"]), ([], "none"), line)
            else:
                self.assertTrue(told.one("validation")["passed"], line)
        told = self.kernel("reference = [10, 5]\ndef k_kernel(n=10): return [n, n]\n")
        self.assertEqual(told.one("validation")["errors"]["max_error"], 5)

    def nan(self, left, right, head=""):
        text = "%snan = float('nan')\nreference = %s\ndef k_kernel(): return %s\n" % (head, right, left)
        return self.kernel(text).one("validation")

    def test_a_nan_agrees_with_a_nan_in_the_same_place(self):
        for head in ["", "import numpy\n"][:2 if HAS_NUMPY else 1]:
            told = self.nan("[1.0, nan, 3.5]", "[1.0, nan, 3.0]", head)
            self.assertEqual((told["passed"], told["errors"]["max_error"]), (True, 0.5))
            self.assertFalse(self.nan("[1.0, nan]", "[1.0, 2.0]", head)["passed"])
            self.assertFalse(self.nan("[1.0, 2.0]", "[1.0, nan]", head)["passed"])

    def test_arguments_that_a_call_changes_are_given_anew_where_that_is_asked_for(self):
        text = """
def k_kernel(x):
    x.append(0)
    return len(x)
def reference(x):
    return len(x) + 1
"""
        told = written({"k.py": text}, [function("k.py", params={"x": [3, 1, 2]})], options={"fresh_inputs": True})
        self.assertEqual((told.notes()["fresh_inputs"], told.notes()["calls_per_sample"]), ("a copy of x for each sample", 1))
        self.assertEqual(told.one("validation"), {"event": "validation", "passed": True, "errors": dict.fromkeys(
            ("rmse", "max_error", "relative_error"), 0.0)})
        told = written({"k.py": "def k_kernel(n): return n\n"}, [function("k.py", params={"n": 3})], options={"fresh_inputs": True})
        self.assertIn("not applied: no argument is a list", told.notes()["fresh_inputs"])
        told = written({"b.py": "class Bench:\n    def benchmark_fn(self): pass\n"}, ["b.py"], options={"fresh_inputs": True})
        self.assertIn("not applied: the benchmark has no setup()", told.notes()["fresh_inputs"])

    def test_a_sweep_that_fails_runs_once_for_all_its_rows(self):
        text = "def sweep(n=1):\n    print('called')\n    raise RuntimeError('no device')\n"
        case = {"way": "sweep", "file": "s.py", "function": "sweep"}
        told = written({"s.py": text}, [case] * 3)
        self.assertEqual([event["message"] for event in told.of("error")], ["RuntimeError: no device"] * 3)
        self.assertEqual(told.stdout.count(b"called"), 1)


class Determinism(DriverTest):
    def checked(self, *returned, head=""):
        """The verdict and the note for each."""
        texts = ["%sclass Bench:\n    def benchmark_fn(self): return %s\n" % (head, value) for value in returned]
        return [(told.of("validation"), told.notes()["determinism"]) for told in each_written(texts, options=CHECK)]

    def test_what_has_only_an_address_to_show_is_said_and_not_called_wrong(self):
        head = "from dataclasses import dataclass\nimport random\nclass Inner: pass\n@dataclass\nclass Out:\n    a: object\n    n: float\n"
        [(verdict, note)] = self.checked("Out(Inner(), 3)", head=head)
        self.assertEqual(verdict, [])
        self.assertIn("agree, but for what cannot be compared (Inner)", note)
        head += "class Shown:\n    def __repr__(self): return 'Shown(%s)' % object.__repr__(self)\n"
        for verdict, note in self.checked("Shown()", "[Shown()]", "Inner()", "[Inner(), lambda: 1]", head=head):
            self.assertEqual(verdict, [])
            self.assertIn("not checked", note)

    def test_what_differs_inside_is_still_found(self):
        head = "from dataclasses import dataclass\nimport os\nclass Inner: pass\n@dataclass\nclass Out:\n    a: object\n    n: bytes\n"
        (verdict, _), same = self.checked("[Out(Inner(), os.urandom(8))]", "Out(1, b'1')", head=head)
        self.assertFalse(verdict[0]["passed"])
        self.assertEqual(same, ([], "two runs from one seed agree"))

    @unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
    def test_an_array_of_objects_is_compared_by_what_is_in_it(self):
        head = "import numpy\nimport random\n"
        same, (verdict, _) = self.checked("numpy.array([str(1.5), [2], {'a': 1.25}], dtype=object)",
                                          "numpy.array([str(random.SystemRandom().random())], dtype=object)", head=head)
        self.assertEqual(same, ([], "two runs from one seed agree"))
        self.assertFalse(verdict[0]["passed"])


FIGURES = {
    "tokens_per_s": ("tokens/s", "higher"), "ops_per_sec": ("ops/s", "higher"), "requests_per_second": ("requests/s", "higher"),
    "words_per_ms": ("words/ms", "higher"), "wait_s": ("s", "lower"), "energy_j": ("J", "lower"), "gpu_joules": ("J", "lower"),
    "copy_gbps": ("GB/s", "higher"), "ms_per_token": (None, None), "steps": (None, None),
}


class Figures(DriverTest):
    def test_a_rate_is_better_higher(self):
        text = "class Bench:\n    def benchmark_fn(self): pass\n    def get_custom_metrics(self): return %r\n" % dict.fromkeys(FIGURES, 2.5)
        told = written({"b.py": text}, ["b.py"])
        for name, (unit, better) in FIGURES.items():
            sample = told.sample(name)
            self.assertEqual((sample.get("unit"), sample.get("better"), sample.get("gate")), (unit, better, None if unit else False), name)


class Later(DriverTest):
    def test_what_is_not_done_when_it_is_returned_is_an_error(self):
        head = "import concurrent.futures, time\npool = concurrent.futures.ThreadPoolExecutor(1)\n"
        rows = (("map(str, range(9))", "map"), ("filter(None, [1])", "filter"), ("zip([1], [2])", "zip"), ("pool.submit(time.sleep, 0.01)", "Future"))
        text = head + "class Bench:\n    def benchmark_fn(self): return %s\n    def teardown(self): pool.shutdown()\n"
        for (_, name), told in zip(rows, each_written([text % returned for returned, _ in rows])):
            self.failed(told, "bad_result", "returned a " + name)


class Skips(DriverTest):
    def raised(self, *texts):
        return zip(texts, each_written(["class Bench:\n    def benchmark_fn(self): raise ValueError(%r)\n" % text for text in texts]))

    def test_words_that_only_resemble_those_of_a_skip_are_failures(self):
        for text, told in self.raised("Config requires gpu_memory_fraction to be set", "this path requires CUDA_HOME", "GPU_ARCH required",
                                      "my_gpu not found", "the last line of the log was SKIPPED: 3 rows"):
            self.failed(told, "ValueError", text)

    def test_the_mark_counts_at_the_beginning_of_a_line_and_behind_an_exceptions_name(self):
        for _, told in self.raised("SKIPPED: two GPUs", "worker 1 failed\n  SKIPPED: two GPUs\nmore", "RuntimeError: SKIPPED: two GPUs",
                                   "a worker failed with torch.x.RuntimeError: SKIPPED: two GPUs"):
            self.skipped(told, "two GPUs")
            self.assertEqual(told.one("skip")["reason"], "two GPUs")


class Faults(DriverTest):
    def test_what_the_driver_finds_wrong_is_told_with_what_there_is(self):
        config = "class Bench:\n    def benchmark_fn(self): pass\n    def get_config(self): return {%s}\n"
        rows = (
                (config % "'iterations': 'many'", {"way": "class"}, "config", "Set it to one, or leave it out"),
                (config % "'setup_timeout_seconds': -1", {"way": "class"}, "config", "Set it to one, or leave it out"),
                ("def other(): pass\n", {}, "no_function", "Its functions are: other"),
                ("", {}, "no_function", "Its functions are: none"),
                ("def b_kernel(): pass\n", {"params": {"n": 1}}, "arguments", "it does not take `n`"),
                ("", {"way": "class"}, "no_benchmark", "its classes are"),
                ("", {"way": "class", "class": "Bench"}, "no_benchmark", "its classes are"))
        files = {"m%d/b.py" % index: text for index, (text, *_) in enumerate(rows)}
        all_told = written(files, [function(file, **case) for file, (_, case, *_) in zip(files, rows)]).each()
        for told, (_, _, kind, words) in zip(all_told, rows):
            self.failed(told, kind, words)
