//! Records one arm of a plan: its cases, its folder, its record.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::case_record::{CaseRecorder, ProcessContext, warn_once};
use super::code_files;
use crate::run::gpus::devices::Devices;
use crate::run::outcome::classify::{failed, lacking, signal_name};
use crate::run::outcome::nothing_done::{self, InterpreterStart};
use crate::run::outcome::requirements;
use crate::run::process::executor::Execution;
use crate::store::journal::RunFolder;
use gbench_formats::adapters::Harness;
use gbench_model::line::{Event, Lack};
use gbench_model::{
    CaseRecord, CutShort, FailureKind, Manifest, Outcome, Params, RecordState, Result, RunRecord, Side,
};
use gbench_suite::plan::{Arm, PlannedCase};
use gbench_suite::{Benchmark, Listing};

#[derive(Debug)]
pub struct Finished {
    pub record: RunRecord,
    /// `artifacts/<run_id>`, or the side's part of a comparison's folder.
    pub folder: RunFolder,
    pub interrupted: Option<i32>,
    pub gpu_missing: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct DecidedEarly {
    by_benchmark: BTreeMap<String, Outcome>,
    by_case: BTreeMap<(String, Params), Outcome>,
}

impl DecidedEarly {
    pub(crate) fn benchmark(&mut self, benchmark: &Benchmark, outcome: Outcome) {
        self.by_benchmark.insert(benchmark.id.to_string(), outcome);
    }

    pub(crate) fn case(&mut self, benchmark: &Benchmark, params: &Params, outcome: Outcome) {
        self.by_case.insert((benchmark.id.to_string(), params.clone()), outcome);
    }

    pub(crate) fn settles(&self, benchmark: &Benchmark) -> bool {
        self.by_benchmark.contains_key(benchmark.id.as_str())
    }

    fn of(&self, case: &PlannedCase) -> Option<&Outcome> {
        let id = case.benchmark.id.as_str();
        let of_case = || self.by_case.get(&(id.to_owned(), case.id.params.clone()));
        self.by_benchmark.get(id).or_else(of_case)
    }
}

pub(crate) struct ArmRecorder {
    pub side: Option<Side>,
    pub record: RunRecord,
    pub folder: RunFolder,
    /// By index of the case in the record.
    recorders: Vec<CaseRecorder>,
    pub starts: Vec<InterpreterStart>,
    /// Benchmark id to the harness of a program that is timed from outside and calibrates itself.
    pub calibrating: BTreeMap<String, Harness>,
    pub decided_early: DecidedEarly,
    gpu_missing: bool,
}

impl ArmRecorder {
    /// Begins an arm in the new folder `root`: its record contains every case from the start, as not run.
    pub(crate) fn begin<'a>(
        arm: &Arm,
        cases: impl Iterator<Item = &'a PlannedCase>,
        mut record: RunRecord,
        root: &Path,
    ) -> Result<Self> {
        let recorders;
        (recorders, record.cases) = cases.map(CaseRecorder::new).unzip();
        record.state = RecordState::Interrupted;
        let folder = RunFolder::create(root, &record)?;
        Ok(Self::new(arm, record, folder, recorders))
    }

    /// Continues from `record` in its own folder. Its cases are those of the plan, in the same order.
    pub(crate) fn resume<'a>(
        arm: &Arm,
        cases: impl Iterator<Item = &'a PlannedCase>,
        mut record: RunRecord,
        root: &Path,
    ) -> Result<Self> {
        let recorders = cases
            .zip(&mut record.cases)
            .map(|(planned, case)| CaseRecorder::resumed(planned, case))
            .collect();
        record.state = RecordState::Interrupted;
        record.finished = None;
        let folder = RunFolder::reopen(root, &record)?;
        Ok(Self::new(arm, record, folder, recorders))
    }

    fn new(arm: &Arm, mut record: RunRecord, folder: RunFolder, recorders: Vec<CaseRecorder>) -> Self {
        let mut decided_early = DecidedEarly::default();
        let mut gpu_missing = false;
        let devices = Devices::of(&record.manifest);
        for benchmark in &arm.benchmarks {
            if let Some(what) = devices.missing(&benchmark.settings.device.value) {
                // Not skipped: a device that was requested by number cannot be replaced by another one.
                let advice = "name a GPU that `nvidia-smi` lists, or remove `device`";
                let outcome = failed(FailureKind::MissingDependency, what, advice);
                decided_early.benchmark(benchmark, outcome);
                gpu_missing = true;
            } else if let Some(Listing::Failed { cause, advice }) =
                benchmark.harness.as_ref().map(|it| &it.listing)
            {
                decided_early.benchmark(benchmark, failed(FailureKind::Harness, cause.clone(), advice));
            } else if benchmark.pairs.is_some() && benchmark.has_no_files() {
                let cause = "its folders contain no pair of sources";
                let advice =
                    "look at `extension`, `roots` and `dir`; `gbench-ci discover` shows what there is";
                decided_early.benchmark(benchmark, failed(FailureKind::Harness, cause.into(), advice));
            } else if let Some((outcome, gpu)) =
                unmet(benchmark, &record.manifest).or_else(|| unmet_in_listing(benchmark))
            {
                gpu_missing |= gpu;
                decided_early.benchmark(benchmark, outcome);
            } else if let Some(warning) = devices.unchecked(&benchmark.settings.device.value)
                && !record.warnings.contains(&warning)
            {
                record.warnings.push(warning);
            }
        }
        Self {
            side: arm.side,
            record,
            folder,
            recorders,
            starts: Vec::new(),
            calibrating: BTreeMap::new(),
            decided_early,
            gpu_missing,
        }
    }

    /// Reads the device code files named in suite files, once per benchmark, after all builds.
    pub(crate) fn read_device_code(&mut self, benchmarks: &[Arc<Benchmark>]) {
        let named = |it: &&Arc<Benchmark>| !it.device_code.is_empty() && !self.decided_early.settles(it);
        for benchmark in benchmarks.iter().filter(named) {
            let files = code_files::read(&benchmark.device_code, &benchmark.dir, &self.record.manifest);
            for (recorder, case) in self.recorders.iter_mut().zip(&mut self.record.cases) {
                if recorder.planned().benchmark.id == benchmark.id {
                    recorder.take_files(case, &files);
                }
            }
        }
    }

    pub(crate) fn case(&self, index: usize) -> &CaseRecord {
        &self.record.cases[index]
    }

    pub(crate) fn points(&self, benchmark: &Benchmark) -> Vec<Params> {
        let planned = self.recorders.iter().map(CaseRecorder::planned);
        planned.filter(|case| case.benchmark.id == benchmark.id).map(|case| case.id.params.clone()).collect()
    }

    pub(crate) fn is_aborted(&self, index: usize) -> bool {
        self.recorders[index].is_aborted()
    }

    /// Settles a case whose benchmark cannot run here or was not built. True if it did.
    pub(crate) fn decide_early(&mut self, index: usize) -> bool {
        let recorder = &mut self.recorders[index];
        let Some(outcome) = self.decided_early.of(recorder.planned()) else {
            return false;
        };
        let fresh = !recorder.is_aborted();
        recorder.abort(&mut self.record.cases[index], outcome.clone());
        fresh
    }

    pub(crate) fn abort(&mut self, index: usize, outcome: Outcome) {
        self.recorders[index].abort(&mut self.record.cases[index], outcome);
    }

    pub(crate) fn set_jobs(&mut self, index: usize, jobs: usize) {
        self.recorders[index].set_jobs(&mut self.record.cases[index], jobs);
    }

    pub(crate) fn is_over(&self, index: usize) -> bool {
        self.is_aborted(index) || self.record.cases[index].outcome.is_measured()
    }

    pub(crate) fn add(&mut self, index: usize, execution: &Execution, context: ProcessContext) {
        let case = &mut self.record.cases[index];
        let benchmark = &self.recorders[index].planned().benchmark;
        let calibrating = self.calibrating.get(benchmark.id.as_str()).copied();
        for sign in nothing_done::signs(execution, benchmark, &self.starts, calibrating) {
            if !case.nothing_measured.iter().any(|it| it.is_like(&sign)) {
                case.nothing_measured.push(sign);
            }
        }
        let lacks_gpu = |event: &Event| matches!(event, Event::Skip { lacks: Some(Lack::Gpu), .. });
        self.gpu_missing |= execution.events.iter().any(lacks_gpu);
        self.recorders[index].add(case, &self.record.manifest, execution, context);
    }

    pub(crate) fn warn(&mut self, index: usize, text: String) {
        warn_once(&mut self.record.cases[index], text);
    }

    /// Marks a case that has run and was not aborted as measured, however the run ends: rounds may end at any time.
    pub(crate) fn count_as_measured(&mut self, index: usize) {
        if !self.recorders[index].is_aborted() {
            self.record.cases[index].outcome = Outcome::Measured;
        }
    }

    pub(crate) fn end_case(&mut self, index: usize, complete: bool) {
        self.recorders[index].finish(&mut self.record.cases[index], complete);
    }

    pub(crate) fn keep_process(&mut self, index: usize) -> Result<()> {
        self.folder.keep_process(index, &self.record.cases[index])
    }

    pub(crate) fn keep_outcome(&mut self, index: usize) -> Result<()> {
        self.folder.keep_outcome(index, &self.record.cases[index])
    }

    pub(crate) fn log(&self, name: &str, execution: &Execution) -> Result<()> {
        if let Some(request) = &execution.request {
            self.folder.log(&format!("{name}.request.json"), request.as_bytes())?;
        }
        self.log_output(name, &execution.stdout.bytes(), &execution.stderr.bytes())
    }

    pub(crate) fn log_output(&self, name: &str, stdout: &[u8], stderr: &[u8]) -> Result<()> {
        self.folder.log(&format!("{name}.stdout.log"), stdout)?;
        self.folder.log(&format!("{name}.stderr.log"), stderr)
    }

    /// Writes the whole record. `ended`: the reason for an early end. The warning about it must be the last one, because a
    /// resumed run removes it.
    pub(crate) fn finish(mut self, ended: Option<CutShort>) -> Result<Finished> {
        self.record.finished = Some(humantime::format_rfc3339_millis(SystemTime::now()).to_string());
        if ended.is_none() {
            self.record.state = RecordState::Complete;
        }
        self.record.cut_short = ended;
        let (interrupted, warning) = match ended {
            Some(CutShort::Interrupt { signal }) => {
                let warning = format!("the run is not complete: {} ended it", signal_name(signal));
                (Some(signal), Some(warning))
            }
            Some(CutShort::Deadline) => (None, Some("the run is not complete: its deadline came".into())),
            None => (None, None),
        };
        self.record.warnings.extend(warning);
        self.folder.finish(&self.record)?;
        let ArmRecorder { record, folder, gpu_missing, .. } = self;
        Ok(Finished { record, folder, interrupted, gpu_missing })
    }
}

/// A requirement that only the harness itself could check, such as the version of a tracer.
fn unmet_in_listing(benchmark: &Benchmark) -> Option<(Outcome, bool)> {
    match &benchmark.harness.as_ref()?.listing {
        Listing::Unmet { outcome, gpu } => Some((outcome.clone(), *gpu)),
        _ => None,
    }
}

/// The outcome of a benchmark's cases if a requirement is missing, and whether that is a GPU.
pub(crate) fn unmet(benchmark: &Benchmark, manifest: &Manifest) -> Option<(Outcome, bool)> {
    let missing = requirements::missing(benchmark, manifest);
    if missing.is_empty() {
        return None;
    }
    let gpu = missing.iter().any(|missing| missing.gpu);
    // Equal advice is given once, as for two missing files that are fetched alike.
    let told = |part: fn(&requirements::Missing) -> &str| {
        let mut parts: Vec<&str> = Vec::new();
        for text in missing.iter().map(part) {
            if !parts.contains(&text) {
                parts.push(text);
            }
        }
        parts.join("; ")
    };
    let (cause, advice) = (told(|missing| &missing.what), told(|missing| &missing.next));
    Some((lacking(benchmark, cause, advice), gpu))
}

pub(crate) fn slug(name: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
    name.chars().take(80).map(word).collect::<String>().trim_matches(['-', '.']).to_owned()
}
