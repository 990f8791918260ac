"""Modules that print, exit, patch, leave things behind, or break: each ending has one cause, and no result is lost."""
import resource
import signal

from .support import DriverTest, drive, in_a_quiet_moment, pair, single, written

MINIMAL = "class Bench:\n    def benchmark_fn(self): sum(range(100))\n"


class Channel(DriverTest):
    def test_s0_8_what_a_module_prints_loses_no_result(self):
        told = single(pair("prints.py"), "misbehaving")
        self.measured(told)
        self.assertIn(b"\xff\xfe not UTF-8", told.stdout)
        self.assertIn(b'"value": 1e-9', told.stdout)
        self.assertNotIn(1e-9, told.values())

    def test_a_closed_stdout_loses_no_result(self):
        self.measured(single(pair("closes_stdout.py"), "misbehaving"))

    def test_closing_the_small_descriptors_loses_no_result(self):
        self.measured(single(pair("closes_descriptors.py"), "misbehaving"))

    def test_closing_all_descriptors_loses_no_result_where_the_channel_has_a_path(self):
        told = drive([pair("closes_all_descriptors.py")], "misbehaving", channel="fd+path")
        self.assertEqual(len(told.values()), 3)
        for file, text in (("all.py", "import os\nos.closerange(3, 6000)\n"), ("more.py", "import os, resource\n"
                           "os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n")):
            told = written({file: text + MINIMAL}, [file])
            self.assertEqual(told.code, 3)
            self.assertIn("the channel to the gate cannot be written", told.stderr)

    def test_closing_what_somebody_took_for_all_descriptors_loses_no_result(self):
        told = written({"b.py": "import os\nos.closerange(3, 4096)\n" + MINIMAL}, ["b.py"])
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 5000:
            self.measured(told)

    def test_a_file_that_took_the_channels_number_gets_none_of_its_lines(self):
        files = "kept = [open(os.path.join(os.path.dirname(__file__), 'f%d' % n), 'w+') for n in range(260)]\n"
        text = ("import os, resource\nlimit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]\nos.closerange(3, limit)\n" + files
                + "for n in (200, 1000, 5000):\n    if n < limit and n > 262: os.dup2(kept[0].fileno(), n)\n" + MINIMAL
                + "    def get_custom_metrics(self):\n        return {'size': sum(os.fstat(file.fileno()).st_size for file in kept)}\n")
        told = written({"b.py": text}, ["b.py"], channel="fd+path")
        self.assertEqual((len(told.values()), told.values("size")), (3, [0]), told.stderr)

    def test_the_events_can_go_to_a_path_or_to_stdout(self):
        for channel in ("path", "stdout"):
            self.measured(drive([pair("ch2/baseline_minimal.py")], channel=channel))

    @in_a_quiet_moment
    def test_a_forked_child_says_nothing(self):
        told = single(pair("forks.py"), "misbehaving")
        self.nobody_at_work(told)
        self.measured(told)
        self.assertEqual(len(told.of("end")), 1)

    @in_a_quiet_moment
    def test_workers_that_are_spawned_do_not_measure(self):
        told = drive([pair("spawns.py")], "misbehaving", options={"path": ["."]})
        self.nobody_at_work(told)
        self.measured(told)
        self.assertTrue(told.one("validation")["passed"])
        self.assertEqual(len(told.of("end")), 1)


class Endings(DriverTest):
    def test_sys_exit_is_an_error_with_its_code(self):
        self.failed(single(pair("exits_at_import.py"), "misbehaving"), "exit", "it called sys.exit(1)")
        self.failed(single(pair("exits.py"), "misbehaving"), "exit", "it called sys.exit(3)")
        self.failed(single(pair("exits.py", params={"how": "interrupt"}), "misbehaving"), "KeyboardInterrupt", "it raised KeyboardInterrupt")

    def test_leaving_at_once_is_seen_by_the_missing_end(self):
        told = single(pair("exits.py", params={"how": "at once"}), "misbehaving")
        self.assertEqual((told.of("end"), told.values(), told.stages()[-1]), ([], [], "warmup"))

    def test_s0_10_a_crash_leaves_what_was_said_before(self):
        told = single(pair("crashes.py"), "misbehaving")
        self.assertEqual((told.code, told.stages()[-1]), (-signal.SIGSEGV, "warmup"))

    def test_s0_38_running_out_of_memory_has_its_own_kind(self):
        for told in drive([pair("out_of_memory.py", params={"how": how}) for how in ("python", "torch", "text")], "misbehaving").each():
            self.failed(told, "out_of_memory")

    def test_s0_60_samples_before_an_error_are_kept(self):
        told = single(pair("breaks_late.py"), "misbehaving", warmup=2, iterations=20)
        error = self.failed(told, "OSError", "the disk is full")
        self.assertEqual(len(told.values()), 5)
        self.assertLess(told.events.index(told.of("samples")[-1]), told.events.index(error))

    def test_s0_55_the_traceback_has_the_users_frames_and_the_cause(self):
        trace = self.failed(single(pair("chained.py"), "misbehaving"), "RuntimeError", "RuntimeError: no model")["trace"]
        self.assertIn("KeyError: 'weights'", trace)
        self.assertIn("in inner", trace)
        self.assertNotIn("gbench_driver", trace)

    def test_an_exception_that_cannot_be_printed_is_still_an_error(self):
        self.failed(single(pair("unprintable.py"), "misbehaving"), "Unprintable", "cannot be printed")
        self.failed(single(pair("unprintable.py", params={"surrogate": True}), "misbehaving"), "ValueError", "\\udc80")

    def test_an_error_in_the_teardown_is_an_error(self):
        told = single(pair("teardown_breaks.py"), "misbehaving")
        self.failed(told, "teardown", "cannot clean up")
        self.assertEqual(len(told.values()), 3)

    def test_of_two_errors_the_first_is_the_cause(self):
        told = single(pair("teardown_breaks.py", params={"both": True}), "misbehaving")
        self.failed(told, "ValueError", "setup broke first")
        self.assertEqual(told.notes()["also_failed"], ["RuntimeError: cannot clean up"])

    def test_a_handler_at_exit_that_hangs_does_not_hold_the_process(self):
        self.measured(single(pair("hangs_at_exit.py"), "misbehaving"))  # it hangs for longer than `drive` waits
        self.measured(single(pair("replaces_exit.py"), "misbehaving"))


class Skips(DriverTest):
    def skips(self, *rows):
        """What is told of each; a row has what differs from a skip in words at the setup."""
        usual = {"stage": "setup", "text": "SKIPPED: needs two GPUs\nsecond line", "kind": "runtime"}
        return drive([pair("ch2/baseline_skips.py", params=dict(usual, **row)) for row in rows]).each()

    def test_s0_69_the_word_of_a_skip_counts_wherever_it_is_raised(self):
        for told in self.skips(*({"stage": stage} for stage in ("init", "setup", "call", "validate"))):
            self.skipped(told, "needs two GPUs")
            self.assertNotIn("second line", told.one("skip")["reason"])

    def test_s0_69_exceptions_of_test_frameworks_are_skips(self):
        for told in self.skips({"text": "no GPU here", "kind": "unittest"}, {"text": "no GPU here", "kind": "pytest"}):
            self.skipped(told, "no GPU here")

    def test_s0_69_words_for_a_missing_gpu(self):
        texts = ("CUDA required", "No CUDA GPUs are available", "Torch not compiled with CUDA enabled", "Found no NVIDIA driver on your system",
                 "CUDA is not available", "This benchmark requires a CUDA GPU", "CUDA Graphs require CUDA device",
                 "CUDA error: CUDA driver version is insufficient for CUDA runtime version",
                 "Cannot access accelerator device when none is available.")
        *all_told, wrong = self.skips(*({"text": text} for text in texts), {"text": "the CUDA kernel is wrong"})
        for text, told in zip(texts, all_told):
            self.skipped(told, "needs a CUDA device: " + text)
        self.failed(wrong, "RuntimeError")

    def test_s0_69_a_printed_word_is_no_skip(self):
        self.measured(single(pair("ch2/baseline_says_skipped.py")))


class Cases(DriverTest):
    def test_a_failed_case_does_not_stop_the_others(self):
        told = drive([pair("missing_module.py"), pair("looks_around.py"), pair("exits.py"), pair("looks_around.py")], "misbehaving")
        self.assertEqual([event["index"] for event in told.of("case")], [0, 1, 2, 3])
        self.assertEqual([event["kind"] for event in told.of("error")], ["import", "exit"])
        self.assertEqual(len(told.values(case=3)), 3)

    def test_what_a_case_changes_is_put_back(self):
        told = drive([pair("changes_everything.py"), pair("looks_around.py")], "misbehaving")
        self.assertEqual(told.one("validation", 1), {"event": "validation", "passed": True})
        self.assertNotIn("leaves", told.notes())

    def test_a_closed_stdout_ends_the_process(self):
        told = drive([pair("closes_stdout.py"), pair("looks_around.py")], "misbehaving")
        self.measured(told)
        self.assertEqual(told.notes()["leaves"],
                         ["a closed sys.stdin, sys.stdout or sys.stderr", "another file at descriptor 0, 1 or 2"])

    def test_a_replaced_clock_fails_the_case_and_does_not_reach_the_measurement(self):
        told = drive([pair("patches_clock.py"), pair("looks_around.py")], "misbehaving")
        error = told.one("error")
        self.assertEqual(error["kind"], "patched_clock")
        self.assertIn("time.perf_counter, time.perf_counter_ns", error["message"])
        self.assertTrue(all(value > 1e-5 for value in told.values(case=0)))
        self.assertEqual(len(told.values(case=1)), 3)

    def test_a_thread_that_outlives_the_calls_fails_the_case(self):
        told = drive([pair("thread_left.py"), pair("looks_around.py")], "misbehaving")
        error = self.failed(told, "left_running", "behind the measured calls", "in no sample")
        self.assertIn("behind", error["message"])
        self.assertIn("thread behind", told.notes()["leaves"])
        self.assertEqual(told.case(1), [], "the next case needs a fresh process")

    def test_a_thread_that_outlives_the_teardown_fails_the_case(self):
        told = single(pair("thread_left.py", params={"when": "setup"}), "misbehaving")
        self.failed(told, "left_running", "after teardown()", "forgotten")

    @in_a_quiet_moment
    def test_a_thread_of_the_import_that_only_waits_is_noted_and_the_process_ends(self):
        told = drive([pair("thread_of_import.py"), pair("looks_around.py")], "misbehaving")
        self.nobody_at_work(told)
        self.measured(told)
        self.assertEqual(told.notes()["leaves"], ["thread served"])
        self.assertEqual(told.case(1), [], "the next case needs a fresh process")

    @in_a_quiet_moment
    def test_a_thread_of_the_import_that_did_the_work_fails_the_case(self):
        told = single(pair("thread_of_import.py", params={"works": True}), "misbehaving")
        self.somebody_at_work(told, "served")

    @in_a_quiet_moment
    def test_a_librarys_idle_thread_is_noted_and_the_process_ends(self):
        told = drive([pair("thread_left.py", params={"when": "library"}), pair("looks_around.py")], "misbehaving")
        self.nobody_at_work(told)
        self.measured(told)
        self.assertEqual(told.notes()["leaves"], ["thread pool_0"])

    def test_replacing_what_the_driver_uses_itself_loses_no_result(self):
        gone = "def gone(*words, **keys): raise RuntimeError('replaced')\n"
        for lines in ("import json\njson.dumps = json.JSONEncoder = gone", "import gc\ngc.collect = gc.disable = gone",
                      "import builtins\nbuiltins.len = builtins.open = builtins.sorted = None", "import os\nos.fstat = os.listdir = os.chdir = gone"):
            told = written({"a.py": gone + lines + "\n" + MINIMAL, "b.py": MINIMAL}, ["a.py", "b.py"], alone=True)
            self.assertEqual(told.of("error"), [], (lines, told.stderr))
            self.assertEqual(len(told.values(case=0)), 3, lines)
            self.assertEqual(len(told.values(case=1)), 3, (lines, told.notes(0)))
            self.ended(told)
        # This breaks the standard library. What a case needs of it depends on Python's version; only this case may fail.
        told = written({"a.py": "import builtins\nbuiltins.isinstance = builtins.getattr = None\n" + MINIMAL, "b.py": MINIMAL}, ["a.py", "b.py"])
        kinds = [error["kind"] for error in told.of("error")]
        self.assertIn((kinds, len(told.values(case=0))), (([], 3), (["TypeError"], 0)))
        self.assertEqual(len(told.values(case=1)), 3)
        self.ended(told)

    @in_a_quiet_moment
    def test_threads_that_have_ended_are_fine(self):
        told = drive([pair("thread_left.py", params={"when": "joined"}), pair("ends_its_thread.py")], "misbehaving")
        self.nobody_at_work(told)
        self.assertEqual((told.of("error"), len(told.values(case=1))), ([], 3))

    @in_a_quiet_moment
    def test_a_child_that_is_left_is_noted_and_the_process_ends(self):
        told = drive([pair("child_left.py"), pair("looks_around.py")], "misbehaving")
        self.nobody_at_work(told)
        self.measured(told)
        self.assertRegex(told.notes()["leaves"][0], r"process \d+ sleep")

    def test_a_trace_function_that_is_left_ends_the_process(self):
        told = drive([pair("traces.py"), pair("looks_around.py")], "misbehaving")
        self.assertEqual(told.notes()["leaves"], ["a trace function (sys.settrace)"])
        self.assertEqual(told.case(1), [])
