//! Cases that some runs of a side lack: a run that crashed before a case leaves no row of it.

use std::collections::HashMap;

use gbench_formats::adapters::LoadFields;
use gbench_model::{CaseRecord, FailureKind, Metric, Outcome, Params};

use super::file_run::{FileRun, sources};

/// The number of runs that each case must be in.
pub(super) fn runs_of_a_case(files: &[FileRun], load: LoadFields) -> usize {
    // Serving benchmarks write a file for each load: the files of one run are as many as its points.
    let is_point = |params: &Params| load.parameters.iter().any(|name| params.contains_key(*name));
    let point = |file: &FileRun| match file.run.readings.as_slice() {
        [only] if is_point(&only.case.params) => Some(only.case.native.clone()),
        _ => None,
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    for file in files {
        let Some(point) = point(file) else { return files.len() };
        *counts.entry(point).or_default() += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

/// The outcome of a case that is in `here` of `runs` runs, if it is not in all of them.
pub(super) fn lost(record: &CaseRecord, here: usize, files: &[FileRun], runs: usize) -> Option<Outcome> {
    let word = if sources(files).len() < files.len() { "runs" } else { "files" };
    let is_judged = |metric: &&Metric| {
        record.declared.get(&metric.name).and_then(|declared| declared.gate) != Some(false)
    };
    let metric = record.metrics.iter().filter(is_judged).find(|metric| metric.processes.len() < here);
    let (what, count) = match metric {
        _ if here < runs => ("it".to_owned(), here),
        Some(metric) => (format!("its `{}`", metric.name), metric.processes.len()),
        None => return None,
    };
    Some(Outcome::Failed {
        kind: FailureKind::Harness,
        cause: format!("{what} is in only {count} of {runs} {word}"),
        advice: "check why the others lack it: an aborted run leaves no row".into(),
    })
}
