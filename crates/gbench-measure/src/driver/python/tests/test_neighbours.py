"""What one case changes must not reach the next one of the process: it is put back, or the process ends."""
import sys
import unittest

from .support import DriverTest, drive, pair, written
from .test_numpy import HAS_NUMPY
from .test_torch import HAS_TORCH, TORCH

PLAIN = "class Bench:\n    def benchmark_fn(self): pass\n"
SEES = """
%s
class Bench:
    def benchmark_fn(self): pass
    def get_custom_metrics(self): return {"seen": int(%s)}
"""


def change(lines):
    return lines + "\n" + PLAIN


class Neighbours(DriverTest):
    def behind(self, first, second, same=False, **request):
        files = {"a.py": first, "b.py": second}
        told = written(files, ["a.py", "a.py" if same else "b.py"], **request)
        self.assertEqual(told.of("error"), [], told.stderr)
        return told

    def put_back(self, lines, head, sees, **request):
        told = self.behind(change(lines), SEES % (head, sees), **request)
        self.assertNotIn("leaves", told.notes(0))
        self.assertEqual(told.values("seen", 1), [1], lines)

    def left(self, lines, words, **request):
        told = self.behind(change(lines), PLAIN, **request)
        self.assertEqual(told.notes(0).get("leaves"), [words])
        self.assertEqual(told.case(1), [], "the next case needs a fresh process")

    def test_the_start_method_of_multiprocessing_is_put_back(self):
        lines = "import multiprocessing\nmultiprocessing.set_start_method('spawn')"
        self.put_back(lines, lines.replace("spawn", "forkserver"), "multiprocessing.get_start_method() == 'forkserver'")

    def test_what_a_module_sets_when_it_is_imported_is_set_for_each_case_of_the_file(self):
        text = SEES % ("import multiprocessing, os\nos.environ['OF_MINE'] = '1'\nmultiprocessing.set_start_method('spawn')",
                       "multiprocessing.get_start_method() == 'spawn' and os.environ['OF_MINE'] == '1'")
        told = self.behind(text, "", same=True)
        self.assertEqual([told.values("seen", case) for case in (0, 1)], [[1], [1]])

    @unittest.skipUnless(hasattr(sys, "stdlib_module_names"), "this Python does not say which modules are its own")
    def test_b25_what_a_case_adds_to_or_replaces_in_modules_of_python_is_put_back_and_named(self):
        for module in ("random", "statistics", "os"):
            self.put_back("import %s\n%s.POISON = 1" % (module, module), "import " + module, "not hasattr(%s, 'POISON')" % module)
        self.put_back("import math\nmath.sqrt = lambda x: 4", "import math", "math.sqrt(1) == 1")
        self.put_back("import random\nrandom.random = lambda: 4", "import random", "random.random() < 1")
        self.put_back("import random\nclass Mine: pass\nrandom.mine = Mine()", "import random", "not hasattr(random, 'mine')")
        told = self.behind(change("import random\nrandom.POISON = random.randrange = 1"), PLAIN)
        self.assertEqual(sorted(told.notes(0)["put_back"]), ["random.POISON", "random.randrange"])
        # A module that adds to another one when it is imported does so for each case of its file.
        text = SEES % ("import random\nassert not hasattr(random, 'POISON')\nrandom.POISON = 1", "random.POISON")
        self.assertEqual(self.behind(text, "", same=True).values("seen"), [1, 1])
        # What Python adds itself stays.
        told = self.behind(change("import multiprocessing.pool, concurrent.futures, importlib.resources, xml.dom"), PLAIN)
        self.assertNotIn("put_back", told.notes(0))

    def test_limits_of_resources_are_put_back(self):
        lines = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (20, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))"
        self.put_back(lines, "import resource", "resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 20")

    def test_a_finder_of_the_benchmarks_is_taken_out(self):
        lines = ("import sys\nclass Block:\n    def find_spec(self, name, *more):\n        if name == 'this': raise ImportError('blocked')\n"
                 "sys.meta_path.insert(0, Block())")
        self.put_back(lines, "import this", "True")

    def test_a_replaced_module_ends_the_process(self):
        fake = "import sys, types\nsys.modules[%r] = types.ModuleType('fake')"
        self.left(fake % "decimal", "another module as sys.modules['decimal']")
        self.left(fake % "signal", "another module as sys.modules['signal']")
        self.put_back(fake % "nowhere_else", "", "True")

    def test_a_deleted_module_is_the_same_again(self):
        self.put_back("import sys\ndel sys.modules['signal']", "import sys", "'signal' in sys.modules")

    @unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
    def test_replaced_functions_of_numpy_are_put_back(self):
        self.put_back("import numpy\nnumpy.dot = lambda a, b: 0", "import numpy", "numpy.dot([2], [3]) == 6")
        self.put_back("import numpy\nnumpy.integer_of_old = int", "import numpy", "not hasattr(numpy, 'integer_of_old')")
        self.left("import numpy\nnumpy.dot = numpy.add", "another function as numpy.dot")
        text = SEES % ("import numpy\nnumpy.dot = lambda a, b: 1", "numpy.dot(2, 3)")
        self.assertEqual(self.behind(text, "", same=True).values("seen"), [1, 1])

    @unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
    def test_a_library_that_was_loaded_with_another_number_of_threads_ends_the_process(self):
        lines = "import os\nos.environ['OMP_NUM_THREADS'] = '1'\nimport numpy"
        self.left(lines, "numpy loaded with another OMP_NUM_THREADS")
        self.put_back(lines.replace("\nimport numpy", ""), "import numpy, os", "'OMP_NUM_THREADS' not in os.environ")
        told = written({"a.py": change(lines), "b.py": PLAIN}, ["a.py", "a.py", "b.py"])
        self.assertNotIn("leaves", told.notes(0))
        self.assertEqual((told.notes(1)["leaves"], told.case(2)), (["numpy loaded with another OMP_NUM_THREADS"], []))

    @unittest.skipUnless(HAS_TORCH, "torch is not installed")
    def test_switches_and_functions_of_torch_are_put_back(self):
        first = change("""
import torch
torch.backends.cuda.enable_flash_sdp(False)
torch.backends.cuda.enable_mem_efficient_sdp(False)
torch.backends.mkldnn.enabled = torch.backends.cudnn.enabled = False
torch.set_flush_denormal(True)
torch.nn.functional.gelu = lambda x: x
""")
        second = SEES % ("import torch", "torch.backends.cuda.flash_sdp_enabled() and torch.backends.cuda.mem_efficient_sdp_enabled() "
                         "and torch.backends.mkldnn.enabled and torch.backends.cudnn.enabled and torch.nn.functional.gelu.__name__ == 'gelu' "
                         "and 1e-310 * float('1') > 0")
        told = self.behind(first, second, python=TORCH)
        self.assertNotIn("leaves", told.notes(0))
        self.assertEqual(told.values("seen", 1), [1])

    @unittest.skipUnless(HAS_TORCH, "torch is not installed")
    def test_what_torch_has_compiled_for_one_point_does_not_serve_the_next(self):
        text = """
import torch
SIZES = []
def backend(graph, inputs):
    SIZES.append(str([getattr(value, "shape", value) for value in inputs]))
    return graph.forward
@torch.compile(backend=backend)
def compiled(x):
    return x.sin() + 1
class Bench:
    def __init__(self, n): self.n = n
    def setup(self):
        SIZES.clear()
        self.x = torch.ones(self.n)
    def benchmark_fn(self): compiled(self.x)
    def get_custom_metrics(self): return {"compiled": len(SIZES), "general": int("s" in "".join(SIZES).replace("Size", ""))}
"""
        told = written({"a.py": text}, [pair("a.py", params={"n": n}) for n in (16, 32, 64)], python=TORCH)
        self.assertEqual(told.of("error"), [], told.stderr)
        self.assertEqual([(told.values("compiled", case), told.values("general", case)) for case in range(3)], [([1], [0])] * 3)
        self.assertEqual([told.notes(case).get("leaves") for case in range(3)], [None] * 3)

    @unittest.skipUnless(HAS_TORCH, "torch is not installed")
    def test_variables_that_torch_sets_for_itself_and_functions_that_it_wraps_are_its_own(self):
        told = self.behind(change("import os, torch, torch._dynamo\nos.environ['OMP_NUM_THREADS'] = '1'"), PLAIN, python=TORCH)
        self.assertNotIn("leaves", told.notes(0))
