//! Several rows of one case in a run, as tools leave them that append to their file.

use std::collections::HashMap;

use super::format::RunReading;
use crate::adapters::interface::adapter::{End, MetricReading, Reading};
use crate::adapters::interface::case::fail;

/// The meaning of repeated rows, which no file states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Repeats {
    /// They are an error.
    #[default]
    Refuse,
    /// They are measurements of one process.
    Samples,
    /// Each comes from a separate process.
    Processes,
}

impl Repeats {
    pub(super) fn resolve(self, runs: Vec<RunReading>) -> Vec<RunReading> {
        match self {
            Self::Refuse => runs,
            Self::Samples => runs.into_iter().map(joined).collect(),
            Self::Processes => runs.into_iter().flat_map(parted).collect(),
        }
    }
}

fn joined(run: RunReading) -> RunReading {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut readings: Vec<Reading> = Vec::with_capacity(run.readings.len());
    for reading in run.readings {
        let place = *places.entry(reading.case.native.clone()).or_insert(readings.len());
        match readings.get_mut(place) {
            Some(first) => join(first, reading),
            None => readings.push(reading),
        }
    }
    RunReading { readings, ..run }
}

/// Adds another row to a case.
pub(in crate::adapters::formats) fn join(first: &mut Reading, again: Reading) {
    // A skip does not hide a failure.
    if first.end == End::Measured || matches!(again.end, End::Failed { .. }) {
        first.end = again.end;
    }
    for metric in again.metrics {
        let Some(known) = first.metrics.iter_mut().find(|known| known.name == metric.name) else {
            first.metrics.push(metric);
            continue;
        };
        if known.unit != metric.unit {
            let message =
                format!("`{}` is in {} in one row and in {} in another", known.name, known.unit, metric.unit);
            fail(first, message);
            continue;
        }
        if let Some(summary) = known.summary.take() {
            known.values.push(summary.value);
        }
        let MetricReading { values, summary, .. } = metric;
        known.values.extend(values.into_iter().chain(summary.map(|summary| summary.value)));
    }
}

/// The first rows of all cases are a run, the second ones the next.
fn parted(mut run: RunReading) -> Vec<RunReading> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut parts: Vec<RunReading> = Vec::new();
    let unread = std::mem::take(&mut run.unread);
    for reading in std::mem::take(&mut run.readings) {
        let count = counts.entry(reading.case.native.clone()).or_default();
        if *count == parts.len() {
            parts.push(run.clone());
        }
        parts[*count].readings.push(reading);
        *count += 1;
    }
    parts.iter_mut().take(1).for_each(|first| first.unread = unread.clone());
    parts
}
