"""The way `class`: which object is measured, in which order its methods are called, and what they may say."""
from .support import DriverTest, drive, pair, single


class ClassWay(DriverTest):
    def test_s0_1_the_methods_are_called_in_order(self):
        told = single(pair("ch1/baseline_order.py"), warmup=2, iterations=3, cold=True)
        self.assertEqual(told.stderr.split(), ["init", "setup", "call", "validate", "teardown"])
        told = single(pair("ch1/baseline_order.py"), warmup=2, iterations=3)
        words = told.stderr.split()
        self.assertEqual(words[:4], ["init", "setup", "call", "call"])
        self.assertEqual(words[-3:], ["call", "validate", "teardown"])
        self.measured(told)
        self.assertEqual(told.stages(), ["import", "load", "setup", "warmup", "measure", "verify", "teardown"])

    def test_s0_1_the_teardown_runs_after_an_error(self):
        told = single(pair("ch1/baseline_failing.py"))
        self.failed(told, "ValueError", "the third call breaks")
        self.assertIn("teardown", told.stderr)
        self.assertEqual(told.stages()[-1], "teardown")

    def test_the_first_class_of_the_module_itself_is_the_benchmark(self):
        self.measured(single(pair("ch1/baseline_subclass.py")))

    def test_a_class_is_chosen_by_name(self):
        self.measured(single(pair("ch1/baseline_two_classes.py", **{"class": "Second"})))
        self.failed(single(pair("ch1/baseline_two_classes.py", **{"class": "Third"})), "no_benchmark", "`Third`", "`First`, `Second`")

    def test_a_module_without_a_benchmark_says_what_was_looked_for(self):
        self.failed(single(pair("ch1/baseline_nothing.py")), "no_benchmark", "get_benchmark()", "benchmark_fn", "`Helper`")
        self.failed(single(pair("ch1/baseline_factory_of_nothing.py")), "no_benchmark", "get_benchmark() in ch1/", "gave None")

    def test_parameters_go_to_the_factory(self):
        told = single(pair("ch1/baseline_parameters.py", params={"size": 12}))
        self.assertEqual(told.values("size"), [12])
        self.failed(single(pair("ch1/baseline_parameters.py", params={"sise": 12})), "arguments", "does not take `sise`", "it takes `size`")
        self.failed(single(pair("ch1/baseline_inference_wrong.py")), "TypeError", "fault")

    def test_s0_62_only_what_a_config_sets_on_purpose_counts(self):
        told = single(pair("ch1/baseline_config.py"))
        self.assertEqual(told.one("config"), {"event": "config", "iterations": 7, "deadlines": {"setup": 120.0}})
        self.measured(told, 7)
        told = single(pair("ch1/baseline_config_unset.py"))
        self.assertEqual(told.of("config"), [])
        self.measured(told, 3)

    def test_s0_62_what_the_user_pinned_stays(self):
        told = single(pair("ch1/baseline_config.py"), pinned=["iterations"])
        self.assertNotIn("iterations", told.one("config"))
        self.measured(told, 3)

    def test_s0_62_a_config_that_cannot_be_made_empty_has_the_defaults_of_its_fields(self):
        told = single(pair("ch1/baseline_config_dataclass.py"))
        self.assertEqual(told.one("config"), {"event": "config", "warmup": 1})

    def test_a_config_with_text_for_a_number_is_an_error(self):
        self.failed(single(pair("ch1/baseline_config_wrong.py")), "config", "`iterations` is 'many'")

    def test_s0_56_what_validate_result_says(self):
        def told_for(*verdicts):
            return drive([pair("ch1/baseline_validated.py", params={"verdict": verdict}) for verdict in verdicts]).each()

        for told in told_for("none", "true", "empty"):
            self.assertEqual(told.one("validation"), {"event": "validation", "passed": True})
        wrong = {"text": "row 3 is off by 0.25", "false": "returned False", "raise": "AssertionError: rows differ", "odd": "returned [1]"}
        for words, told in zip(wrong.values(), told_for(*wrong)):
            self.assertFalse(told.one("validation")["passed"])
            self.assertIn(words, told.one("validation")["message"])
            self.measured(told)

    def test_s0_42_inference_times_are_joined_over_the_measured_calls(self):
        told = single(pair("ch1/baseline_inference.py"), cold=True)
        self.assertEqual(told.values("ttft"), [1.0, 1.5])
        told = single(pair("ch1/baseline_inference.py"))
        calls = told.notes()["calls_per_sample"] * 3
        self.assertEqual(len(told.values("ttft")), 2 * calls)
        self.assertEqual(told.values("tpot"), [1.0, 2.0] * calls)
        self.assertGreater(told.values("ttft")[0], 2.5, "a warm-up call was counted")
        self.assertEqual(told.sample("ttft")["unit"], "ms")

    def test_s0_43_requests_and_tokens_are_those_of_the_measured_calls(self):
        told = single(pair("ch1/baseline_inference.py"), cold=True)
        self.assertEqual((told.notes()["items_measured"], told.notes()["tokens_measured"]), (2, 256))
        told = single(pair("ch1/baseline_inference.py"), warmup=5)
        calls = told.notes()["calls_per_sample"] * 3
        self.assertEqual((told.notes()["items_measured"], told.notes()["tokens_measured"]), (2 * calls, 256 * calls))
        self.assertEqual(len(told.values("ttft")), told.notes()["items_measured"])
        self.assertNotIn("items_measured", single(pair("ch2/baseline_minimal.py")).notes())

    def test_b21_a_call_returns_one_ttft_a_request_and_one_tpot_a_token(self):
        told = single(pair("ch1/baseline_inference_tokens.py"), cold=True)
        self.measured(told, 1)
        self.assertEqual(told.values("ttft"), [12.0])
        self.assertEqual(told.values("tpot"), [2.0 + token / 16 for token in range(16)])

    def test_s0_68_wrong_inference_times_are_errors(self):
        faults = {"negative": "-0.5", "empty": "empty list", "unequal": "2 entries in ttft_times_ms and 1 in", "text": "'fast'", "nan": "nan", "no list": "5.0"}
        all_told = drive([pair("ch1/baseline_inference_wrong.py", params={"fault": fault}) for fault in faults]).each()
        for words, told in zip(faults.values(), all_told):
            self.failed(told, "bad_result", words)
            self.assertEqual(told.values("ttft"), [])

    def test_s0_86_work_of_an_iteration(self):
        told = single(pair("ch1/baseline_inference.py"))
        work = next(event for event in told.of("metadata") if "items" in event)
        self.assertEqual((work["items"], work["tokens"], work["bytes"]), (2, 256, 4096))
        self.assertEqual((told.notes()["custom_units_per_iteration"], told.notes()["custom_unit_name"]), (3, "tiles"))

    def test_own_figures_are_judged_only_where_the_name_tells_the_direction(self):
        told = single(pair("ch1/baseline_figures.py"))
        self.assertEqual(told.sample("copy_gb_s"),
                         {"event": "sample", "metric": "copy_gb_s", "value": 812.5, "unit": "GB/s", "better": "higher"})
        self.assertEqual(told.sample("wait_ms")["better"], "lower")
        self.assertEqual(told.sample("occupancy"), {"event": "sample", "metric": "occupancy", "value": 0.75, "gate": False})
        self.assertEqual(told.sample("custom/time")["value"], 3.0)
        self.assertEqual(told.sample("hit_rate")["value"], 99)
        self.measured(told)

    def test_the_least_benchmark_is_measured(self):
        told = single(pair("ch2/baseline_minimal.py"))
        self.measured(told)
        self.assertEqual(told.of("validation"), [])

    def test_s0_71_helpers_for_authors_are_there(self):
        told = single(pair("ch2/baseline_author.py", params={"n": 5}))
        self.measured(told)
        self.assertEqual(told.values("n"), [5])
        self.skipped(single(pair("ch2/baseline_author.py", params={"n": 5, "skip": True})), "asked to")

    def test_a_module_gbench_of_the_users_own_stays_theirs(self):
        told = single(pair("own/baseline_own_gbench.py"))
        self.assertEqual(told.values("own"), [1])

    def test_an_unknown_way_is_an_error_of_the_request(self):
        self.failed(drive([{"way": "dance", "file": "ch1/baseline_order.py"}]), "request", "`dance`")
