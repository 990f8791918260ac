"""Every event of every fixture has the keys and the forms of the protocol, and every case that was announced has one ending."""
import os

from .support import FIXTURES, DriverTest, drive

NUMBER, TEXT, FLAG, COUNT, OBJECT, LIST = "number", "text", "flag", "count", "object", "list"
SAMPLE = {"metric": TEXT, "unit": TEXT, "better": TEXT, "gate": FLAG}
EVENTS = {
    "stage": {"stage": TEXT},
    "sample": dict(SAMPLE, value=NUMBER, iteration=COUNT),
    "samples": dict(SAMPLE, values=LIST),
    "metadata": {"items": NUMBER, "bytes": NUMBER, "flops": NUMBER, "tokens": NUMBER, "device": TEXT, "notes": OBJECT},
    "config": {"iterations": COUNT, "warmup": COUNT, "deadlines": OBJECT, "threshold": NUMBER},
    "memory": {"host_peak_bytes": COUNT, "device_peak_bytes": COUNT},
    "validation": {"passed": FLAG, "message": TEXT, "errors": OBJECT},
    "skip": {"reason": TEXT},
    "error": {"message": TEXT, "kind": TEXT, "trace": TEXT},
    "case": {"index": COUNT},
    "end": {},
}
FORMS = {
    NUMBER: lambda value: value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)),
    TEXT: lambda value: isinstance(value, str) and value != "",
    FLAG: lambda value: isinstance(value, bool),
    COUNT: lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    OBJECT: lambda value: isinstance(value, dict),
    LIST: lambda value: isinstance(value, list) and value and all(FORMS[NUMBER](entry) for entry in value),
}
STAGES = ("import", "load", "setup", "warmup", "measure", "verify", "teardown")
# These end the process or the channel on purpose.
ENDS = ("crashes.py", "closes_all_descriptors.py")
FOLDERS = {"pairs": "class", "kernels": "function", "functions": "function", "timing": "class", "misbehaving": "class", "self_timed": "self_timed",
           "sweeps": "sweep"}


class Events(DriverTest):
    def check(self, told):
        for event in told.events:
            keys = EVENTS[event["event"]]
            for key, value in event.items():
                if key != "event":
                    self.assertIn(key, keys, event)
                    self.assertTrue(FORMS[keys[key]](value), event)
        self.assertTrue(set(told.stages()) <= set(STAGES), told.stages())

    def test_every_fixture_speaks_the_protocol_and_has_one_ending(self):
        for folder, way in FOLDERS.items():
            files = sorted(os.path.relpath(os.path.join(place, name), os.path.join(FIXTURES, folder))
                           for place, _, names in os.walk(os.path.join(FIXTURES, folder)) for name in names
                           if name.endswith(".py") and name not in ENDS and not name.startswith("__"))
            while files:  # as the gate does: what a process leaves is asked of the next one
                told = drive([{"way": way, "file": file} for file in files], folder, options={"path": ["../fakes/cpu"]})
                self.check(told)
                self.ended(told)
                reached = len(told.of("case"))
                self.assertGreater(reached, 0, folder)
                for index in range(reached):
                    self.one_ending(told, index, files[index])
                files = files[reached:]

    def one_ending(self, told, index, file):
        causes = told.of("error", index) + told.of("skip", index)
        self.assertLessEqual(len(causes), 1, file)
        self.assertTrue(causes or told.values(case=index), "%s has neither a cause nor a sample" % file)
        self.assertNotEqual([cause.get("kind") for cause in causes], ["driver"], causes)
        self.assertEqual(told.stages(index)[-1], "teardown", file)

    def test_a_failed_case_has_no_verdict_that_says_it_is_right(self):
        told = drive([{"way": "class", "file": "ch1/baseline_failing.py"}])
        self.assertEqual(told.of("validation"), [])
