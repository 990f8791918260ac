//! The lists that services for benchmarks take from any program: that of github-action-benchmark's custom tools, and Bencher's
//! metric format. Both have a figure per name: the median of the processes.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Map, Value, json};

use crate::record::view::metric::center;
use gbench_model::{Better, CaseRecord, Metric, RunRecord, convert, direction_of_unit, is_time};

/// A list for `customSmallerIsBetter` or `customBiggerIsBetter`: only what is better in this direction.
pub(super) fn custom_list(record: &RunRecord, better: Better, out: &mut dyn io::Write) -> io::Result<()> {
    let is_so = |metric: &Metric| metric.better.or_else(|| direction_of_unit(&metric.unit)) == Some(better);
    let rows: Vec<Value> = figures(record)
        .filter(|(_, metric, _)| is_so(metric))
        .map(|(case, metric, value)| {
            json!({"name": format!("{} {}", case.id, metric.name), "unit": metric.unit, "value": value})
        })
        .collect();
    serde_json::to_writer_pretty(&mut *out, &rows)?;
    writeln!(out)
}

/// Measures whose names have a unit in Bencher: a metric is written under such a name in this unit alone.
const MEASURES: [(&str, &str); 4] =
    [("latency", "ns"), ("throughput", "ops/s"), ("build-time", "s"), ("file-size", "B")];

/// The time is the measure `latency`. Every other metric is a measure of its name, with its unit if Bencher has a measure
/// of that name.
pub(super) fn bencher(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    let mut benchmarks: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for (case, metric, value) in figures(record) {
        let measures = benchmarks.entry(case.id.to_string()).or_default();
        let (measure, value) = measure(metric, value);
        let own = format!("{}-{}", metric.name, metric.unit);
        let measure = if measures.contains_key(&measure) { own } else { measure };
        measures.insert(measure, json!({"value": value}));
    }
    serde_json::to_writer_pretty(&mut *out, &benchmarks)?;
    writeln!(out)
}

fn measure(metric: &Metric, value: f64) -> (String, f64) {
    let name = metric.name.as_str();
    let meant = if name == "time" && is_time(&metric.unit) { "latency" } else { name };
    let Some((_, unit)) = MEASURES.iter().find(|(measure, _)| *measure == meant) else {
        return (name.to_owned(), value);
    };
    match convert(value, &metric.unit, unit).filter(|_| !metric.unit.is_empty()) {
        Some(value) => (meant.to_owned(), value),
        None => (format!("{name}-{}", metric.unit), value),
    }
}

fn figures(record: &RunRecord) -> impl Iterator<Item = (&CaseRecord, &Metric, f64)> {
    let measured = record.cases.iter().filter(|case| case.outcome.is_measured());
    measured
        .flat_map(|case| case.metrics.iter().filter_map(move |metric| Some((case, metric, center(metric)?))))
}
