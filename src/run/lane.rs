//! One record in the making: a lane of a plan, with its folder and its cases.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::devices::Devices;
use super::draft::{Around, Draft};
use super::executor::{Execution, Stop};
use super::judge::signal_name;
use super::nothing::{self, Start};
use super::requires;
use crate::model::{CaseRecord, FailureKind, Manifest, Outcome, RecordState, Result, RunRecord, Side};
use crate::plan::{Lane, PlannedCase};
use crate::store::RunFolder;
use crate::suite::Benchmark;

/// One lane's result.
#[derive(Debug)]
pub struct Finished {
    pub record: RunRecord,
    /// `artifacts/<run_id>`, or the side's part of a comparison's folder.
    pub folder: RunFolder,
    /// Signal number, if one ended the run.
    pub interrupted: Option<i32>,
    /// A GPU that a benchmark requires is not here.
    pub gpu_missing: bool,
}

/// The state of one lane.
pub struct LaneRun {
    pub side: Option<Side>,
    pub record: RunRecord,
    pub folder: RunFolder,
    /// By index of the case in the record.
    drafts: Vec<Draft>,
    /// How long the interpreters of its benchmarks take to start.
    pub starts: Vec<Start>,
    /// Benchmark id to the outcome that settles all its cases before they run.
    pub settled: BTreeMap<String, Outcome>,
    gpu_missing: bool,
}

impl LaneRun {
    /// Begins a lane in the new folder `root`: every case stands in its record from the start, as not run.
    pub fn begin<'a>(
        lane: &Lane,
        cases: impl Iterator<Item = &'a PlannedCase>,
        mut record: RunRecord,
        root: &Path,
    ) -> Result<Self> {
        let drafts;
        (drafts, record.cases) = cases.map(Draft::new).unzip();
        record.state = RecordState::Interrupted;
        let folder = RunFolder::create(root, &record)?;
        Ok(Self::new(lane, record, folder, drafts))
    }

    /// Goes on where `record` stands, in its own folder. Its cases are those of the plan, in the same order.
    pub fn resume<'a>(
        lane: &Lane,
        cases: impl Iterator<Item = &'a PlannedCase>,
        mut record: RunRecord,
        root: &Path,
    ) -> Result<Self> {
        let drafts =
            cases.zip(&mut record.cases).map(|(planned, case)| Draft::resumed(planned, case)).collect();
        record.state = RecordState::Interrupted;
        record.finished = None;
        let folder = RunFolder::reopen(root, &record)?;
        Ok(Self::new(lane, record, folder, drafts))
    }

    fn new(lane: &Lane, mut record: RunRecord, folder: RunFolder, mut drafts: Vec<Draft>) -> Self {
        let mut settled = BTreeMap::new();
        let mut gpu_missing = false;
        let devices = Arc::new(Devices::of(&record.manifest));
        drafts.iter_mut().for_each(|draft| draft.knows(devices.clone()));
        for benchmark in &lane.benchmarks {
            if let Some(what) = devices.missing(&benchmark.settings.device.value) {
                settled.insert(benchmark.id.to_string(), not_here(what));
                gpu_missing = true;
            } else if let Some((outcome, gpu)) = unmet(benchmark, &record.manifest) {
                gpu_missing |= gpu;
                settled.insert(benchmark.id.to_string(), outcome);
            } else if let Some(warning) = devices.unchecked(&benchmark.settings.device.value)
                && !record.warnings.contains(&warning)
            {
                record.warnings.push(warning);
            }
        }
        Self { side: lane.side, record, folder, drafts, starts: Vec::new(), settled, gpu_missing }
    }

    pub fn case(&self, index: usize) -> &CaseRecord {
        &self.record.cases[index]
    }

    pub fn is_broken(&self, index: usize) -> bool {
        self.drafts[index].is_broken()
    }

    /// Settles a case whose benchmark cannot run here, or was not built. Says whether it did.
    pub fn settle(&mut self, index: usize) -> bool {
        let draft = &mut self.drafts[index];
        let Some(outcome) = self.settled.get(draft.planned().benchmark.id.as_str()) else { return false };
        let fresh = !draft.is_broken();
        draft.break_off(&mut self.record.cases[index], outcome.clone());
        fresh
    }

    pub fn break_off(&mut self, index: usize, outcome: Outcome) {
        self.drafts[index].break_off(&mut self.record.cases[index], outcome);
    }

    /// Takes what a process gave, into the record alone.
    pub fn add(&mut self, index: usize, execution: &Execution, around: Around) {
        let case = &mut self.record.cases[index];
        let sign = nothing::sign(execution, &self.drafts[index].planned().benchmark, &self.starts);
        case.nothing_measured
            .extend(sign.filter(|sign| !case.nothing_measured.iter().any(|it| it.is_like(sign))));
        self.drafts[index].add(case, execution, around);
    }

    /// Says something of a case, once.
    pub fn warn(&mut self, index: usize, text: String) {
        let warnings = &mut self.record.cases[index].warnings;
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// A case that has run and not broken counts, however the run ends: in rounds it may end at any of them.
    pub fn count_as_measured(&mut self, index: usize) {
        if !self.drafts[index].is_broken() {
            self.record.cases[index].outcome = Outcome::Measured;
        }
    }

    /// Ends a case: see [`Draft::finish`].
    pub fn end_case(&mut self, index: usize, complete: bool) {
        self.drafts[index].finish(&mut self.record.cases[index], complete);
    }

    /// Writes the newest process of a case down.
    pub fn keep_process(&mut self, index: usize) -> Result<()> {
        self.folder.keep_process(index, &self.record.cases[index])
    }

    pub fn keep_outcome(&mut self, index: usize) -> Result<()> {
        self.folder.keep_outcome(index, &self.record.cases[index])
    }

    pub fn log(&self, name: &str, execution: &Execution) -> Result<()> {
        self.folder.log(&format!("{name}.stdout.log"), &execution.stdout.bytes())?;
        self.folder.log(&format!("{name}.stderr.log"), &execution.stderr.bytes())
    }

    /// Writes the whole record. `ended`: what came before the plan was through.
    pub fn finish(mut self, ended: Option<Stop>) -> Result<Finished> {
        self.record.finished = Some(humantime::format_rfc3339_millis(SystemTime::now()).to_string());
        if ended.is_none() {
            self.record.state = RecordState::Complete;
        }
        let interrupted = match ended {
            Some(Stop::Interrupt(signal)) => Some(signal),
            _ => None,
        };
        if let Some(stop) = ended {
            self.record.warnings.push(format!("{NOT_COMPLETE}: {}", why_ended(stop)));
        }
        self.folder.finish(&self.record)?;
        let LaneRun { record, folder, gpu_missing, .. } = self;
        Ok(Finished { record, folder, interrupted, gpu_missing })
    }
}

/// How the warning of a record begins whose run was cut short.
pub const NOT_COMPLETE: &str = "the run is not complete";

/// Refused rather than skipped: what was asked for by its number cannot be measured on another one.
fn not_here(cause: String) -> Outcome {
    let advice = "name a GPU that `nvidia-smi` lists, or take `device` out".into();
    Outcome::Failed { kind: FailureKind::MissingDependency, cause, advice }
}

fn unmet(benchmark: &Benchmark, manifest: &Manifest) -> Option<(Outcome, bool)> {
    let missing = requires::missing(benchmark, manifest);
    if missing.is_empty() {
        return None;
    }
    let gpu = missing.iter().any(|missing| missing.gpu);
    // Equal advice is given once: two missing files are fetched alike.
    let told = |part: fn(&requires::Missing) -> &str| {
        let mut parts: Vec<&str> = Vec::new();
        for text in missing.iter().map(part) {
            if !parts.contains(&text) {
                parts.push(text);
            }
        }
        parts.join("; ")
    };
    let (cause, advice) = (told(|missing| &missing.what), told(|missing| &missing.next));
    let outcome = match benchmark.settings.fail_on_missing.value {
        true => Outcome::Failed { kind: FailureKind::MissingDependency, cause, advice },
        false => Outcome::Skipped { cause, advice },
    };
    Some((outcome, gpu))
}

fn why_ended(stop: Stop) -> String {
    match stop {
        Stop::Interrupt(signal) => format!("{} ended it", signal_name(signal)),
        _ => "its deadline came".into(),
    }
}

/// What becomes of a case that had no turn before the end.
pub fn not_reached(stop: Stop) -> Outcome {
    match stop {
        Stop::Interrupt(signal) => Outcome::NotRun {
            cause: format!("{} came before its turn", signal_name(signal)),
            advice: "run again".into(),
        },
        _ => Outcome::NotRun {
            cause: "the run's deadline came before its turn".into(),
            advice: "raise `deadline` in [run], or select less".into(),
        },
    }
}

/// A file name's worth of a case's name.
pub fn slug(name: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
    name.chars().take(80).map(word).collect::<String>().trim_matches(['-', '.']).to_owned()
}
