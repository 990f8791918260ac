//! Readings of a cell, a sum and a test without cells.

use crate::adapters::formats::interface::prelude::*;

/// The quantity of a test, by the unit at the end of its description: `memcpy CE CPU(row) -> GPU(column) bandwidth
/// (GB/s)`.
pub(super) fn quantity(description: &str) -> Option<(&'static str, &'static str)> {
    match description.trim().strip_suffix(')')?.rsplit_once('(')?.1 {
        "GB/s" => Some(("bandwidth", "GB/s")),
        "ns" => Some(("latency", "ns")),
        _ => None,
    }
}

pub(super) fn unknown(description: &str) -> String {
    format!("the unit of `{description}` is unknown")
}

pub(super) fn cell(readings: &mut Vec<Reading>, test: &str, place: (i64, i64), of: (&str, &str), value: f64) {
    let (row, column) = place;
    let params =
        Params::from([("row".into(), ParamValue::Int(row)), ("column".into(), ParamValue::Int(column))]);
    let mut reading = named(test, params);
    if value <= 0.0 {
        reading.end = failed(format!("its {} is not above zero", of.0));
    }
    summarised(&mut reading, of.0, of.1, alone(value));
    readings.push(reading);
}

pub(super) fn sum(readings: &mut Vec<Reading>, test: &str, unit: &str, value: f64) {
    let mut reading = named(test, Params::new());
    shown(&mut reading, "sum", unit, value);
    readings.push(reading);
}

pub(super) fn without_cells(readings: &mut Vec<Reading>, test: &str, end: End) {
    readings.push(named(test, Params::new()).with_end(end));
}

/// The name of `0: NVIDIA H100 (00000000:01:00)`: the address depends on the slot.
pub(super) fn device_name(listed: &str) -> Option<&str> {
    let (_, name) = listed.split_once(": ")?;
    Some(name.rsplit_once(" (").map_or(name, |(name, _)| name).trim())
}
