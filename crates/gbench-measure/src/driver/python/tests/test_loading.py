"""How a module is imported, and what is left of it for the next case."""
import os
import subprocess
import tempfile

from .support import FIXTURES, PYTHON, START, DriverTest, drive, function, pair, single, written


class Loading(DriverTest):
    def test_s0_78_a_module_finds_its_siblings_and_its_repository(self):
        told = single(pair("ch1/baseline_sibling.py"))
        self.measured(told)
        self.assertEqual((told.values("where"), told.values("size"), told.values("dotted"), told.values("argv")), ([1], [64], [1], [1]))

    def test_siblings_of_equal_names_in_two_folders_do_not_serve_each_other(self):
        told = drive([pair("ch1/baseline_sibling.py"), pair("ch2/baseline_sibling.py"), pair("ch1/baseline_sibling.py")])
        self.assertEqual([told.values("where", case) for case in range(3)], [[1], [2], [1]])

    def test_relative_imports_work_in_packages(self):
        told = single(pair("pack/inner/baseline_relative.py"))
        self.assertEqual(told.values("number"), [17])

    def test_a_package_below_a_folder_with_the_name_of_a_standard_module_is_imported(self):
        self.assertEqual(single(pair("code/ch7/baseline_in_code.py")).values("step"), [7])

    def test_a_package_that_holds_a_mark_of_the_repository_stays_a_package(self):
        bench = "from ..core import f\nclass B:\n    def benchmark_fn(self): return f()\n    def get_custom_metrics(self): return {'f': f()}\n"
        files = {"mypkg/__init__.py": "", "mypkg/core/__init__.py": "def f(): return 3\n", "mypkg/bench/__init__.py": "",
                 "mypkg/bench/baseline_x.py": bench}
        self.assertEqual(written(files, ["mypkg/bench/baseline_x.py"]).values("f"), [3])

    def test_a_case_that_imports_the_checkout_s_code_fails_alone(self):
        with tempfile.TemporaryDirectory() as checkout:
            with open(os.path.join(checkout, "shared_by_both.py"), "w") as file:
                file.write("STEP = 4\n")
            imports = "import sys\nsys.path.append(%r)\nimport shared_by_both\nclass B:\n    def benchmark_fn(self): pass\n" % checkout
            own = "class B:\n    def benchmark_fn(self): pass\n"
            tree = {"own": os.path.join(checkout, "own"), "checkout": checkout}
            told = written({"a/x.py": imports, "b/y.py": own, "c/z.py": imports}, ["a/x.py", "b/y.py", "c/z.py"], tree=tree)
        self.assertEqual([[error["kind"] for error in told.of("error", case)] for case in range(3)], [["shared_code"], [], ["shared_code"]])

    def test_b29_what_the_user_asks_for_is_found_before_the_root(self):
        bench = "import config\nclass B:\n    def benchmark_fn(self): pass\n    def get_custom_metrics(self): return {'where': config.WHERE}\n"
        files = {"ch1/x.py": bench, "config.py": "WHERE = 1\n", "lib/config.py": "WHERE = 2\n"}
        self.assertEqual(written(files, ["ch1/x.py"]).values("where"), [1])
        self.assertEqual(written(files, ["ch1/x.py"], options={"path": ["lib"]}).values("where"), [2])
        with tempfile.TemporaryDirectory() as other:
            with open(os.path.join(other, "config.py"), "w") as file:
                file.write("WHERE = 3\n")
            asked = {"environment": {"PYTHONPATH": other}}
            self.assertEqual(written(files, ["ch1/x.py"], **asked).values("where"), [3])
            own = os.path.join(other, "own")
            # Between commits the checkout is of neither side.
            tree = {"own": own, "checkout": other}
            self.assertEqual(written(files, ["ch1/x.py"], tree=tree, **asked).values("where"), [1])

    def test_what_a_compiler_of_kernels_left_in_the_gate_s_cache_is_no_code_of_the_checkout(self):
        with tempfile.TemporaryDirectory() as checkout:
            own = os.path.join(checkout, ".gbench", "trees", "base")
            cache = os.path.join(own + ".cache", "TRITON_CACHE_DIR")
            # As Triton 3.6 does it: compiled, put into the cache, and loaded by its path.
            bench = """
import importlib.util, os, sys
class B:
    def benchmark_fn(self):
        if "__triton_launcher" not in sys.modules:
            path = os.path.join(os.environ["TRITON_CACHE_DIR"], "__triton_launcher.py")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "w").close()
            spec = importlib.util.spec_from_file_location("__triton_launcher", path)
            sys.modules["__triton_launcher"] = module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
"""
            tree = {"own": own, "checkout": checkout}
            told = written({"x.py": bench}, ["x.py"], tree=tree, environment={"TRITON_CACHE_DIR": cache})
            self.assertTrue(os.path.exists(os.path.join(cache, "__triton_launcher.py")))
        self.measured(told)

    def test_a_module_may_name_its_own_folder_below_another(self):
        self.assertEqual(single(pair("book/ch08/baseline_by_chapter.py")).values("size"), [8])

    def test_main_blocks_do_not_run(self):
        self.measured(single(pair("ch2/baseline_main.py")))

    def test_files_with_the_names_of_standard_modules_do_not_disturb_the_driver(self):
        error = self.failed(single(pair("shadow/baseline_shadow.py")), "ValueError", "timing.NAME is 5")
        self.assertIn("baseline_shadow.py", error["trace"])
        told = single(pair("shadow/baseline_imports_shadow.py", params={"n": 1}))
        self.assertEqual(told.values("name"), [6])

    def test_relative_files_are_found_from_the_root(self):
        self.measured(single(pair("ch2/baseline_relative_file.py")))

    def test_a_file_that_is_called_like_a_library_gets_the_library_when_it_imports_it(self):
        told = drive([function("statistics.py", params={"n": 5})] * 2, "kernels")
        self.assertEqual([len(told.values(case=case)) for case in (0, 1)], [3, 3], str(told))

    def test_a_root_that_is_on_the_python_path_changes_nothing(self):
        told = drive([pair("looks_around.py")], "misbehaving", environment={"PYTHONPATH": os.path.join(FIXTURES, "misbehaving")})
        self.measured(told)

    def test_s0_58_a_missing_module_is_named(self):
        error = self.failed(single(pair("missing_module.py"), "misbehaving"), "import", "a_module_that_is_not_there")
        self.assertIn("missing_module.py", error["trace"])

    def test_s0_58_a_syntax_error_has_file_and_line(self):
        self.failed(single(pair("syntax_error.py"), "misbehaving"), "import", "syntax_error.py, line 2")

    def test_a_file_that_is_not_there_is_named(self):
        self.failed(single(pair("ch9/baseline_gone.py")), "import", "ch9/baseline_gone.py")

    def test_further_folders_can_be_searched(self):
        told = drive([pair("uses_torch.py")], "timing", options={"path": ["../fakes/cpu"]})
        self.measured(told)

    def test_unknown_keys_of_the_request_are_passed_over(self):
        self.measured(drive([pair("ch1/baseline_order.py", later="key")], later={"a": 1}))


class Start(DriverTest):
    def test_starting_loads_no_large_module_of_the_standard_library(self):
        words = [PYTHON, "-S", "-X", "importtime", START, "/nowhere.json"]
        loaded = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stderr.decode()
        names = {line.rpartition("|")[2].strip() for line in loaded.splitlines()}
        self.assertIn("gbench_driver.main", names)
        slow = {"inspect", "traceback", "typing", "dataclasses", "asyncio", "logging", "ctypes", "hashlib", "random", "importlib.metadata", "subprocess"}
        self.assertEqual(names & slow, set())


class Requests(DriverTest):
    def test_a_request_that_cannot_be_followed_is_an_error(self):
        for change, words in (({"protocol": 9}, "version 9"), ({"root": ""}, "no `root`"), ({"options": {"mode": "guess"}}, "'guess'")):
            told = drive([], **change) if "root" not in change else drive([], bare=True)
            self.assertEqual(told.one("error")["kind"], "request")
            self.assertIn(words, told.one("error")["message"])
            self.assertEqual(told.code, 64)

    def test_a_request_that_is_not_there_is_an_error(self):
        process = subprocess.run([PYTHON, START, "/nowhere.json"], stdout=subprocess.PIPE)
        self.assertIn(b'"kind": "request"', process.stdout)
        self.assertEqual(process.returncode, 64)

    def test_the_driver_is_valid_python_3_8(self):
        import ast
        for folder in (os.path.dirname(START), os.path.join(os.path.dirname(START), "gbench_driver"), FIXTURES):
            for name in os.listdir(folder):
                if name.endswith(".py"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        ast.parse(file.read(), name, feature_version=(3, 8))
