//! nvbandwidth: what it prints, and its JSON (`-j`). A cell of a matrix is a case, named by its test, row and column.
//!
//! <https://github.com/NVIDIA/nvbandwidth>. A cell is the median of a few copies, or their mean with `--useMean`. The sum of a matrix is a case of its
//! own, which follows from the cells and is shown. The text does not name the tests that it waives; the JSON does.

mod json;
mod text;

use super::case::{alone, failed, named, shown, summarised};
use super::format::{FormatAbout, ResultFile, ResultFormat, RunReading};
use super::outline::Outline;
use crate::adapters::{End, ReadError, Reading, Reads};
use crate::model::{ParamValue, Params};

pub struct NvBandwidth;

/// The first words of the text.
const TITLE: &str = "nvbandwidth Version:";

impl ResultFormat for NvBandwidth {
    fn name(&self) -> &'static str {
        "nvbandwidth"
    }

    fn about(&self) -> FormatAbout {
        FormatAbout {
            title: "nvbandwidth",
            versions: "0.2 to 0.8, text and JSON",
            fields: "`Running`, the matrices with their unit, `SUM`, errors; JSON: `testcases[]` with `name`, `status`, `bandwidth_description`, \
                     `bandwidth_matrix`, `sum`, `error`; versions",
            reads: Reads::Summary,
            direction: "bandwidths higher, latencies lower; sums are shown",
            tried: &[],
        }
    }

    fn recognises(&self, file: &ResultFile) -> bool {
        let is_body = |body: &Outline| body.has(&["testcases"]) || body.has(&["error"]);
        file.any_line(TITLE, |line| line.starts_with(TITLE))
            || Outline::of(file, &["nvbandwidth"], &[])
                .is_some_and(|outline| outline.get("nvbandwidth").is_some_and(is_body))
    }

    fn read(&self, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
        if file.begins(b'{') { json::read(file) } else { text::read(file) }
    }
}

/// What a test measures, by the unit at the end of its description: `memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)`.
fn quantity(description: &str) -> Option<(&'static str, &'static str)> {
    match description.trim().strip_suffix(')')?.rsplit_once('(')?.1 {
        "GB/s" => Some(("bandwidth", "GB/s")),
        "ns" => Some(("latency", "ns")),
        _ => None,
    }
}

fn unknown(description: &str) -> String {
    format!("the unit of `{description}` is unknown")
}

/// Adds a cell.
fn cell(readings: &mut Vec<Reading>, test: &str, place: (i64, i64), of: (&str, &str), value: f64) {
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

fn sum(readings: &mut Vec<Reading>, test: &str, unit: &str, value: f64) {
    let mut reading = named(test, Params::new());
    shown(&mut reading, "sum", unit, value);
    readings.push(reading);
}

fn without_cells(readings: &mut Vec<Reading>, test: &str, end: End) {
    let mut reading = named(test, Params::new());
    reading.end = end;
    readings.push(reading);
}
