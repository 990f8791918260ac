//! `summary.json` of a kernel runner: a row for each kernel, backend and precision; or the file of one kernel, which is
//! such a row.
//!
//! Only fields whose names show their meaning and unit are read: statistics of a time in `ms`, memory in `mb`, energy in
//! `j`. The totals must agree with the rows, because a kernel that did not load is missing from the rows alone.

use super::interface::prelude::*;
use super::readers::time_statistics::{read_times, statistic};

const ROWS: [&str; 2] = ["results", "kernels"];

const NAMES: [&str; 3] = ["kernel", "kernel_name", "name"];

const KEYS: [&str; 5] = ["backend", "precision", "dtype", "device", "problem_size"];

/// Fields with the reason of a failure or a skip.
const SAID: [&str; 4] = ["error_message", "error", "skip_reason", "reason"];

/// Figures other than the time, by the last part of their name: metric, unit, direction, and whether it is judged.
const FIGURES: [(&str, &str, &str, Option<Better>, bool); 9] = [
    ("memory_mb", "memory", "MB", Some(Better::Lower), true),
    ("peak_memory_mb", "memory", "MB", Some(Better::Lower), true),
    ("memory_peak_mb", "memory", "MB", Some(Better::Lower), true),
    ("energy_j", "energy", "J", Some(Better::Lower), true),
    ("power_w", "power", "W", None, false),
    ("rmse", "rmse", "", Some(Better::Lower), false),
    ("max_error", "max_error", "", Some(Better::Lower), false),
    ("max_abs_error", "max_error", "", Some(Better::Lower), false),
    ("relative_error", "relative_error", "", Some(Better::Lower), false),
];

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "kernel-summary",
    title: "summary of a kernel runner",
    versions: "rows in `results` or `kernels`, with `success`; the file of one kernel",
    fields: "`kernel`, `backend`, `precision`, `problem_size`, `success`, `iterations`, `warmup`; `raw_times_ms`, else statistics of the time with `ms`; `memory_mb`, `energy_j`, `power_w`, `rmse`, `max_error`, `relative_error`; `total`; `environment` of the run",
    direction: "time, memory and energy lower; errors of the result are shown",
    failures: "`success` false; `skipped` true (skipped); no time in milliseconds, or one of 0; `total` or `total_kernels` \
             other than the number of rows, or a row without `success` (refused)",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let Some(outline) = Outline::of(file, &[], &["backend", "precision", "success"]) else {
        return false;
    };
    let mut rows = ROWS.iter().filter_map(|key| outline.first_of(key)).chain([&outline]);
    rows.any(|row| row.has(&["backend", "precision", "success"]) && NAMES.iter().any(|name| row.has(&[name])))
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let value = document(file)?;
    let document = Fields::of(file, "", &value)?;
    let key = ROWS.into_iter().find(|key| document.get(key).is_some_and(Value::is_array));
    let rows = match key {
        Some(key) => document.objects(key)?,
        None if document.get("success").is_some() => vec![document.clone()],
        None => return Err(file.wrong("it has neither `results` nor `kernels`")),
    };
    for total in ["total", "total_kernels"] {
        if let Some(total_rows) = document.count(total)?.filter(|total| *total != rows.len() as u64) {
            let what = format!("it is {total_rows}, and there are {} rows", rows.len());
            return Err(document.wrong(total, what));
        }
    }
    let readings: Result<Vec<Reading>, ReadError> = rows.iter().map(read_row).collect();
    let mut run = RunReading::from(readings?);
    run.started = document.text("timestamp")?.and_then(utc);
    if let Some(environment) = document.object("environment")? {
        let git = environment.object("git")?;
        run.commit = git.map(|git| git.text("commit")).transpose()?.flatten().map(str::to_owned);
        run.facts = environment.facts();
    }
    let is_known = |key: &str| KEYS.contains(&key) || NAMES.contains(&key);
    run.also_of_row(unknown(document.all(), is_known));
    for row in &rows {
        let settings = ["iterations", "warmup"].into_iter();
        run.settings_of_row(settings.filter_map(|key| Some((key.to_owned(), row.get(key)?.clone()))));
        run.also_of_row(unknown(row.all(), is_known));
    }
    run.unread.fields(rows.iter().flat_map(passed_over));
    Ok(vec![run])
}

/// Numbers of a row that are neither of its workload and settings nor figures with a unit.
fn passed_over(row: &Fields) -> Vec<String> {
    let is_left_out = |path: &str| {
        let (first, inner) = path.split_once('.').unwrap_or((path, path));
        let last = path.rsplit('.').next().unwrap_or(path);
        KEYS.contains(&first)
            || first == "metadata"
            || is_setting(last)
            // Operations per second are the inverse of the time.
            || ["raw_times_ms", "throughput_ops_per_sec", "throughput_ops_s", "timestamp"].contains(&last)
            || FIGURES.iter().any(|(key, ..)| *key == last)
            || [path, inner].into_iter().any(|name| statistic(name).is_some())
    };
    let fields = flattened(row).into_iter().filter(|(path, value)| has_number(value) && !is_left_out(path));
    fields.map(|(path, _)| path).collect()
}

fn read_row(row: &Fields) -> Result<Reading, ReadError> {
    let key = NAMES.into_iter().find(|key| row.get(key).is_some()).unwrap_or("kernel");
    let name = row.need(key, row.text(key)?)?;
    let mut params = Params::new();
    for key in KEYS {
        match row.get(key) {
            Some(Value::Object(_)) => params.extend(row.object(key)?.iter().flat_map(Fields::params)),
            Some(value) => params.extend(param_of(value).map(|param| (key.to_owned(), param))),
            None => {}
        }
    }
    let mut reading = named(name, params);
    let said =
        SAID.into_iter().find_map(|key| row.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()));
    if row.flag("skipped")? == Some(true) {
        return Ok(reading.with_end(skipped(said.unwrap_or("it was skipped"))));
    }
    if !row.need("success", row.flag("success")?)? {
        return Ok(reading.with_end(failed(said.unwrap_or("it did not succeed"))));
    }
    let settings = row.object("metadata")?;
    let settings = settings.as_ref().unwrap_or(row);
    let iterations = settings.count("iterations")?;
    for (key, count) in [("iterations", iterations), ("warmup", settings.count("warmup")?)] {
        reading.note(key, count);
    }
    figures(row, &mut reading, iterations)?;
    Ok(ended(reading))
}

fn figures(row: &Fields, reading: &mut Reading, iterations: Option<u64>) -> Result<(), ReadError> {
    let timed = ["metrics", "timing", "latency", "latency_ms"]
        .into_iter()
        .find(|key| row.get(key).is_some_and(Value::is_object));
    let inner = timed.map(|key| row.object(key)).transpose()?.flatten();
    // The unit of `latency_ms: {p50: ...}` is in the outer key.
    let times = if timed == Some("latency_ms") { row } else { inner.as_ref().unwrap_or(row) };
    let time = read_times(times, iterations, reading)?;
    if let Some(raw) = times.numbers("raw_times_ms")?.filter(|raw| !raw.is_empty()) {
        let metric = reading.metric("time", "ms", None);
        (metric.values, metric.summary) = (raw, None);
    }
    if time.is_none_or(|time| time <= 0.0) {
        let time = time.map_or("it has none in milliseconds".into(), |time| format!("it is {time} ms"));
        reading.end = failed(format!("reported as succeeded, but its time is {time}"));
        return Ok(());
    }
    for (path, value) in flattened(row) {
        let last = path.rsplit('.').next().unwrap_or(&path);
        let Some((_, name, unit, better, judged)) = FIGURES.iter().find(|(key, ..)| *key == last) else {
            continue;
        };
        let value = row.number_of(&path, value)?;
        if reading.metrics.iter().any(|metric| metric.name == *name) {
            return Err(row.wrong(&path, "another field has the same meaning"));
        }
        let metric = summarised(reading, name, unit, alone(value));
        (metric.better, metric.judged) = (*better, *judged);
    }
    Ok(())
}
