"""Leads one case through its stages, in one order for all ways of calling: import, load, setup, warm-up, measurement,
verification, teardown.

Each stage is announced before its first foreign line runs, because the gate limits its time from outside. Whatever a stage raises
ends the case with one cause; the teardown runs in any case, and samples that were taken before are sent before the cause is.
"""
import importlib
import os
import sys

from . import conditions, device, failures, leftovers, loading, originals, versions
from .outcome import Outcome
from .provenance import Provenance
from .results import Returned
from .samples import Samples
from .settings import Settings
from .watched import StageRanges, TorchProfile

WAYS = ("class", "function", "self_timed", "sweep")


class CaseRun:
    def __init__(self, request, case, channel, seeds, cache):
        self.request, self.case, self.channel, self.seeds, self.cache = request, case, channel, seeds, cache
        self.outcome = Outcome(channel)
        self.settings = Settings(request, case)
        self.subject = self.timer = self.before_setup = self.before_calls = self.busy_before = self.place = None
        self.ranges = StageRanges()
        self.torch_profile = TorchProfile(request.torch_profile)
        self.notes_sent = {}
        self.work = {}

    def run(self, place):
        """Runs all stages. Raises nothing but what is the driver's own fault."""
        self.place = place
        provenance = Provenance(self.request.tree)
        try:
            self._import_and_load(provenance.python_path())
            provenance.check()
            self._setup_and_measure()
            provenance.check()
        except BaseException as failure:
            self.outcome.ended_by(provenance.told(failure))
        self._look_for_threads()
        self._look_for_clocks()
        self._teardown()
        self.ranges.leave()

    def stage(self, name):
        self.channel.send("stage", stage=name)
        self.ranges.enter(name)

    def notes(self, notes, **keys):
        """Sends notes, those that were not sent yet."""
        new = {key: value for key, value in notes.items() if self.notes_sent.get(key, self) != value}
        self.notes_sent.update(new)
        if new or keys:
            self.channel.send("metadata", notes=new or None, **keys)

    def _import_and_load(self, python_path):
        self.stage("import")
        if self.case["way"] == "fault":
            raise failures.error("config", self.case["message"] or "what describes the benchmark cannot be read")
        if self.case["way"] not in WAYS:
            raise failures.error("request", "the way `%s` is not known to this driver; there are %s" % (self.case["way"], ", ".join(WAYS)))
        self.place.extend_search_path(self.request.options["path"] + python_path)
        os.chdir(self.place.root)
        sys.argv[:] = [self.place.path]
        if not os.path.isfile(self.place.path):
            raise failures.error("import", "the file %s is not there" % self.place.file)
        conditions.check(self.case)
        device.check_backend(self.case["backend"])
        self.seeds.seed_all()
        try:
            module = loading.load(self.place)
        except SyntaxError as failure:
            raise failures.error("import", failures.message(failure), failure)
        self.stage("load")
        with originals.BuiltIn():
            way = importlib.import_module("gbench_driver.%s_way" % self.case["way"])
        self.subject = way.Subject(module, self.place, self.case)
        told = self.settings.follow(self.subject.config(), self.request.pinned)
        if told:
            self.channel.send("config", **told)

    def _setup_and_measure(self):
        subject = self.subject
        self.before_setup = leftovers.Running()
        self.stage("setup")
        self.seeds.seed_all()
        subject.setup()
        if not subject.times_itself:
            self.busy_before = leftovers.Others().busy()
        keys, notes = subject.work()
        self.notes(notes, **keys)
        self.work = keys
        returned = Returned(subject.what)
        if subject.times_itself:
            self.timer = subject.timer(self.settings, self.cache)
            self.notes({option: "not applied: the benchmark times itself" for option in ("flush_l2", "fresh_inputs", "cuda_graph", "mode")
                        if self.request.options[option] not in (False, "auto")})
        else:
            with originals.BuiltIn():
                from . import timers
            self.timer = timers.Timer(self.request.options, self.settings, subject, returned.look, self.request.profiled)
        self.stage("warmup")
        self.timer.warm_up()
        # Its threads are there before the benchmark's own are looked for.
        self.torch_profile.start()
        try:
            self._measure(returned)
        finally:
            self.torch_profile.stop()
        self.stage("verify")
        self._verify()
        subject.send_figures(self.channel)

    def _measure(self, returned):
        samples, at_work = Samples(self.channel, self.timer.unit), []
        self.timer.begin()
        self.before_calls = leftovers.Running()
        self.stage("measure")
        try:
            self.timer.measure(samples)
            if not self.subject.times_itself and samples.values:
                at_work = leftovers.at_work_behind(sorted(samples.values)[len(samples.values) // 2], self.busy_before, self.before_calls,
                                                   self.place.root)
        finally:
            samples.send_rest()
            returned.send(self.channel)
        self.timer.send_more(self.channel)
        self.notes(self.timer.notes())
        self._tell_totals(len(samples.values))
        self._tell_device_and_memory()
        if at_work:
            raise failures.error("left_running", "work went on behind the measured calls (%s), so that what they handed over is in no sample. "
                                 "Wait for it in the measured function, by `result()` or `join()`" % ", ".join(at_work))

    def _tell_totals(self, samples):
        """Requests and tokens of all measured calls, without those of the warm-up."""
        calls = self.timer.notes().get("calls_per_sample")
        if calls is not None:
            self.notes({name + "_measured": self.work[name] * calls * samples for name in ("items", "tokens") if name in self.work})

    def _tell_device_and_memory(self):
        used = device.Used(self.subject, self.timer)
        if used.on_cuda:
            self.channel.send("metadata", device=used.name)
        keys, notes = used.memory(self.request.alone)
        if keys:
            self.channel.send("memory", **keys)
        self.notes(notes)
        self.notes(versions.of_torch())
        self.notes(versions.of_autotuners())
        used.check(self.case)

    def _verify(self):
        """The verdict on the result.

        An exception in a check is a wrong result with that text, unless it says that it must be skipped.
        """
        try:
            verdict = self.subject.validate()
        except failures.Stop:
            raise
        except BaseException as failure:
            if failures.skip_reason(failure, failures.cuda_is_there) is not None:
                raise
            self.notes({"validation_trace": failures.trace(failure)})
            verdict = False, failures.message(failure), {}
        if verdict is None:
            if self.case["way"] == "function":
                # Those of a bench.yaml are for all kernels of the folder, and perhaps not for this one.
                self.notes({"reference": "none"})
                if self.case["tolerances"]:
                    self.notes({"unchecked": "bench.yaml has tolerances, and the module has no reference to hold its result against"})
        if verdict is not None:
            self._tell_verdict(*verdict)
        if self.request.options["check_determinism"]:
            with originals.BuiltIn():
                from . import determinism
            verdict, note = determinism.check(self.subject, self.seeds)
            self.notes({"determinism": note})
            if verdict is not None:
                self._tell_verdict(*verdict)

    def _tell_verdict(self, passed, message, figures):
        self.channel.send("validation", passed=passed, message=message, errors=figures or None)

    def _look_for_threads(self):
        """A thread of the user's that the measured calls started and that is still at work: its work is in no sample."""
        if self.before_calls is None:
            return
        left = leftovers.Left(self.before_calls, self.place.root, with_children=False)
        if left.users:
            self.outcome.ended_by(failures.error(
                "left_running", "a thread that the measured calls started was still running after them (%s), so its work may be in no sample. "
                "Wait for it in the measured function" % ", ".join(left.users.values())))

    def _look_for_clocks(self):
        """A clock that the benchmark replaced.

        What it measured with it cannot be trusted, even where the driver's own is another.
        """
        replaced = originals.put_back()
        if replaced:
            self.outcome.ended_by(failures.error("patched_clock", "%s replaced %s, by which times are measured; what was measured cannot be "
                                                 "trusted. Leave the clocks as they are" % (self.place.file, ", ".join(replaced))))

    def _teardown(self):
        self.stage("teardown")
        if self.subject is not None:
            try:
                self.subject.teardown()
            except BaseException as failure:
                self.outcome.ended_by(failure, "teardown")
        self.subject = self.timer = None
        self._look_for_clocks()
