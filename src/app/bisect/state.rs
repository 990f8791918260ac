//! The measurements of a bisection so far: in memory, and line by line in its folder.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::figures::{BisectedMetric, ProcessFigure};
use crate::app::measuring::session::match_key;
use crate::compare::machine_key;
use crate::machine;
use crate::model::{
    BisectBeginning, BisectEntry, Exit, Fault, Result, RunId, SCHEMA_BISECT_STATE, sha256_hex,
};
use crate::stats::noisy_bisection::BisectionFigure;
use crate::store::BisectFolder;
use crate::suite::Suite;
use crate::trees::CommitRange;

/// Warnings of processes that are kept.
const MOST_WARNINGS: usize = 10;

/// One process that was measured.
#[derive(Clone, Debug)]
pub(super) struct MeasuredProcess {
    pub commit: usize,
    pub round: u32,
    /// In the metric's unit.
    pub value: f64,
    pub seconds: f64,
    pub counts: bool,
}

pub(super) struct BisectState {
    pub folder: BisectFolder,
    pub beginning: BisectBeginning,
    pub metric: Option<BisectedMetric>,
    pub measured: Vec<MeasuredProcess>,
    /// By index of the commit: why.
    pub broken: BTreeMap<usize, String>,
    pub builds: u32,
    pub build_seconds: f64,
    pub warnings: Vec<String>,
}

pub(super) struct ResumedBisection {
    pub folder: BisectFolder,
    pub beginning: BisectBeginning,
    entries: Vec<BisectEntry>,
    pub suite: String,
}

/// Reads a bisection back. Errors: it is of another version, or its suite file was edited; another one is named.
pub(super) fn resumed(root: &Path, suite_file: Option<&Path>) -> Result<ResumedBisection> {
    let (folder, mut entries, suite) = BisectFolder::reopen(root)?;
    let refused = |what: &str, next| Err(Fault::at_path(root, what, next).exits(Exit::Failed));
    let anew = "begin a new bisection";
    if entries.is_empty() {
        return refused("it was ended before it began", anew);
    }
    let BisectEntry::Begun(beginning) = entries.remove(0) else {
        return refused("its first line does not say what was begun", anew);
    };
    if beginning.schema != SCHEMA_BISECT_STATE {
        let form = &beginning.schema;
        let what = format!("it is of the form `{form}`, and this version reads `{SCHEMA_BISECT_STATE}`");
        return refused(&what, "resume it with the version that began it");
    }
    if sha256_hex(suite.as_bytes()) != beginning.suite_sha256 {
        let what = "its `suite.toml` is not the suite file that it was begun with: it was edited";
        return refused(what, "put its text back, or begin a new bisection");
    }
    if suite_file.is_some() {
        let what = "the bisection continues with the suite file that it was begun with";
        return Err(Fault::at_flag("--suite-file", what, "take the flag out, or begin a new bisection"));
    }
    Ok(ResumedBisection { folder, beginning: *beginning, entries, suite })
}

pub(super) fn machine_facts(suite: &Suite, folder: &Path) -> BTreeMap<String, String> {
    let key = machine_key(&machine::manifest(folder), &match_key(&suite.gate));
    key.into_iter().map(|(field, fact)| (field, fact.text)).collect()
}

/// Errors: another machine.
pub(super) fn same_machine(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Result<()> {
    let differs = before.iter().find_map(|(field, was)| {
        let is = now.get(field).filter(|is| *is != was)?;
        Some((field, was, is))
    });
    match differs {
        None => Ok(()),
        Some((field, was, is)) => {
            let what = format!("it was begun on another machine: `{field}` was {was} and is {is}");
            let next = "resume it where it was begun, or begin a new bisection";
            Err(Fault::at("--resume", what, next).exits(Exit::Machine))
        }
    }
}

impl BisectState {
    fn new(folder: BisectFolder, beginning: BisectBeginning) -> Self {
        Self {
            folder,
            beginning,
            metric: None,
            measured: Vec::new(),
            broken: BTreeMap::new(),
            builds: 0,
            build_seconds: 0.0,
            warnings: Vec::new(),
        }
    }

    pub(super) fn begun(folder: BisectFolder, beginning: BisectBeginning) -> Result<Self> {
        let mut state = Self::new(folder, beginning);
        state.folder.append(&BisectEntry::Begun(Box::new(state.beginning.clone())))?;
        Ok(state)
    }

    /// Errors: it names a commit that is not in the range.
    pub(super) fn gone_on(resumed: ResumedBisection, range: &CommitRange) -> Result<Self> {
        let ResumedBisection { folder, beginning, entries, .. } = resumed;
        let ids: HashMap<&str, usize> =
            range.commits.iter().enumerate().map(|(index, commit)| (commit.id.as_str(), index)).collect();
        let mut state = Self::new(folder, beginning);
        let index = |commit: &str, root: &Path| {
            ids.get(commit).copied().ok_or_else(|| {
                let what = format!("it names the commit {commit}, which is not in its range");
                Fault::at_path(root, what, "begin a new bisection").exits(Exit::Failed)
            })
        };
        for entry in entries {
            match entry {
                BisectEntry::Begun(_) => {}
                BisectEntry::Metric { metric, unit, better } => {
                    state.metric = Some(BisectedMetric { name: metric, unit, better });
                }
                BisectEntry::Built { seconds, .. } => {
                    state.builds += 1;
                    state.build_seconds += seconds;
                }
                BisectEntry::Process { commit, round, value, seconds, left_out, .. } => {
                    let commit = index(&commit, state.folder.root())?;
                    let counts = left_out.is_none();
                    state.measured.push(MeasuredProcess { commit, round, value, seconds, counts });
                }
                BisectEntry::Broken { commit, cause } => {
                    let commit = index(&commit, state.folder.root())?;
                    state.broken.insert(commit, cause);
                }
            }
        }
        Ok(state)
    }

    pub(super) fn settle_metric(&mut self, found: BisectedMetric) -> Result<&BisectedMetric> {
        let BisectedMetric { name, unit, better } = found.clone();
        self.folder.append(&BisectEntry::Metric { metric: name, unit, better })?;
        Ok(self.metric.insert(found))
    }

    pub(super) fn built(&mut self, commit: &str, seconds: f64) -> Result<()> {
        self.builds += 1;
        self.build_seconds += seconds;
        self.folder.append(&BisectEntry::Built { commit: commit.to_owned(), seconds })
    }

    pub(super) fn broke(&mut self, (commit, id): (usize, &str), cause: String) -> Result<()> {
        self.broken.insert(commit, cause.clone());
        self.folder.append(&BisectEntry::Broken { commit: id.to_owned(), cause })
    }

    /// Keeps a process. Gives it as the bisection takes it, where it counts.
    pub(super) fn measured(
        &mut self,
        (commit, id): (usize, &str),
        round: u32,
        run: &RunId,
        figure: ProcessFigure,
    ) -> Result<Option<BisectionFigure>> {
        let ProcessFigure { value, seconds, left_out } = figure;
        let process = MeasuredProcess { commit, round, value, seconds, counts: left_out.is_none() };
        if let Some(why) = &left_out {
            self.warn(&format!(
                "processes count for nothing where the card held its clocks down or had a fault ({why})"
            ));
        }
        self.folder.append(&BisectEntry::Process {
            commit: id.to_owned(),
            round,
            value,
            seconds,
            run: run.clone(),
            left_out,
        })?;
        let taken = self.turned(&process);
        self.measured.push(process);
        Ok(taken)
    }

    fn turned(&self, process: &MeasuredProcess) -> Option<BisectionFigure> {
        let metric = self.metric.as_ref().filter(|_| process.counts)?;
        let (commit, round) = (process.commit, process.round);
        Some(BisectionFigure { commit, round, value: metric.turned(process.value) })
    }

    pub(super) fn figures(&self) -> impl Iterator<Item = BisectionFigure> {
        self.measured.iter().filter_map(|process| self.turned(process))
    }

    pub(super) fn warn(&mut self, text: &str) {
        if self.warnings.len() < MOST_WARNINGS && !self.warnings.iter().any(|known| known == text) {
            self.warnings.push(text.to_owned());
        }
    }

    /// Only a change for the worse counts, as far as the metric knows what is worse.
    pub(super) fn is_sided(&self) -> bool {
        !self.beginning.any && self.metric.as_ref().is_none_or(|metric| metric.better.is_some())
    }

    pub(super) fn processes(&self) -> usize {
        self.measured.len()
    }

    pub(super) fn rounds(&self) -> u32 {
        self.measured.iter().map(|process| process.round + 1).max().unwrap_or(0)
    }

    pub(super) fn seconds_per_process(&self) -> Option<f64> {
        let seconds: f64 = self.measured.iter().map(|process| process.seconds).sum();
        (!self.measured.is_empty()).then(|| seconds / self.measured.len() as f64)
    }

    pub(super) fn seconds_per_build(&self) -> Option<f64> {
        (self.builds > 0).then(|| self.build_seconds / f64::from(self.builds))
    }
}
