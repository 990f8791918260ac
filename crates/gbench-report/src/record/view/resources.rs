//! Resources of a case's processes other than their time.

use crate::layout::number;
use gbench_model::{CaseRecord, ProcessRecord};

/// The maximum over the processes of a case, as text; `unknown` if the record has none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resources {
    pub name: String,
    /// Resident set, device memory, processor time and energy.
    figures: [String; 4],
}

impl Resources {
    /// The row of a table after the case's name in its form.
    pub(crate) fn row(&self, name: String) -> Vec<String> {
        std::iter::once(name).chain(self.figures.clone()).collect()
    }
}

const NOTHING: &str = "not measured";

/// One entry per case with any known resource, in the record's order; and the number of started cases without one.
pub(crate) fn find(cases: &[(&CaseRecord, String)]) -> (Vec<Resources>, usize) {
    let started = cases.iter().filter(|(case, _)| !case.processes.is_empty());
    let figures = |case| {
        // The largest process or one of its descendants, else the program's statement.
        let resident = most(case, "B", |process| process.peak_rss_bytes.map(|bytes| bytes as f64));
        [
            resident.or_else(|| stated(case, "host_peak_bytes")),
            most(case, "B", |process| process.device_peak_bytes.map(|bytes| bytes as f64)),
            // User and system time, including all descendants.
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

/// The maximum over the complete processes, else over the failed ones, whose earlier use is also known.
fn most(case: &CaseRecord, unit: &str, part: impl Fn(&ProcessRecord) -> Option<f64>) -> Option<String> {
    let of = |complete: bool| {
        let processes = case.processes.iter().filter(|process| process.outcome.is_measured() == complete);
        processes.filter_map(&part).max_by(f64::total_cmp)
    };
    let broken = || Some(format!("{} (not complete)", number::value(of(false)?, unit)));
    of(true).map(|most| number::value(most, unit)).or_else(broken)
}

fn energy(case: &CaseRecord) -> Option<String> {
    let metric =
        case.metrics.iter().find(|metric| metric.name.starts_with("energy") && metric.unit == "J")?;
    let most = metric.processes.iter().flat_map(|samples| &samples.values).copied().max_by(f64::total_cmp)?;
    Some(number::value(most, "J"))
}

fn stated(case: &CaseRecord, name: &str) -> Option<String> {
    let bytes = case.metadata.get(name)?.as_f64()?;
    Some(format!("{} (stated)", number::value(bytes, "B")))
}
