//! The monitor of SuperBench: one JSON object per line, with the activity of the machine and its GPUs at that time. It is
//! only shown, not judged. <https://microsoft.github.io/superbenchmark/docs/user-tutorial/monitor>.
//!
//! A key such as `gpu_usage:0` belongs to a GPU. A line is a record, numbered from 0 in the parameter `record`. Its time
//! has no zone, and is kept as metadata. The units are those of NVML; the unit of network figures is undocumented.

use serde_json::{Map, Value};

use super::interface::prelude::*;
use crate::adapters::readers::loose_json::readable;

const UNITS: [(&str, &str); 9] = [
    ("cpu_usage", "%"),
    ("usage", "%"),
    ("temperature", "C"),
    ("power", "W"),
    ("power_limit", "W"),
    ("mem_used", "B"),
    ("mem_total", "B"),
    ("corrected_ecc", "count"),
    ("uncorrected_ecc", "count"),
];

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "monitor",
    title: "SuperBench monitor",
    versions: "JSONL of SuperBench 0.3 and later",
    fields: "`time`, `cpu_usage`, `gpu_*:N`, `*_receive_bw`, `*_transmit_bw`",
    direction: "nothing is judged",
    failures: "nothing in the file; a line that is not a complete record with `time` (refused)",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let is_record = |record: &Outline| {
        record.text_at("time").is_some() && record.entries().iter().any(|(key, _)| of_gpu(key).is_some())
    };
    file.begins(b'{')
        && file.holds(&["\"time\"", "\"gpu_"])
        && Outline::parse(file.first_line().as_bytes()).as_ref().is_some_and(is_record)
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?;
    let (mut readings, mut count) = (Vec::new(), 0);
    for (at, line, is_whole) in lines(text).filter(|(_, line, _)| !line.trim().is_empty()) {
        let record: Map<String, Value> = serde_json::from_slice(&readable(line.as_bytes()))
            .ok()
            .filter(|_| is_whole)
            .ok_or_else(|| file.line(at, "not a complete JSON object"))?;
        if !record.contains_key("time") {
            return Err(file.line(at, "the record has no `time`"));
        }
        readings.extend(readings_of(&record, count));
        count += 1;
    }
    Ok(RunReading::only(readings))
}

/// `gpu_usage:0` as `usage` and 0.
fn of_gpu(key: &str) -> Option<(&str, i64)> {
    let (name, device) = key.strip_prefix("gpu_")?.split_once(':')?;
    Some((name, device.parse().ok()?))
}

fn readings_of(record: &Map<String, Value>, count: i64) -> Vec<Reading> {
    let mut cases = CaseReadings::default();
    for (key, value) in record {
        let Some(value) = value.as_f64() else { continue };
        let mut params = Params::from([("record".to_owned(), ParamValue::Int(count))]);
        let (case, name) = match of_gpu(key) {
            Some((name, device)) => {
                params.insert("device".into(), ParamValue::Int(device));
                ("gpu", name)
            }
            None => ("host", key.as_str()),
        };
        let reading = cases.of(named(case, params));
        let unit = UNITS.iter().find(|(of, _)| *of == name).map_or("", |(_, unit)| unit);
        shown(reading, &word(name), unit, value);
    }
    let mut readings: Vec<Reading> = cases.into();
    if let Some(time) = record.get("time") {
        for reading in &mut readings {
            reading.metadata.insert("time".into(), time.clone());
        }
    }
    readings
}
