//! Cases that some runs of a side lack: a run that crashed before a case leaves no row of it.

use std::collections::BTreeMap;

use gbench_formats::adapters::{LoadFields, Reading};
use gbench_model::{CaseRecord, FailureKind, Metric, Outcome, Params};

use super::file_run::{FileRun, sources};

/// The least number of loads of a curve. Files with fewer are of benchmarks that differ in other parameters.
const MIN_LOADS: usize = 3;

/// The number of runs that each case must be in.
pub(super) fn runs_of_a_case(files: &[FileRun], load: LoadFields) -> usize {
    // Serving benchmarks write a file for each load: the files of one run are as many as its points.
    let mut curves: BTreeMap<(&str, Params), BTreeMap<&Params, usize>> = BTreeMap::new();
    for file in files {
        let [Reading { case, .. }] = file.run.readings.as_slice() else { return files.len() };
        let mut shared = case.params.clone();
        let is_load = |name: &String| load.parameters.contains(&name.as_str());
        shared.retain(|name, _| !is_load(name) && !load.following.contains(&name.as_str()));
        *curves.entry((&case.case, shared)).or_default().entry(&case.params).or_default() += 1;
    }
    if curves.values().any(|points| points.len() < MIN_LOADS) {
        return files.len();
    }
    curves.values().flat_map(BTreeMap::values).copied().max().unwrap_or(0)
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
