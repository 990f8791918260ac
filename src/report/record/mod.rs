//! One run by itself, compared with nothing: what was measured, how far it can be trusted, and what failed.
//! Worked out once here; the formats of this folder lay it out.

pub mod csv;
mod findings;
pub mod jsonl;
pub mod junit;
pub mod markdown;
mod ranking;
mod resources;
pub mod terminal;
#[cfg(test)]
pub mod test_support;

use std::collections::BTreeMap;

use self::findings::Finding;
use self::ranking::{Place, Problem};
use self::resources::Resources;
use super::alike::{named, together};
use super::number;
use super::rows::{Names, plural, short_commit};
use crate::model::{
    CaseRecord, Metric, Origin, Outcome, Probe, RecordState, ReportedError, RunRecord, format_duration,
};

/// The record, sorted for reading.
pub struct Digest<'a> {
    pub record: &'a RunRecord,
    /// Each case with its name, in the record's order.
    pub cases: Vec<(&'a CaseRecord, String)>,
    /// Cases without a good end: failures first, then what was skipped or never started.
    pub troubled: Vec<(&'a CaseRecord, String)>,
    /// One line a metric, in the record's order, also those of cases that failed later.
    pub lines: Vec<Line<'a>>,
    /// Problems with several answers, each with its ranking.
    pub problems: Vec<Problem>,
    pub resources: Vec<Resources>,
    /// Cases that were started, and of which no resource is known.
    pub unknown_resources: usize,
    /// What to know before trusting the figures, each with what to do.
    pub findings: Vec<Finding>,
}

/// One metric as text.
pub struct Line<'a> {
    pub case: &'a CaseRecord,
    pub metric: &'a Metric,
    pub name: String,
    /// Median over the processes' medians, in the metric's unit; absent without complete samples.
    pub center: Option<f64>,
    /// The center with its unit, or nothing.
    pub median: String,
    /// Relative standard deviation between processes; absent below two processes.
    pub spread: Option<f64>,
    /// `5 x 30`: processes and samples of each, or the total where processes differ.
    pub effort: String,
    /// Present where other cases solve the same problem.
    pub place: Option<Place>,
    /// The gate computed it from the case's time: what is true of the one is true of the other.
    pub is_derived: bool,
}

/// Cases that one text names before the rest is counted.
pub const MOST_NAMED: usize = 5;

/// Cases that came to the same end for the same cause.
pub struct Trouble<'a> {
    pub outcome: &'a Outcome,
    /// At least one, in the order of [`Digest::troubled`].
    pub names: Vec<&'a str>,
    /// The end of the trace that the first of them reported.
    pub trace: Option<String>,
}

/// What the run came to, in the order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A case failed, timed out or is invalid; or nothing was measured.
    Failed,
    /// Stopped before the end.
    Incomplete,
    Measured,
}

impl<'a> Digest<'a> {
    pub fn new(record: &'a RunRecord) -> Self {
        let names = Names::new(record.cases.iter().map(|case| &case.id));
        let cases: Vec<_> = record.cases.iter().map(|case| (case, names.of(&case.id))).collect();
        let mut troubled: Vec<_> =
            cases.iter().filter(|(case, _)| !case.outcome.is_measured()).cloned().collect();
        troubled.sort_by_key(|(case, _)| !case.outcome.is_failure());
        let mut lines: Vec<_> = cases
            .iter()
            .flat_map(|(case, name)| case.metrics.iter().map(|metric| Line::new(case, metric, name)))
            .collect();
        let problems = ranking::rank(&mut lines);
        let findings = findings::of(&cases, &lines);
        let (resources, unknown_resources) = resources::of(&cases);
        Self { record, cases, troubled, lines, problems, resources, unknown_resources, findings }
    }

    pub fn standing(&self) -> Standing {
        let failures = self.troubled.iter().any(|(case, _)| case.outcome.is_failure());
        match self.record.state {
            _ if failures || self.measured() == 0 => Standing::Failed,
            RecordState::Interrupted | RecordState::Recovered => Standing::Incomplete,
            RecordState::Complete => Standing::Measured,
        }
    }

    /// [`Digest::troubled`], equal ends together.
    pub fn troubles(&self) -> Vec<Trouble<'_>> {
        let kind = |outcome: &Outcome| (outcome.word(), outcome.cause(), outcome.advice().to_owned());
        let ends = self.troubled.iter().map(|(case, name)| (kind(&case.outcome), (*case, name.as_str())));
        let trouble = |(_, alike): (_, Vec<(&'a CaseRecord, _)>)| {
            let (case, _) = *alike.first()?;
            let trace = case.reported_error().and_then(ReportedError::short_trace);
            let names = alike.into_iter().map(|(_, name)| name).collect();
            Some(Trouble { outcome: &case.outcome, names, trace })
        };
        together(ends).into_iter().filter_map(trouble).collect()
    }

    fn measured(&self) -> usize {
        self.cases.len() - self.troubled.len()
    }

    /// What the resources are, and of how many cases nothing is known.
    pub fn of_resources(&self) -> String {
        match self.unknown_resources {
            0 => "The most that one complete process took.".into(),
            some => {
                let some = plural(some, "further case");
                format!("The most that one complete process took. Of {some} nothing was measured.")
            }
        }
    }

    /// `3 of 5 cases measured: 1 failed, 1 skipped`.
    pub fn sentence(&self) -> String {
        let total = plural(self.cases.len(), "case");
        let mut text = match self.measured() {
            0 if self.cases.is_empty() => "no case was selected".to_owned(),
            count if count == self.cases.len() => format!("{total} measured"),
            count => format!("{count} of {total} measured"),
        };
        let mut words: Vec<(&str, usize)> = Vec::new();
        for (case, _) in &self.troubled {
            let word = case.outcome.word();
            match words.iter_mut().find(|(known, _)| *known == word) {
                Some((_, count)) => *count += 1,
                None => words.push((word, 1)),
            }
        }
        let words: Vec<_> = words.iter().map(|(word, count)| format!("{count} {word}")).collect();
        if !words.is_empty() {
            text += &format!(": {}", words.join(", "));
        }
        match self.record.state {
            RecordState::Complete => {}
            RecordState::Interrupted => text += "; the run was stopped before its end",
            RecordState::Recovered => text += "; read back from a run that was killed",
        }
        text
    }

    /// Label and text: what was run, on what, when, how long.
    pub fn context(&self) -> Vec<(&'static str, String)> {
        let record = self.record;
        let mut source = record.source.suite.clone();
        match &record.source.path {
            Some(path) => source += &format!(" ({path})"),
            None => source += " (built in)",
        }
        let seconds = self.cases.iter().flat_map(|(case, _)| &case.processes).map(|p| p.seconds).sum();
        let processes = self.cases.iter().map(|(case, _)| case.processes.len()).sum::<usize>();
        let run = format!(
            "{}, started {}, {} in {}",
            record.run_id,
            record.started,
            plural(processes, "process"),
            format_duration(seconds),
        );
        let mut rows = vec![("suite", source), ("run", run), ("machine", self.machine())];
        if let Some(commit) = self.commit() {
            rows.push(("commit", commit));
        }
        rows
    }

    fn machine(&self) -> String {
        let manifest = &self.record.manifest;
        let gpus = manifest.gpu.known().map_or(&[][..], |gpu| &gpu.devices);
        let mut parts: Vec<String> = gpus.iter().filter_map(|gpu| gpu.model.known().cloned()).collect();
        parts.push(match &manifest.host.cpu_model {
            Probe::Known(model) => model.clone(),
            Probe::Absent(reason) | Probe::Failed(reason) => format!("CPU unknown ({reason})"),
        });
        if let Some(cores) = manifest.host.cores.known() {
            parts.push(plural(*cores as usize, "core"));
        }
        parts.join(", ")
    }

    fn commit(&self) -> Option<String> {
        let git = self.record.manifest.git.known()?;
        let mut text = short_commit(git.commit.as_deref()?);
        if let Some(branch) = &git.branch {
            text += &format!(" (branch {branch})");
        }
        if git.dirty.any() {
            text += " with uncommitted changes";
        }
        Some(text)
    }

    /// Warnings of the run and of its cases, the latter with their names, of which at most `most` are listed.
    pub fn warnings(&self, most: usize) -> Vec<String> {
        let of_cases = self.cases.iter().flat_map(|(case, name)| {
            let own = case.warnings.iter().cloned().chain(absent(case));
            own.map(move |warning| (warning, name.as_str()))
        });
        let folded = together(of_cases).into_iter().map(|(warning, names)| match names.as_slice() {
            [only] => format!("{only}: {warning}"),
            several => format!("{}: {warning}: {}", plural(several.len(), "case"), named(several, most)),
        });
        self.record.warnings.iter().cloned().chain(folded).collect()
    }

    /// The command line for a shell, with the variables that set anything.
    pub fn command(&self) -> String {
        let settings = self.record.config.values();
        let settings = settings.chain(self.record.cases.iter().flat_map(|case| case.config.values()));
        let variables: BTreeMap<&str, String> = settings
            .filter_map(|shown| match &shown.origin {
                Origin::Environment(name) => Some((name.as_str(), as_variable(&shown.value))),
                _ => None,
            })
            .collect();
        let variables = variables.into_iter().map(|(name, value)| format!("{name}={}", quoted(&value)));
        let words = self.record.command.iter().map(|word| quoted(word));
        variables.chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// The optional metrics that processes of the case left out.
fn absent(case: &CaseRecord) -> Vec<String> {
    let names = case.processes.iter().flat_map(|process| process.absent.iter().map(|name| (name, ())));
    let total = case.processes.len();
    let told = |(name, times): (&String, Vec<()>)| {
        format!("the optional metric `{name}` was absent in {} of {}", times.len(), plural(total, "process"))
    };
    together(names).into_iter().map(told).collect()
}

impl<'a> Line<'a> {
    fn new(case: &'a CaseRecord, metric: &'a Metric, name: &str) -> Self {
        let centers = centers(metric);
        let center = median(&mut centers.clone());
        let median = center.map_or(String::new(), |center| number::value(center, &metric.unit));
        let counts: Vec<usize> =
            metric.processes.iter().filter(|p| !p.partial).map(|p| p.values.len()).collect();
        let effort = match counts.as_slice() {
            [] => "partial".to_owned(),
            [first, ..] if counts.iter().all(|count| count == first) => format!("{} x {first}", counts.len()),
            _ => format!("{}, {} in all", counts.len(), counts.iter().sum::<usize>()),
        };
        let spread = spread(&centers);
        let is_derived = is_derived(case, metric);
        Self { case, metric, name: name.to_owned(), center, median, spread, effort, place: None, is_derived }
    }

    pub fn spread_text(&self) -> String {
        match self.spread {
            Some(spread) => number::spread(spread),
            None if self.median.is_empty() => String::new(),
            None => "unknown".into(),
        }
    }

    /// Judged by its absolute difference: its spread, and how often one answer is another's, say nothing.
    pub fn is_absolute(&self) -> bool {
        let declared = self.case.declared.get(&self.metric.name);
        declared.and_then(|declared| declared.absolute) == Some(true)
    }

    /// The least change that matters for this metric.
    fn threshold(&self) -> f64 {
        let declared = self.case.declared.get(&self.metric.name).and_then(|metric| metric.threshold);
        let of_case = || self.case.config.get("threshold").and_then(|shown| shown.value.as_f64());
        declared.or_else(of_case).unwrap_or(0.05)
    }

    fn title(&self) -> String {
        format!("{} {}", self.name, self.metric.name)
    }
}

/// Whether a metric is an amount of work over the case's time, as the gate computes it where a program says the amount.
fn is_derived(case: &CaseRecord, metric: &Metric) -> bool {
    let amount =
        metric.name.strip_suffix("_rate").filter(|of| ["items", "bytes", "flops", "tokens"].contains(of));
    let has_time = case.metrics.iter().any(|other| other.name == "time");
    has_time && amount.is_some_and(|amount| case.metadata.contains_key(amount))
}

/// The centre of each complete process, in the metric's unit: its median, or what it stated.
fn centers(metric: &Metric) -> Vec<f64> {
    let complete = metric.processes.iter().filter(|process| !process.partial);
    complete
        .filter_map(|process| match &process.stated {
            Some(stated) if process.values.is_empty() => Some(stated.value),
            _ => median(&mut process.values.clone()),
        })
        .collect()
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[n / 2]),
        n => Some((values[n / 2 - 1] + values[n / 2]) / 2.0),
    }
}

/// Sample standard deviation of the logarithms, as the comparison will see it; `None` for fewer than two
/// centres or where one has no logarithm.
fn spread(centers: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = centers.iter().filter(|c| **c > 0.0 && c.is_finite()).map(|c| c.ln()).collect();
    if logs.len() < 2 || logs.len() < centers.len() {
        return None;
    }
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    Some((squares / (count - 1.0)).sqrt())
}

/// A setting's value as its variable takes it.
fn as_variable(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(members) => members.iter().map(as_variable).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_between_processes_and_not_between_samples() {
        let record = test_support::record();
        let digest = Digest::new(&record);
        let steady = digest.lines.iter().find(|line| line.name.contains("gemm")).unwrap();
        assert!(steady.spread.unwrap() < 0.01);
        assert_eq!(steady.effort, "5 x 3");
    }

    #[test]
    fn logarithms_give_the_relative_spread() {
        // exp(mean of logs) is 1; the deviations are ln 1.1 to either side: sd = ln 1.1 * sqrt 2.
        let spread = spread(&[1.1, 1.0 / 1.1]).unwrap();
        assert!((spread - 1.1f64.ln() * 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(super::spread(&[1.0]), None);
        assert_eq!(super::spread(&[1.0, -1.0]), None);
    }

    #[test]
    fn failures_outrank_skips_and_make_the_run_failed() {
        let record = test_support::record();
        let digest = Digest::new(&record);
        assert!(digest.troubled[0].0.outcome.is_failure());
        assert!(!digest.troubled.last().unwrap().0.outcome.is_failure());
        assert_eq!(digest.standing(), Standing::Failed);
        let mut empty = record.clone();
        empty.cases.clear();
        assert_eq!(Digest::new(&empty).standing(), Standing::Failed);
    }

    #[test]
    fn n23_a_run_is_repeated_with_the_variables_that_set_anything() {
        use crate::model::Shown;
        let mut record = test_support::quiet();
        let shown =
            |value: serde_json::Value, name: &str| Shown { value, origin: Origin::Environment(name.into()) };
        let config = &mut record.cases[1].config;
        config.insert("iterations".into(), shown(7.into(), "GBENCH_ITERATIONS"));
        config.insert("percentiles".into(), shown(vec![99.9, 99.99].into(), "GBENCH_PERCENTILES"));
        record.config.insert("run.deadline".into(), shown("1m 30s".into(), "GBENCH_RUN_DEADLINE"));
        let command = Digest::new(&record).command();
        let variables =
            "GBENCH_ITERATIONS=7 GBENCH_PERCENTILES=99.9,99.99 GBENCH_RUN_DEADLINE='1m 30s' gbench-ci run ";
        assert!(command.starts_with(variables), "{command}");
    }

    #[test]
    fn a_command_can_be_pasted() {
        assert_eq!(quoted("--param"), "--param");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
