//! Resources that the processes of a case took beside their time.

use crate::layout::number;
use gbench_model::{CaseRecord, ProcessRecord};

/// The most that one process of a case took, as text, and where the record holds nothing of it, that.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resources {
    pub name: String,
    /// Resident set, device memory, processor time and energy.
    figures: [String; 4],
}

impl Resources {
    /// The row of a table behind the case's name in its form.
    pub(crate) fn row(&self, name: String) -> Vec<String> {
        std::iter::once(name).chain(self.figures.clone()).collect()
    }
}

const NOTHING: &str = "not measured";

/// One entry a case of which anything is known, in the record's order; and how many were started of which nothing is.
pub(crate) fn find(cases: &[(&CaseRecord, String)]) -> (Vec<Resources>, usize) {
    let started = cases.iter().filter(|(case, _)| !case.processes.is_empty());
    let figures = |case| {
        // Of the largest process or of one of its descendants, else as the program stated it.
        let resident = most(case, "B", |process| process.peak_rss_bytes.map(|bytes| bytes as f64));
        [
            resident.or_else(|| stated(case, "host_peak_bytes")),
            most(case, "B", |process| process.device_peak_bytes.map(|bytes| bytes as f64)),
            // Of user and system, with all descendants.
            most(case, "s", |process| process.cpu_seconds),
            energy(case),
        ]
        .map(|figure| figure.unwrap_or(NOTHING.into()))
    };
    let all = started.map(|(case, name)| Resources { name: name.clone(), figures: figures(case) });
    let is_known = |case: &Resources| case.figures.iter().any(|text| *text != NOTHING);
    let (known, unknown): (Vec<_>, Vec<_>) = all.partition(is_known);
    (known, unknown.len())
}

/// Of the complete processes, else of those that did not end well: what they took before is known all the same.
fn most(case: &CaseRecord, unit: &str, part: impl Fn(&ProcessRecord) -> Option<f64>) -> Option<String> {
    let of = |complete: bool| {
        let processes = case.processes.iter().filter(|process| process.outcome.is_measured() == complete);
        processes.filter_map(&part).max_by(f64::total_cmp)
    };
    let broken = || Some(format!("{} (not complete)", number::value(of(false)?, unit)));
    of(true).map(|most| number::value(most, unit)).or_else(broken)
}

/// The most that a sample of a metric `energy` has, where there is one.
fn energy(case: &CaseRecord) -> Option<String> {
    let metric =
        case.metrics.iter().find(|metric| metric.name.starts_with("energy") && metric.unit == "J")?;
    let most = metric.processes.iter().flat_map(|samples| &samples.values).copied().max_by(f64::total_cmp)?;
    Some(number::value(most, "J"))
}

/// Resources that the program reported itself.
fn stated(case: &CaseRecord, name: &str) -> Option<String> {
    let bytes = case.metadata.get(name)?.as_f64()?;
    Some(format!("{} (stated)", number::value(bytes, "B")))
}
