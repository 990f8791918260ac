"""The way `function`: which function is called, with what, and whether its answer is right."""
from .support import DriverTest, drive, function, single


class Lookup(DriverTest):
    def test_s1_4_the_function_is_found_by_the_list_of_names(self):
        cases = [function("stem.py"), function("several.py"), function("solver.py", params={"n": 3}), function("several.py", function="other")]
        *found, other = drive(cases, "functions").each()
        for told in found:
            self.measured(told)
        self.failed(other, "ValueError", "the other one ran")

    def test_s1_4_no_function_is_an_error_that_names_what_there_is(self):
        error = self.failed(single(function("nothing_to_call.py"), "functions"), "no_function", "nothing_to_call_kernel, run_benchmark", "compute")
        self.assertNotIn("sqrt", error["message"])
        self.failed(single(function("several.py", function="othr"), "functions"), "no_function", "othr", "other")

    def test_parameters_that_do_not_fit_are_named(self):
        self.failed(single(function("arguments.py", params={"m": 1, "k": 2}), "functions"), "arguments", "does not take `k`", "needs `n`",
                    "takes `m`, `n`, `alpha`")
        self.failed(single(function("wrong_inside.py", params={"n": 1}), "functions"), "TypeError", "unsupported operand")

    def test_a_function_that_returns_before_its_work_is_done_is_an_error(self):
        for name in ("generator", "coroutine"):
            self.failed(single(function("lazy.py", function=name), "functions"), "bad_result", name, "has not been done")

    def test_the_declared_work_is_passed_on(self):
        told = single(function("stem.py", work={"items": 1.0, "bytes": 4096.0, "tokens": None}), "functions")
        work = next(event for event in told.of("metadata") if "items" in event)
        self.assertEqual((work["items"], work["bytes"]), (1, 4096))
        self.assertNotIn("tokens", work)


class Matrix(DriverTest):
    def test_s1_29_a_precision_is_passed_on(self):
        told = single(function("gelu.py", params={"n": 8}, precision="fp16", backend="cpu", tolerances={"max_error": 1e-5}), "kernels")
        self.assertFalse(told.one("validation")["passed"])
        self.assertIn("max_error is 0.0001, and 1e-05 is allowed", told.one("validation")["message"])
        self.assertAlmostEqual(told.one("validation")["errors"]["max_error"], 1e-4)
        told = single(function("dtype.py", precision="fp16", backend="cpu"), "kernels")
        self.assertTrue(told.one("validation")["passed"])

    def test_s1_29_a_precision_that_cannot_be_passed_on_is_skipped_unless_it_is_the_kernels_own(self):
        self.measured(single(function("plain.py", params={"n": 8}, precision="fp32", first_precision=True), "kernels"))
        self.skipped(single(function("plain.py", params={"n": 8}, precision="fp16"), "kernels"), "does not take a precision")

    def test_s1_30_a_backend_that_is_not_here_is_skipped(self):
        backends = {"cuda": "needs a CUDA device", "rocm": "ROCm", "jax": "jax is not installed"}
        cases = [function("plain.py", params={"n": 8}, backend=backend, first_backend=True) for backend in backends]
        all_told = drive(cases + [function("gelu.py", params={"n": 8}, backend="pytorch")], "kernels").each()
        for words, told in zip([*backends.values(), "torch is not installed"], all_told):
            self.skipped(told, words)

    def test_s1_34_skip_conditions(self):
        def conditions(*entries, **keys):
            return function("plain.py", params={"n": 8}, skip_conditions=list(entries), **keys)

        rows = (
            (conditions({"check": "sys.version_info >= (3, 0)", "reason": "too new"}), self.skipped, ["too new"]),
            (conditions({"reason": "always"}), self.skipped, ["always"]),
            (conditions({"check": "os.sep == ':'", "reason": "no"}), self.measured, []),
            (conditions({"precision": "fp8", "check": "True", "reason": "no"}, precision="fp32", first_precision=True), self.measured, []),
            (conditions({"precision": "fp32", "reason": "yes"}, precision="fp32", first_precision=True), self.skipped, ["yes"]),
            (conditions({"check": "1 / 0", "reason": "no"}), self.failed, ["skip_condition", "1 / 0", "ZeroDivisionError"]),
            (conditions({"check": "not torch.cuda.is_available()"}), self.failed, ["skip_condition", "needs torch"]),
            (conditions({"backend": "cuda", "check": "not torch.cuda.is_available()", "reason": "no CUDA"}, backend="cuda"), self.skipped, [""]),
        )
        for (_, expect, words), told in zip(rows, drive([case for case, *_ in rows], "kernels").each()):
            expect(told, *words)

    def test_s1_32_counts_of_bench_yaml_stand_above_the_request_and_below_the_command_line(self):
        told = single(function("plain.py", params={"n": 8}, iterations=4, warmup=1), "kernels", iterations=7)
        self.assertEqual(told.one("config"), {"event": "config", "iterations": 4, "warmup": 1})
        self.measured(told, 4)
        told = single(function("plain.py", params={"n": 8}, iterations=4, warmup=1), "kernels", iterations=7, pinned=["iterations"])
        self.assertEqual(told.one("config"), {"event": "config", "warmup": 1})
        self.measured(told, 7)


class Accuracy(DriverTest):
    def outputs(self, *kinds, **keys):
        cases = [function("outputs.py", params={"kind": kind}, **keys) for kind in kinds]
        return [told.one("validation") for told in drive(cases, "kernels").each()]

    def test_s1_10_figures_of_accuracy(self):
        same, near = self.outputs("same", "near")
        self.assertEqual(same, {"event": "validation", "passed": True, "errors": {"rmse": 0.0, "max_error": 0.0, "relative_error": 0.0}})
        self.assertTrue(near["passed"])
        self.assertEqual(near["errors"], {"rmse": 0.25, "max_error": 0.5, "relative_error": 0.125})

    def test_s1_33_beyond_a_tolerance_it_is_wrong(self):
        [wrong] = self.outputs("near", tolerances={"rmse": 1.0, "relative_error": 0.1})
        self.assertFalse(wrong["passed"])
        self.assertIn("relative_error is 0.125, and 0.1 is allowed", wrong["message"])

    def test_s1_10_other_shapes_and_nan_are_wrong(self):
        kinds = {"other shape": "(4,)", "ragged": "shape", "nan": "not a finite number", "none": "None is no number", "text": "'four'"}
        for (kind, words), wrong in zip(kinds.items(), self.outputs(*kinds)):
            self.assertFalse(wrong["passed"], kind)
            self.assertIn(words, wrong["message"])

    def test_a_reference_by_name_or_from_a_file(self):
        told = single(function("with_file.py", reference="reference.json"), "kernels")
        self.assertEqual(told.one("validation")["errors"]["max_error"], 0.5)
        self.failed(single(function("with_file.py", reference="nothing"), "kernels"), "no_reference", "`nothing`")
        self.failed(single(function("with_file.py", reference="gone.json"), "kernels"), "no_reference", "gone.json")

    def test_without_a_reference_nothing_is_said_to_be_right(self):
        told = single(function("plain.py", params={"n": 8}), "kernels")
        self.assertEqual(told.of("validation"), [])
        self.assertEqual(told.notes()["reference"], "none")

    def test_a_sweep_of_cases_in_one_process(self):
        told = drive([function("gelu.py", params={"n": n}, precision="fp32") for n in (1, 2, 3)], "kernels")
        self.assertEqual([len(told.values(case=case)) for case in range(3)], [3, 3, 3])
        self.assertEqual([event["passed"] for event in told.of("validation")], [True] * 3)
