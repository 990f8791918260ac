//! The JSON of a CUDA kernel harness: one kernel, or a list of them, with statistics of the time. The later layout has
//! `performance`, `correctness` and `roofline`.
//!
//! `{kernel_name, timestamp, config, metrics: {mean_time_ms, median_time_ms, std_dev_ms, ..., iterations,
//! throughput_gflops, bandwidth_gb_s, occupancy_percent}, environment, parameters}`. A kernel with `passed: false` has
//! failed.

use super::interface::prelude::*;
use super::readers::time_statistics::{read_times, statistic};

/// Figures other than the time, by field.
const FIGURES: [(&str, &str, &str); 3] = [
    ("throughput_gflops", "throughput", "GFLOP/s"),
    ("bandwidth_gb_s", "bandwidth", "GB/s"),
    ("occupancy_percent", "occupancy", "%"),
];

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "attention-harness",
    title: "harness of CUDA kernels",
    versions: "with `metrics`, and the later one with `performance`, `correctness` and `roofline`",
    fields: "`kernel_name`, `parameters`, `config` (what flushes caches); statistics of the time with `ms`, `iterations`, `throughput_gflops`, `bandwidth_gb_s`, `occupancy_percent`; `correctness.passed`, `max_abs_error`, `correlation`; `roofline`; `environment` and `timestamp` of the run",
    direction: "time lower; all that follows from it is shown",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    if !file.holds(&["\"mean_time_ms\""]) && !file.holds(&["\"correctness\"", "\"roofline\""]) {
        return false;
    }
    let Some(outline) = Outline::of(file, &[], &["kernel_name"]) else { return false };
    let kernel = outline.first().unwrap_or(&outline);
    let first = kernel.get("metrics").is_some_and(|metrics| metrics.has(&["mean_time_ms", "median_time_ms"]));
    let later = kernel.get("correctness").is_some_and(|check| check.has(&["passed"]));
    kernel.has(&["kernel_name"]) && (first || later && kernel.has(&["performance", "roofline"]))
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let value = python_document(file)?;
    let kernels = match &value {
        Value::Array(_) => Fields::each(file, "", &value)?,
        _ => vec![Fields::of(file, "", &value)?],
    };
    let mut run = RunReading::default();
    for (index, kernel) in kernels.iter().enumerate() {
        run.readings.push(read_kernel(kernel)?);
        let started = kernel.text("timestamp")?.and_then(utc);
        if index == 0 {
            let environment = kernel.object("environment")?;
            let facts = environment
                .iter()
                .flat_map(Fields::all)
                .filter(|(_, value)| !value.is_object() && !value.is_array());
            run.facts = facts.map(|(name, value)| (name.to_owned(), value.clone())).collect();
            run.started = started;
        } else {
            run.started = run.started.zip(started).map(|(first, other)| first.min(other));
        }
    }
    Ok(vec![run])
}

fn read_kernel(kernel: &Fields) -> Result<Reading, ReadError> {
    let name = kernel.need("kernel_name", kernel.text("kernel_name")?)?;
    let mut params = kernel.object("parameters")?.map(|fields| fields.params()).unwrap_or_default();
    // Cold and warm caches are not the same measurement.
    let config = kernel.object("config")?.map(|fields| fields.params()).unwrap_or_default();
    params.extend(config.into_iter().filter(|(name, _)| name.contains("flush")));
    let mut reading = named(name, params);
    let correctness = kernel.object("correctness")?;
    let passed = match &correctness {
        Some(check) => check.flag("passed")?,
        None => kernel.flag("passed")?,
    };
    reading.metadata.insert("checked".into(), if passed.is_some() { "yes" } else { "no" }.into());
    if passed == Some(false) {
        let error = correctness.as_ref().map(|check| check.number("max_abs_error")).transpose()?.flatten();
        let error = error.map(|error| format!(": its greatest error is {error}")).unwrap_or_default();
        return Ok(reading.with_end(failed(format!("its check did not pass{error}"))));
    }
    let key = if kernel.get("metrics").is_some() { "metrics" } else { "performance" };
    let measured = kernel.need(key, kernel.object(key)?)?;
    let iterations = measured.count("iterations")?;
    let time = read_times(&measured, iterations, &mut reading)?;
    if time.is_none_or(|time| time <= 0.0) || iterations == Some(0) {
        let time = time.map_or("no time in milliseconds".into(), |time| format!("{time} ms"));
        let count = iterations.map(|count| format!(" of {count} iterations")).unwrap_or_default();
        reading.end = failed(format!("it measured nothing: {time}{count}"));
        return Ok(ended(reading));
    }
    add_shown(&measured, "", &mut reading)?;
    for (part, fields) in [("correctness", correctness), ("roofline", kernel.object("roofline")?)] {
        fields.map(|fields| add_shown(&fields, part, &mut reading)).transpose()?;
    }
    Ok(reading)
}

/// Figures that are only shown: the known ones, and all numbers of a given part.
fn add_shown(fields: &Fields, part: &str, reading: &mut Reading) -> Result<(), ReadError> {
    for (key, value) in fields.all() {
        let known = FIGURES.iter().find(|(other, ..)| *other == key);
        let (name, unit) = match known {
            Some((_, name, unit)) => ((*name).to_owned(), *unit),
            None if part.is_empty() || statistic(key).is_some() || !value.is_number() => continue,
            None => (format!("{part}.{key}"), if key.ends_with("percent") { "%" } else { "" }),
        };
        let value = fields.number_of(key, value)?;
        summarised(reading, &name, unit, alone(value)).judged = false;
    }
    Ok(())
}
