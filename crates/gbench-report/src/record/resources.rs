//! Resources that the processes of a case took beside their time.

use crate::layout::number;
use gbench_model::{CaseRecord, ProcessRecord};

/// The most that one process of a case took, as text, and where the record holds nothing of it, that.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resources {
    pub name: String,
    /// Largest resident set of the process or of one of its descendants, else what the program stated.
    pub resident: String,
    /// Peak of the device's memory, as the program stated it.
    pub device: String,
    /// User and system time with all descendants.
    pub cpu: String,
    /// As the program, or a result file, states it.
    pub energy: String,
}

impl Resources {
    /// The row of a table behind the case's name in its form.
    pub(crate) fn row(&self, name: String) -> [String; 5] {
        [name, self.resident.clone(), self.device.clone(), self.cpu.clone(), self.energy.clone()]
    }
}

const NOTHING: &str = "not measured";

/// One entry a case of which anything is known, in the record's order; and how many were started of which nothing is.
pub(super) fn find(cases: &[(&CaseRecord, String)]) -> (Vec<Resources>, usize) {
    let started = cases.iter().filter(|(case, _)| !case.processes.is_empty());
    let all = started.map(|(case, name)| Resources {
        name: name.clone(),
        resident: most(case, "B", |process| process.peak_rss_bytes.map(|bytes| bytes as f64))
            .or_else(|| stated(case, "host_peak_bytes"))
            .unwrap_or(NOTHING.into()),
        device: most(case, "B", |process| process.device_peak_bytes.map(|bytes| bytes as f64))
            .unwrap_or(NOTHING.into()),
        cpu: most(case, "s", |process| process.cpu_seconds).unwrap_or(NOTHING.into()),
        energy: energy(case).unwrap_or(NOTHING.into()),
    });
    let is_known = |case: &Resources| {
        [&case.resident, &case.device, &case.cpu, &case.energy].iter().any(|text| *text != NOTHING)
    };
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
