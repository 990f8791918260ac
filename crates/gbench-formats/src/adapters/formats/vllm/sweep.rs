//! `vllm bench sweep`: the rows of `summary.json` and `summary.csv`, and the times of `vllm bench startup`.
//!
//! A row is the result of one run, its `run_number`, and the options of the combination behind that. The runs of a combination
//! ask one server, and are samples of one process.

use std::collections::{HashMap, HashSet};

use crate::adapters::formats::interface::prelude::*;
use crate::adapters::formats::interface::repeats::join;

pub(super) const RUN: &str = "run_number";
pub(super) const STARTUP: [&str; 3] = ["avg_cold_startup_time", "cold_startup_times", "warm_startup_times"];
/// The keys of the file that a sweep leaves of a run whose client failed.
pub(super) const FAILURE: [&str; 5] = [RUN, "error_type", "error", "serve_overrides", "bench_overrides"];

/// True for the header of `summary.csv`, which begins with the unnamed column of row numbers.
pub(super) fn is_header(line: &str) -> bool {
    let columns: Vec<&str> = line.split(',').collect();
    let has = |names: &[&str]| names.iter().all(|name| columns.contains(name));
    columns.first() == Some(&"")
        && has(&[RUN])
        && (has(&["completed", "request_throughput", "total_output_tokens"]) || has(&STARTUP))
}

/// The rows of `summary.csv` as the documents from which it was made.
pub(super) fn table(file: &ResultFile) -> Result<Vec<Entries<Value>>, ReadError> {
    let text = file.text()?;
    let table = CsvTable::read(*file, text, 1, b',')?;
    if let Some(last) = table.rows.last().filter(|_| !text.ends_with('\n')) {
        return Err(file.line(last.line, "the file ends within this line: it is incomplete"));
    }
    let options = table.need(RUN)?;
    let rows = table.rows.iter().map(|row| {
        let cells = table.header.iter().zip(&row.cells).enumerate().skip(1);
        // The percentiles are a dictionary of Python, and follow from the times.
        let cells = cells.filter(|(_, (_, cell))| !cell.is_empty() && !cell.starts_with('{'));
        Entries(cells.map(|(at, (name, cell))| (name.clone(), value(cell, at > options))).collect())
    });
    Ok(rows.collect())
}

/// A cell as JSON. `is_option`: whole numbers have a fraction in a column in which other rows have no value.
fn value(cell: &str, is_option: bool) -> Value {
    let text = if is_option { cell.strip_suffix(".0").unwrap_or(cell) } else { cell };
    let is_value = text.starts_with(|c: char| c.is_ascii_digit() || "-[".contains(c));
    match text {
        "True" => true.into(),
        "False" => false.into(),
        _ if is_value => serde_json::from_str(text).unwrap_or_else(|_| cell.into()),
        _ => cell.into(),
    }
}

/// The options of the combination: all that is behind the number of the run.
pub(super) fn options(found: &Entries<Value>) -> &[(String, Value)] {
    let at = found.0.iter().position(|(name, _)| name == RUN);
    at.and_then(|at| found.0.get(at + 1..)).unwrap_or_default()
}

/// True for a run that only warms the server up.
pub(super) fn is_warmup(found: &Entries<Value>) -> bool {
    found.get(RUN).and_then(Value::as_i64).is_some_and(|number| number < 0)
}

/// The seconds of each start; the averages and percentiles follow from them.
pub(super) fn startup(file: &ResultFile, found: &Entries<Value>) -> Result<Reading, ReadError> {
    let mut reading = named("startup", Params::new());
    for (name, value) in &found.0 {
        let Some(metric) = name.strip_suffix("_times") else { continue };
        let seconds: Vec<f64> = typed(file, name, value)?;
        // Nothing is compiled with `--enforce-eager`.
        if metric.ends_with("compilation") && seconds.iter().all(|seconds| *seconds == 0.0) {
            continue;
        }
        if seconds.is_empty() || seconds.iter().any(|seconds| *seconds <= 0.0) {
            return Ok(
                reading.with_end(failed(format!("`{name}` is {value}, and each has to be above zero")))
            );
        }
        reading.metric(&format!("{metric}_time"), "s", None).values = seconds;
    }
    Ok(reading)
}

/// Joins the runs of one combination. Those with the same number stay apart: something distinguishes them that is not known here.
pub(super) fn joined(readings: Vec<(Reading, Option<Value>)>) -> Vec<Reading> {
    let mut all: Vec<(Reading, HashSet<String>)> = Vec::with_capacity(readings.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for (reading, number) in readings {
        let Some(number) = number else {
            all.push((reading, HashSet::new()));
            continue;
        };
        // The options of the sweep are not in the native name.
        let place = *places.entry(format!("{:?}", reading.case)).or_insert(all.len());
        let number = number.to_string();
        match all.get_mut(place) {
            Some((known, numbers)) if !numbers.contains(&number) => {
                join(known, reading);
                numbers.insert(number);
            }
            _ => all.push((reading, HashSet::from([number]))),
        }
    }
    all.into_iter().map(|(reading, _)| reading).collect()
}
