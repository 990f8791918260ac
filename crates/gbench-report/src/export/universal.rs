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

/// Bencher names what its measures are: `latency` is a time in ns, `throughput` is in operations per second. The other measures
/// have the names of their metrics.
pub(super) fn bencher(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    let mut benchmarks: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for (case, metric, value) in figures(record) {
        let in_ns =
            convert(value, &metric.unit, "ns").filter(|_| metric.name == "time" && is_time(&metric.unit));
        let (measure, value) = match in_ns {
            Some(value) => ("latency", value),
            None => (metric.name.as_str(), value),
        };
        let measures = benchmarks.entry(case.id.to_string()).or_default();
        measures.insert(measure.to_owned(), json!({"value": value}));
    }
    serde_json::to_writer_pretty(&mut *out, &benchmarks)?;
    writeln!(out)
}

fn figures(record: &RunRecord) -> impl Iterator<Item = (&CaseRecord, &Metric, f64)> {
    let measured = record.cases.iter().filter(|case| case.outcome.is_measured());
    measured
        .flat_map(|case| case.metrics.iter().filter_map(move |metric| Some((case, metric, center(metric)?))))
}
