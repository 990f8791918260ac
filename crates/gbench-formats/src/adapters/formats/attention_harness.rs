//! The JSON of a CUDA kernel harness: one kernel, or a list of them, with statistics of the time.
//!
//! `{kernel_name, timestamp, config, metrics: {mean_time_ms, median_time_ms, std_dev_ms, ..., iterations,
//! throughput_gflops, bandwidth_gb_s, occupancy_percent}, environment, parameters}`. Later layouts have `performance`,
//! `correctness` and `roofline`; or `config`, `statistics` and `raw_latencies`; or, in each of `results` or alone, the
//! workload (in `config`) and the statistics of several implementations, `our_kernel` and others, without a unit. A kernel
//! whose check did not pass has failed.

use super::interface::prelude::*;
use super::readers::time_statistics::{read_times, read_times_without_unit, statistic};

/// Figures other than the time, by field.
const FIGURES: [(&str, &str, &str); 4] = [
    ("throughput_gflops", "throughput", "GFLOP/s"),
    ("bandwidth_gb_s", "bandwidth", "GB/s"),
    ("occupancy_percent", "occupancy", "%"),
    ("peak_mb", "memory", "MB"),
];

/// The implementation that a harness is for, and that its check is about; others are references.
const OURS: &str = "our_kernel";
/// Texts and flags of a row that are not facts.
const KNOWN: [&str; 3] = ["gpu", "kernel_name", "pytorch_version"];

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "attention-harness",
    title: "harness of CUDA kernels",
    versions: "with `metrics`; with `performance`, `correctness` and `roofline`; with `config` and `statistics`; with `our_kernel`",
    fields: "`kernel_name`, `parameters`, `config` (settings, facts of the machine, and else the workload); statistics of the time with `ms`, \
             `iterations`, `raw_latencies`, `throughput_gflops`, `bandwidth_gb_s`, `occupancy_percent`, `peak_mb`; statistics of `our_kernel` and \
             its references; `correctness`, `max_abs_error`, `correlation`; `roofline`; `environment` and `timestamp` of the run",
    direction: "time lower; all that follows from it is shown",
    failures: "`passed` false; `correct` false, for `our_kernel` alone; no time, or one of 0; `iterations` of 0",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let is_any = [
        &["\"mean_time_ms\""][..],
        &["\"correctness\"", "\"roofline\""],
        &["\"statistics\"", "\"median_ms\""],
        &["\"our_kernel\""],
    ];
    if !is_any.iter().any(|words| file.holds(words)) {
        return false;
    }
    let Some(outline) = Outline::of(file, &[], &[]) else { return false };
    let kernel = outline.first().or_else(|| outline.first_of("results")).unwrap_or(&outline);
    let first = kernel.get("metrics").is_some_and(|metrics| metrics.has(&["mean_time_ms", "median_time_ms"]));
    let later = kernel.has(&["correctness.passed", "performance", "roofline"]);
    kernel.has(&["kernel_name"]) && (first || later)
        || kernel.has(&["config", "statistics.median_ms", "performance.throughput_gflops"])
        || kernel.has(&["our_kernel.median"])
        || kernel.has(&["our_kernel.mean"])
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let value = document(file)?;
    let kernels = match &value {
        Value::Array(_) => Fields::each(file, "", &value)?,
        _ => {
            let document = Fields::of(file, "", &value)?;
            let rows = document.get("results").filter(|rows| rows.is_array());
            if rows.is_some() { document.objects("results")? } else { vec![document] }
        }
    };
    let mut run = RunReading::default();
    for (index, kernel) in kernels.iter().enumerate() {
        if kernel.get(OURS).is_some() {
            run.readings.extend(read_implementations(kernel)?);
        } else {
            run.readings.push(read_kernel(kernel)?);
        }
        let config = kernel.object("config")?;
        let config = config.iter().flat_map(flattened).map(|(name, value)| (name, value.clone()));
        let (settings, others): (Vec<_>, Vec<_>) = config.partition(|(name, _)| is_setting(name));
        run.settings_of_row(settings);
        run.also_of_row(others.into_iter().filter(|(name, _)| is_of_machine(name)));
        if kernel.get(OURS).is_none() {
            run.also_of_row(unknown(kernel.all(), |name| KNOWN.contains(&name)));
        }
        let started = kernel.text("timestamp")?.and_then(utc);
        run.started = if index == 0 {
            started
        } else {
            run.started.zip(started).map(|(first, other)| first.min(other))
        };
    }
    let document = value.as_object().map(|_| Fields::of(file, "", &value)).transpose()?;
    if let Some(about) = document.as_ref().or(kernels.first()) {
        run.facts = about.object("environment")?.map(|environment| environment.facts()).unwrap_or_default();
        let own = ["gpu", "pytorch_version"].iter().filter_map(|name| Some((*name, about.get(name)?)));
        run.facts.extend(own.map(|(name, value)| (name.to_owned(), value.clone())));
    }
    Ok(vec![run])
}

/// Each object of the row that has statistics is an implementation of the same workload.
fn read_implementations(row: &Fields) -> Result<Vec<Reading>, ReadError> {
    let workload = row.object("config")?;
    let is_workload = |value: &ParamValue| !matches!(value, ParamValue::Float(_) | ParamValue::Bool(_));
    let params = match &workload {
        Some(config) => workload_of(config),
        // Floating-point numbers and flags of the row are figures.
        None => row
            .all()
            .filter_map(|(key, value)| Some((key.to_owned(), scalar(value).filter(is_workload)?)))
            .collect(),
    };
    let wrong =
        row.object("correctness")?.map(|check| check.flag("correct")).transpose()?.flatten() == Some(false);
    let mut readings = Vec::new();
    let has_statistics = |value: &Value| ["median", "mean"].iter().any(|key| value.get(key).is_some());
    for (key, _) in row.all().filter(|(_, value)| has_statistics(value)) {
        let statistics = row.need(key, row.object(key)?)?;
        let mut params: Params = params.clone();
        params.extend([text_param("implementation", key)]);
        let mut reading = named(row.text("kernel_name")?.unwrap_or("kernel"), params);
        let time = read_times_without_unit(&statistics, &mut reading)?;
        if key == OURS && wrong {
            reading.end = failed("its check did not pass");
        } else if time.is_none_or(|time| time <= 0.0) {
            let time = time.map_or("no time".into(), |time| time.to_string());
            reading.end = failed(format!("it measured nothing: {time}"));
        }
        readings.push(ended(reading));
    }
    Ok(readings)
}

fn workload_of(config: &Fields) -> Params {
    let is_workload = |name: &str| !is_setting(name) && !is_of_machine(name) && !changes_by_itself(name);
    config.params().into_iter().filter(|(name, _)| is_workload(name)).collect()
}

/// True if a field of `config` is about the machine.
fn is_of_machine(name: &str) -> bool {
    ["clocks", "device", "gpu"].iter().any(|word| name.contains(word))
}

fn read_kernel(kernel: &Fields) -> Result<Reading, ReadError> {
    let config = kernel.object("config")?;
    let statistics = kernel.object("statistics")?;
    let name = kernel.text("kernel_name")?.or(statistics.as_ref().map(|_| "kernel"));
    let name = kernel.need("kernel_name", name)?;
    let mut params = kernel.object("parameters")?.map(|fields| fields.params()).unwrap_or_default();
    let settings = config.as_ref().map(workload_of).unwrap_or_default();
    // Cold and warm caches are not the same measurement.
    let is_named = |name: &str| statistics.is_some() || name.contains("flush");
    let (in_name, others): (Params, Params) = settings.into_iter().partition(|(name, _)| is_named(name));
    params.extend(in_name);
    let mut reading = named(name, params);
    reading.also(others);
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
    let figures = kernel.need(key, kernel.object(key)?)?;
    let timed = statistics.as_ref().unwrap_or(&figures);
    let iterations = timed.count("iterations")?.or(timed.count("n_samples")?);
    let time = read_times(timed, iterations, &mut reading)?;
    if time.is_none_or(|time| time <= 0.0) || iterations == Some(0) {
        let time = time.map_or("no time in milliseconds".into(), |time| format!("{time} ms"));
        let count = iterations.map(|count| format!(" of {count} iterations")).unwrap_or_default();
        reading.end = failed(format!("it measured nothing: {time}{count}"));
        return Ok(ended(reading));
    }
    // They have the unit of the statistics.
    let raw = kernel.numbers("raw_latencies")?.filter(|raw| Some(raw.len() as u64) == iterations);
    if let Some(raw) = raw {
        let metric = reading.metric("time", "ms", None);
        (metric.values, metric.summary) = (raw, None);
    }
    add_shown(&figures, "", &mut reading)?;
    kernel.object("memory")?.map(|memory| add_shown(&memory, "", &mut reading)).transpose()?;
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
