//! The JSON list of a sweep over operators: parameters and figures of a case in one row.

use std::io;

use serde_json::{Map, Value, json};

use crate::record::view::metric::center;
use gbench_model::{CaseRecord, Metric, RunRecord, Thermal, convert};

/// Metrics with a separate field: name, unit, field.
const FIELDS: [(&str, &str, &str); 5] = [
    ("time", "ms", "time_ms"),
    ("memory", "MB", "memory_mb"),
    ("inference_speed", "iterations/s", "inference_speed"),
    ("gpu_efficiency", "%", "gpu_efficiency"),
    ("throughput", "GB/s", "throughput_gbps"),
];

pub(super) fn write(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    let of_list = record.ingested.as_ref().is_some_and(|ingested| ingested.format == "operator-list");
    let rows: Vec<Value> = record
        .cases
        .iter()
        .filter(|case| case.outcome.is_measured())
        .map(|case| row(case, of_list).into())
        .collect();
    serde_json::to_writer_pretty(&mut *out, &rows)?;
    writeln!(out)
}

fn row(case: &CaseRecord, of_list: bool) -> Map<String, Value> {
    let mut row = Map::new();
    // Without such a parameter, the name is the operation, and the variant the implementation.
    row.insert("operation".into(), case.id.benchmark.name().into());
    let variant = case.id.variant.map_or("default", |variant| variant.into_str());
    row.insert("implementation".into(), variant.into());
    for (name, value) in &case.id.params {
        row.insert(name.clone(), json!(value));
    }
    if case.id.thermal == Thermal::Cold {
        row.insert("thermal".into(), "cold".into());
    }
    if case.id.device != "host" {
        row.insert("device".into(), case.id.device.clone().into());
    }
    for metric in &case.metrics {
        let Some(center) = center(metric) else { continue };
        let (field, value) = field(metric, center);
        row.insert(field, json!(value));
    }
    // The format's own programs write 0 without a memory counter.
    if of_list {
        row.entry("memory_mb").or_insert(json!(0.0));
    }
    row
}

fn field(metric: &Metric, center: f64) -> (String, f64) {
    let known = FIELDS.iter().find(|(name, ..)| *name == metric.name && !metric.unit.is_empty());
    let converted = known.and_then(|(_, unit, field)| Some((field, convert(center, &metric.unit, unit)?)));
    match converted {
        Some((field, value)) => ((*field).to_owned(), value),
        None if metric.unit.is_empty() => (metric.name.clone(), center),
        None => (format!("{}_{}", metric.name, metric.unit.replace('/', "_per_")), center),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_without_a_unit_gets_none() {
        let of = |unit: &str| {
            let metric = Metric {
                name: "time".into(),
                unit: unit.into(),
                better: None,
                processes: Vec::new(),
                summary: None,
            };
            field(&metric, 2.0)
        };
        assert_eq!(of("s"), ("time_ms".to_owned(), 2000.0));
        assert_eq!(of(""), ("time".to_owned(), 2.0));
    }
}
