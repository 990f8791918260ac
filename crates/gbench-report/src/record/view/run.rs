//! The view model of a run for every format, computed once from the record.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{self, RunFinding};
use super::metric::{MetricView, Standing, is_in_part};
use super::pairs::RunPairs;
use super::precisions;
use super::ranking::{self, Problem};
use super::resources::{self, Resources};
use super::telemetry;
use crate::layout::case_names::CaseNames;
use crate::layout::emphasis::Emphasis;
use crate::layout::grouped::{counted, named, together};
use crate::layout::table::ReportTable;
use gbench_model::text::{count, short_commit};
use gbench_model::{
    CaseRecord, JOBS, Origin, Outcome, Probe, RecordState, ReportedError, RunRecord, format_duration,
    shell_word,
};

/// The record, sorted for reading.
pub(crate) struct RunView<'a> {
    pub record: &'a RunRecord,
    /// Each case with its name, in the record's order.
    pub cases: Vec<(&'a CaseRecord, String)>,
    /// Cases that did not end well: failures first, then skipped and never started ones.
    pub troubled: Vec<(&'a CaseRecord, String)>,
    /// One line per metric, in the record's order, also those of cases that failed later.
    pub lines: Vec<MetricView<'a>>,
    /// Problems with several answers, each with its ranking.
    pub problems: Vec<Problem>,
    pub pairs: RunPairs,
    /// Pairs, chapters and precisions.
    pub tables: Vec<ReportTable>,
    pub resources: Vec<Resources>,
    /// Samples of the machine's activity.
    pub telemetry: Option<ReportTable>,
    /// Started cases without any known resource.
    pub unknown_resources: usize,
    /// Findings to know before trusting the figures, each with advice.
    pub findings: Vec<RunFinding>,
}

pub(crate) struct UnmeasuredCases<'a> {
    pub outcome: &'a Outcome,
    /// At least one, in the order of [`RunView::troubled`].
    pub names: Vec<&'a str>,
    /// The end of the trace that the first of them reported.
    pub trace: Option<String>,
}

/// The outcome of the run, in the order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunStatus {
    /// A case failed, timed out or is invalid; or nothing was measured.
    Failed,
    /// Stopped before the end.
    Incomplete,
    Measured,
}

impl RunStatus {
    pub(crate) fn shown(self) -> (&'static str, Emphasis) {
        match self {
            RunStatus::Failed => ("FAILED", Emphasis::Bad),
            RunStatus::Incomplete => ("INCOMPLETE", Emphasis::Doubt),
            RunStatus::Measured => ("MEASURED", Emphasis::Good),
        }
    }
}

impl<'a> RunView<'a> {
    pub(crate) fn new(record: &'a RunRecord) -> Self {
        let names = CaseNames::new(record.cases.iter().map(|case| &case.id));
        let cases: Vec<_> = record.cases.iter().map(|case| (case, names.name(&case.id))).collect();
        let mut troubled: Vec<_> =
            cases.iter().filter(|(case, _)| !case.outcome.is_measured()).cloned().collect();
        troubled.sort_by_key(|(case, _)| !case.outcome.is_failure());
        let mut lines: Vec<_> = cases
            .iter()
            .flat_map(|(case, name)| case.metrics.iter().map(|metric| MetricView::new(case, metric, name)))
            .collect();
        let problems = ranking::rank(&mut lines);
        let mut findings = findings::find(&cases, &lines, record.ingested.is_some());
        findings.extend(record.ingested.as_deref().into_iter().flat_map(findings::unread));
        findings.extend(telemetry::findings(&cases));
        let telemetry = telemetry::table(&cases);
        let (resources, unknown_resources) = resources::find(&cases);
        let pairs = RunPairs::find(&cases);
        let tables = pairs.tables().into_iter().chain(precisions::tables(&cases)).collect();
        Self {
            record,
            cases,
            troubled,
            lines,
            problems,
            pairs,
            tables,
            resources,
            telemetry,
            unknown_resources,
            findings,
        }
    }

    pub(crate) fn status(&self) -> RunStatus {
        let failures = self.troubled.iter().any(|(case, _)| case.outcome.is_failure());
        match self.record.state {
            _ if failures || self.measured() == 0 => RunStatus::Failed,
            RecordState::Interrupted | RecordState::Recovered => RunStatus::Incomplete,
            RecordState::Complete => RunStatus::Measured,
        }
    }

    /// The lines with a value, grouped by case, the time first. `all`: also metrics that only explain a time; otherwise
    /// these are shown only for a case without others, and the second value is their number.
    pub(crate) fn shown_lines(&self, all: bool) -> (Vec<&MetricView<'a>>, usize) {
        let with_value: Vec<_> = self.lines.iter().filter(|line| line.center.is_some()).collect();
        let mut left_out = 0;
        let of_cases = with_value.chunk_by(|one, other| std::ptr::eq(one.case, other.case));
        let mut shown = Vec::new();
        for lines in of_cases {
            let mut lines = lines.to_vec();
            lines.sort_by_key(|line| line.standing());
            let telling = lines.iter().filter(|line| line.standing() != Standing::Circumstance).count();
            if !all && telling > 0 {
                left_out += lines.len() - telling;
                lines.truncate(telling);
            }
            shown.append(&mut lines);
        }
        (shown, left_out)
    }

    /// A note about omitted lines; `None` if there are none.
    pub(crate) fn left_out(&self, left_out: usize) -> Option<String> {
        let (rows, run) = (count(left_out, "row"), &self.record.run_id);
        let are = if left_out == 1 { "is" } else { "are" };
        let what = format!("{rows} of clock, cycles and device code {are} left out");
        (left_out > 0).then(|| format!("{what}: `gbench-ci report {run} --all` shows them."))
    }

    pub(crate) fn troubles(&self) -> Vec<UnmeasuredCases<'_>> {
        let kind = |outcome: &Outcome| (outcome.into_str(), outcome.cause(), outcome.advice().to_owned());
        let ends = self.troubled.iter().map(|(case, name)| (kind(&case.outcome), (*case, name.as_str())));
        let trouble = |(_, alike): (_, Vec<(&'a CaseRecord, _)>)| {
            let (case, _) = *alike.first()?;
            let trace = case.reported_error().and_then(ReportedError::short_trace);
            let names = alike.into_iter().map(|(_, name)| name).collect();
            Some(UnmeasuredCases { outcome: &case.outcome, names, trace })
        };
        together(ends).into_iter().filter_map(trouble).collect()
    }

    fn measured(&self) -> usize {
        self.cases.len() - self.troubled.len()
    }

    pub(crate) fn is_monitored(&self) -> bool {
        self.record.config.get("run.monitor").is_some_and(|shown| shown.value == true)
    }

    /// The heading of the resources, with the number of cases without any.
    pub(crate) fn of_resources(&self) -> String {
        match self.unknown_resources {
            0 => "The most that one complete process took.".into(),
            some => {
                let some = count(some, "further case");
                format!("The most that one complete process took. Of {some} nothing was measured.")
            }
        }
    }

    /// `3 of 5 cases measured: 1 failed, 1 skipped`.
    pub(crate) fn sentence(&self) -> String {
        let total = count(self.cases.len(), "case");
        let mut text = match self.measured() {
            0 if self.cases.is_empty() => "no case was selected".to_owned(),
            count if count == self.cases.len() => format!("{total} measured"),
            count => format!("{count} of {total} measured"),
        };
        let words = together(self.troubled.iter().map(|(case, _)| (case.outcome.into_str(), ())));
        let words: Vec<_> = words.iter().map(|(word, cases)| format!("{} {word}", cases.len())).collect();
        if !words.is_empty() {
            text += &format!(": {}", words.join(", "));
        }
        let in_part = self.troubled.iter().filter(|(case, _)| is_in_part(case)).count();
        if in_part > 0 {
            text += &format!(", {in_part} of them in part");
        }
        match self.record.state {
            RecordState::Complete => {}
            RecordState::Interrupted => text += "; the run was stopped before its end",
            RecordState::Recovered => text += "; read back from a run that was killed",
        }
        text
    }

    /// Label and text: the run, its machine, its date and its duration.
    pub(crate) fn context(&self) -> Vec<(&'static str, String)> {
        let record = self.record;
        let path = record.source.path.as_deref().unwrap_or("built in");
        let source = match &record.ingested {
            Some(ingested) => format!(
                "{} ({} of {})",
                record.source.suite,
                count(ingested.files.len(), "file"),
                ingested.format
            ),
            None => match self.built_in() {
                Some(suite) => format!("{suite} (built in)"),
                None => format!("{} ({path})", record.source.suite),
            },
        };
        let seconds = self.cases.iter().flat_map(|(case, _)| &case.processes).map(|p| p.seconds).sum();
        // A process that measured several cases appears in each of them.
        let all = self.cases.iter().flat_map(|(case, _)| {
            case.processes.iter().map(|process| match process.shared {
                Some(_) => (case.id.benchmark.to_string(), &process.started, process.index),
                None => (case.id.to_string(), &process.started, process.index),
            })
        });
        let processes = all.collect::<BTreeSet<_>>().len();
        let measured = match &record.ingested {
            Some(_) => String::new(),
            // Parallel cases end sooner than the sum of their times suggests.
            None if record.cases.iter().any(|case| case.config.contains_key(JOBS)) => {
                format!(", {} of {} in all", count(processes, "process"), format_duration(seconds))
            }
            None => format!(", {} in {}", count(processes, "process"), format_duration(seconds)),
        };
        let run = format!("{}, started {}{measured}", record.run_id, record.started);
        let facts = [("suite", source), ("run", run), ("machine", self.machine())];
        facts.into_iter().chain(self.commit().map(|commit| ("commit", commit))).collect()
    }

    /// The built-in suite, if all cases belong to it: then the suite file only gave the policies.
    fn built_in(&self) -> Option<&str> {
        let (first, _) = self.cases.first()?;
        let suite = first.id.benchmark.suite();
        let is_own = |case: &CaseRecord| case.id.benchmark.suite() == suite && case.is_built_in();
        let all_own = self.cases.iter().all(|(case, _)| is_own(case));
        (all_own && suite != self.record.source.suite).then_some(suite)
    }

    fn machine(&self) -> String {
        if let Some(ingested) = &self.record.ingested {
            return ingested.machine().unwrap_or_else(|| "not known: the file does not say".into());
        }
        let manifest = &self.record.manifest;
        let gpus = manifest.gpu.known().map_or(&[][..], |gpu| &gpu.devices);
        let mut parts = counted(gpus.iter().filter_map(|gpu| gpu.model.known().cloned()));
        parts.push(match &manifest.host.cpu_model {
            Probe::Known(model) => model.clone(),
            Probe::Absent(reason) | Probe::Failed(reason) => format!("CPU unknown ({reason})"),
        });
        if let Some(cores) = manifest.host.cores.known() {
            parts.push(count(*cores as usize, "core"));
        }
        parts.join(", ")
    }

    fn commit(&self) -> Option<String> {
        let git = self.record.manifest.git.known()?;
        let mut text = short_commit(git.commit.as_deref()?).to_owned();
        if let Some(branch) = &git.branch {
            text += &format!(" (branch {branch})");
        }
        if git.dirty.any() {
            text += " with uncommitted changes";
        }
        Some(text)
    }

    /// Warnings of the run and of its cases, the latter with their names, of which at most `most` are listed.
    pub(crate) fn warnings(&self, most: usize) -> Vec<String> {
        let of_cases = self.cases.iter().flat_map(|(case, name)| {
            let own = case.warnings.iter().cloned().chain(absent(case));
            own.map(move |warning| (warning, name.as_str()))
        });
        let folded = together(of_cases).into_iter().map(|(warning, names)| match names.as_slice() {
            [only] => format!("{only}: {warning}"),
            several => format!("{}: {warning}: {}", count(several.len(), "case"), named(several, most)),
        });
        self.record.warnings.iter().cloned().chain(folded).collect()
    }

    pub(crate) fn command(&self) -> String {
        let settings = self.record.config.values();
        let settings = settings.chain(self.record.cases.iter().flat_map(|case| case.config.values()));
        let variables: BTreeMap<&str, String> = settings
            .filter_map(|shown| match &shown.origin {
                Origin::Environment(name) => Some((name.as_str(), as_variable(&shown.value))),
                _ => None,
            })
            .collect();
        let variables = variables.into_iter().map(|(name, value)| format!("{name}={}", shell_word(&value)));
        let words = self.record.command.iter().map(|word| shell_word(word));
        variables.chain(words).collect::<Vec<_>>().join(" ")
    }
}

fn absent(case: &CaseRecord) -> Vec<String> {
    let names = case.processes.iter().flat_map(|process| process.absent.iter().map(|name| (name, ())));
    let total = case.processes.len();
    let told = |(name, times): (&String, Vec<()>)| {
        format!("the optional metric `{name}` was absent in {} of {}", times.len(), count(total, "process"))
    };
    together(names).into_iter().map(told).collect()
}

/// A setting's value in the notation of its variable.
fn as_variable(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(members) => members.iter().map(as_variable).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
