//! AIPerf and GenAI-Perf: the summary `profile_export*.json` of a load test. A file is one case.
//! <https://github.com/ai-dynamo/aiperf/blob/main/docs/tutorials/working-with-profile-exports.md>.
//!
//! Each metric is an object with its unit and statistics; the layout of `input_config` differs by version. Failed
//! requests are listed in `error_summary` without times: such a run failed. A latency of 0 was not measured, for example
//! if a server sends all tokens at once.

use super::interface::prelude::*;
use gbench_model::{Unread, UnreadKind};

/// The purpose of a load test; other figures are only shown.
const JUDGED: [&str; 7] = [
    "request_latency",
    "time_to_first_token",
    "time_to_second_token",
    "inter_token_latency",
    "inter_chunk_latency",
    "request_throughput",
    "output_token_throughput",
];
/// The beginning of the first table of the CSV, without any workload: the two programs have other columns behind it. The second
/// table has single values.
const CSV: &str = "Metric,avg,";
const CSV_VALUES: &str = "Metric,Value";
/// Figures of the connection, and the same figures over other intervals.
const LEFT_OUT: [&str; 3] = ["http_", "effective_", "active_"];

/// Each parameter, and its paths in `input_config` by version.
const PARAMS: [(&str, &[&str]); 8] = [
    ("model", &["/models/items/0/name", "/endpoint/model_names/0", "/model_names/0", "/model/0", "/model"]),
    ("endpoint_type", &["/endpoint/type", "/endpoint_type"]),
    ("streaming", &["/endpoint/streaming", "/streaming"]),
    (
        "concurrency",
        &[
            "/phase/concurrency",
            "/loadgen/concurrency",
            "/perf_analyzer/stimulus/concurrency",
            "/concurrency",
        ],
    ),
    (
        "request_rate",
        &["/phase/rate", "/loadgen/request_rate", "/perf_analyzer/stimulus/request_rate", "/request_rate"],
    ),
    ("request_count", &["/phase/requests", "/loadgen/request_count", "/request_count"]),
    (
        "input_tokens",
        &["/datasets/0/prompts/isl/mean", "/input/prompt/input_tokens/mean", "/synthetic_input_tokens_mean"],
    ),
    (
        "output_tokens",
        &["/datasets/0/prompts/osl/mean", "/input/prompt/output_tokens/mean", "/output_tokens_mean"],
    ),
];

/// Parts of `input_config` by version that are the data set and the load: each value that is not among the parameters above.
const PARTS: [(&str, &str); 4] =
    [("dataset", "/datasets/0"), ("dataset", "/input"), ("load", "/phase"), ("load", "/loadgen")];

#[derive(Deserialize)]
struct Metric {
    unit: String,
    avg: f64,
    p50: Option<f64>,
    p99: Option<f64>,
    std: Option<f64>,
    count: Option<u64>,
}

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "aiperf",
    title: "AIPerf and GenAI-Perf",
    versions: "`profile_export*.json` of AIPerf with any `schema_version`, and of GenAI-Perf; `profile_export_aiperf.csv` and `profile_export_genai_perf.csv`",
    fields: "`unit`, `avg`, `p50`, `p99`, `std`, `count` of each metric; `input_config` (model, data set and load as parameters), `error_summary`, `was_cancelled`, `is_complete`, \
             `aiperf_version`",
    direction: "times lower, throughputs higher; counts and lengths are shown",
    failures: "`error_request_count` above 0, or an `error_summary`; `request_count` of 0; `was_cancelled` true, or \
             `is_complete` false; no metric; a judged figure of 0 (left out); a CSV without its table of single values \
             (refused)",
    tried: &["0.13.0", "0.13.0-errors"],
    load: LoadFields {
        parameters: &["concurrency", "request_rate"],
        following: &["request_count"],
        axes: &["output_token_throughput", "request_throughput", "request_latency"],
        answered: None,
    },
    recognises: |file| {
        file.first_line().starts_with(CSV)
            || Outline::has_keys(file, &["input_config", "request_latency", "request_throughput"])
            || Outline::has_keys(file, &["input_config", "error_summary", "was_cancelled"])
    },
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    if file.begins(b'M') {
        return read_csv(file);
    }
    let found: Entries<Value> = document(file)?;
    let config = found.get("input_config").ok_or_else(|| file.at("input_config", "it is missing"))?;
    let config = with_phase(config);
    let mut reading = named("profile", params(&config));
    let mut run = RunReading::default().fact("aiperf_version", found.text("aiperf_version"));
    for (name, value) in parts(&config) {
        match scalar(&value) {
            _ if name.ends_with("duration") => run = run.also("duration", value),
            _ if is_setting(&name) => run = run.setting(&name, value),
            value => reading.also(value.map(|value| (name, whole(value)))),
        }
    }
    let older = config.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value));
    run.also_of_row(unknown(older, |name| {
        PARAMS.iter().any(|(_, places)| places.contains(&format!("/{name}").as_str()))
    }));
    failures(file, &found, &mut reading)?;
    for (name, value) in &found.0 {
        let is_metric = value.get("unit").is_some_and(Value::is_string) && value.get("avg").is_some();
        if is_metric && reading.end == End::Measured {
            add(&mut reading, name, &typed(file, name, value)?);
        }
    }
    if reading.metrics.is_empty() {
        fail(&mut reading, "it contains no metric");
    }
    // Every kind of endpoint has the latency of a request.
    reading.metrics.sort_by_key(|metric| metric.name != "request_latency");
    run.readings.push(reading);
    Ok(vec![run])
}

fn read_csv(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let text = file.text()?.replace('\r', "");
    // The throughput is among the single values of each version; only the number of requests is behind it.
    let has_values = text.lines().any(|line| line.starts_with("Request Throughput ("));
    if !text.ends_with('\n') || !has_values {
        return Err(file.wrong("it is incomplete: the table of single values is missing, or its last line"));
    }
    let (mut reading, mut unread) = (named("profile", Params::new()), Unread::default());
    let mut line = 1;
    for part in text.split("\n\n") {
        let (first, lines) = (line, part.matches('\n').count());
        line += lines + 2;
        let header = part.trim_start().lines().next().unwrap_or_default();
        // The telemetry of the GPUs.
        if header.split(',').any(|column| ["GPU", "GPU_Index"].contains(&column)) {
            continue;
        }
        if !header.starts_with(CSV) && header != CSV_VALUES {
            let rows = (first..).zip(part.lines()).filter(|(_, row)| !row.is_empty()).skip(1);
            rows.for_each(|(at, row)| unread.line(UnreadKind::Row, at, row));
            continue;
        }
        let table = CsvTable::read(*file, part, first, b',')?;
        for row in &table.rows {
            // A number in a text has commas between its thousands.
            let figure = |column: usize| match row.cell(column) {
                "N/A" | "" => Ok(None),
                cell => {
                    let wrong = || file.line(row.line, format!("`{cell}` is not a number"));
                    number(&cell.replace(',', "")).map(Some).ok_or_else(wrong)
                }
            };
            let of = |name: &str| table.column(name).map_or(Ok(None), figure);
            let (name, unit) = row
                .cell(0)
                .strip_suffix(')')
                .and_then(|name| name.rsplit_once(" ("))
                .unwrap_or((row.cell(0), ""));
            let name = word(name);
            let Some(avg) = figure(1)? else { continue };
            // It has no limit.
            if avg == -1.0 && name.ends_with("goodput") {
                continue;
            }
            if name == "error_request_count" && avg > 0.0 {
                fail(&mut reading, format!("{avg} requests failed"));
            }
            let unit = if unit == "per sec" { "requests/sec" } else { unit }.to_owned();
            let metric = Metric { unit, avg, p50: of("p50")?, p99: of("p99")?, std: of("std")?, count: None };
            add(&mut reading, &name, &metric);
        }
    }
    if reading.metrics.is_empty() {
        fail(&mut reading, "it contains no metric");
    }
    reading.metrics.sort_by_key(|metric| metric.name != "request_latency");
    Ok(vec![RunReading { readings: vec![ended(reading)], unread, ..RunReading::default() }])
}

fn with_phase(config: &Value) -> Value {
    let mut config = config.clone();
    // Warm-up is a separate phase.
    let phases = config.get("phases").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let profiling =
        phases.iter().find(|phase| phase.get("name").and_then(Value::as_str) == Some("profiling"));
    let phase = profiling.or(phases.last()).cloned();
    if let (Some(phase), Some(config)) = (phase, config.as_object_mut()) {
        config.insert("phase".into(), phase);
    }
    config
}

/// Each value of the data set and the load, with a dotted name. A path is cut to its last part, because the folder depends on
/// the machine.
fn parts(config: &Value) -> Vec<(String, Value)> {
    fn add(name: &str, place: &str, value: &Value, found: &mut Vec<(String, Value)>) {
        let is_read = PARAMS.iter().any(|(_, places)| places.contains(&place));
        match value {
            Value::Object(inner) => {
                for (key, value) in inner.iter().filter(|(key, _)| !["kind", "name"].contains(&key.as_str()))
                {
                    add(&format!("{name}.{key}"), &format!("{place}/{key}"), value, found);
                }
            }
            Value::String(text) if !is_read => {
                found.push((name.to_owned(), text.rsplit('/').next().unwrap_or(text).into()));
            }
            Value::Number(_) | Value::Bool(_) if !is_read => found.push((name.to_owned(), value.clone())),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (name, place) in PARTS {
        config.pointer(place).into_iter().for_each(|value| add(name, place, value, &mut found));
    }
    found
}

fn params(config: &Value) -> Params {
    let param = |places: &[&str]| places.iter().find_map(|place| config.pointer(place).and_then(scalar));
    PARAMS
        .iter()
        .filter_map(|(name, places)| Some(((*name).to_owned(), param(places)?)))
        .map(|(name, value)| (name, whole(value)))
        .collect()
}

/// A rate of 8.0 in one version is 8 in another.
fn whole(value: ParamValue) -> ParamValue {
    match value {
        ParamValue::Float(float) if float.fract() == 0.0 && float.abs() < 1e15 => {
            ParamValue::Int(float as i64)
        }
        value => value,
    }
}

fn failures(file: &ResultFile, found: &Entries<Value>, reading: &mut Reading) -> Result<(), ReadError> {
    let is = |key: &str, value: bool| found.get(key) == Some(&Value::Bool(value));
    let mean = |key: &str| Ok(found.typed::<Metric>(file, key)?.map(|metric| metric.avg));
    let (done, lost) = (mean("request_count")?, mean("error_request_count")?);
    let errors = found.get("error_summary").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let counted: u64 = errors.iter().filter_map(|error| error.get("count")?.as_u64()).sum();
    let lost = lost.unwrap_or(counted as f64);
    if lost > 0.0 || !errors.is_empty() || done.is_some_and(|done| done <= 0.0) {
        let why = errors.first().and_then(|error| error.pointer("/error_details/message")?.as_str());
        let why = why.and_then(|why| why.lines().next()).map(|why| format!(": {why}")).unwrap_or_default();
        fail(reading, format!("{} requests completed and {lost} failed{why}", done.unwrap_or(0.0)));
    }
    if is("was_cancelled", true) || is("is_complete", false) {
        fail(reading, "it was cancelled, or did not complete");
    }
    Ok(())
}

fn add(reading: &mut Reading, name: &str, metric: &Metric) {
    if LEFT_OUT.iter().any(|prefix| name.starts_with(prefix)) {
        return;
    }
    let about = JUDGED.contains(&name);
    let (value, unit) = (metric.p50.unwrap_or(metric.avg), metric.unit.as_str());
    if about && (value == 0.0 || metric.avg == 0.0) {
        return;
    }
    let judged = about && direction_of_unit(unit).is_some();
    summarised(reading, name, unit, summary(value, metric.std, metric.count)).judged = judged;
    if let Some(p99) = metric.p99.filter(|_| about && is_time(unit)) {
        summarised(reading, &format!("{name}_p99"), unit, summary(p99, None, metric.count)).judged = judged;
    }
}
