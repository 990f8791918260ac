//! Kernel Tuner: its cache file. Each tested configuration is a case, with the time of each iteration.
//! <https://kerneltuner.github.io/kernel_tuner/stable/cache_files.html>.
//!
//! The tool appends one configuration at a time, and closes the two outer braces when it ends: a file without them that
//! ends after a whole configuration is valid. A configuration that did not compile or run has text in `time`, or 1e20 in
//! old versions.

use super::interface::prelude::*;
use crate::adapters::readers::json;

/// The time of a failed configuration in old versions.
const FAILED_TIME: f64 = 1e20;
/// Numbers of an entry that describe the tuning, not the configuration.
const OTHER: [&str; 8] = [
    "time",
    "times",
    "compile_time",
    "verification_time",
    "benchmark_time",
    "strategy_time",
    "framework_time",
    "timestamp",
];

#[derive(Deserialize)]
struct Cache {
    #[serde(default)]
    device_name: String,
    kernel_name: String,
    #[serde(default)]
    problem_size: Value,
    tune_params_keys: Vec<String>,
    cache: Entries<Entries<Value>>,
}

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "kernel-tuner",
    title: "Kernel Tuner",
    versions: "cache files of 0.x and 1.x, also those that a run has not closed",
    fields: "`kernel_name`, `problem_size`, `device_name`, `tune_params_keys`; of each of `cache`: its parameters, `times`, `time`, \
             metrics of the user's own such as `GFLOP/s`",
    reads: Reads::Samples,
    direction: "times lower; the user's own metrics follow from them and are shown",
    failures: "a text in `time`; a time of 0, or of 1e20; a file that ends within a configuration (refused)",
    tried: &["1.5.0", "1.5.0-unclosed"],
    recognises: |file| Outline::has_keys(file, &["kernel_name", "tune_params_keys", "tune_params", "cache"]),
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let found: Cache = document(file).or_else(|error| {
        let bytes = closed(file.bytes).ok_or_else(|| error.clone())?;
        json::document(Some(file.name), &bytes).map_err(|_: ReadError| error)
    })?;
    let mut readings = Vec::with_capacity(found.cache.0.len());
    for (key, entry) in &found.cache.0 {
        readings.push(reading(file, &found, key, entry)?);
    }
    let device = Some(found.device_name).filter(|name| !name.is_empty());
    Ok(vec![RunReading::from(readings).fact("device_name", device)])
}

/// The bytes with the outer braces closed, if they end after a whole object.
fn closed(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = bytes.trim_ascii_end();
    let text = text.strip_suffix(b",").unwrap_or(text).trim_ascii_end();
    let whole = text.ends_with(b"}") && bytes.trim_ascii_start().starts_with(b"{");
    // Two braces are open within the cache, one after it: otherwise the result is not JSON.
    let open = braces(text).filter(|open| whole && (1..=2).contains(open))?;
    Some([text, b"}}".get(..open)?].concat())
}

/// Braces that are open at the end; `None` within a string.
fn braces(text: &[u8]) -> Option<usize> {
    let (mut open, mut inside, mut escaped) = (0_usize, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'{' if !inside => open += 1,
            b'}' if !inside => open = open.checked_sub(1)?,
            _ => {}
        }
    }
    (!inside).then_some(open)
}

fn reading(
    file: &ResultFile,
    cache: &Cache,
    key: &str,
    entry: &Entries<Value>,
) -> Result<Reading, ReadError> {
    let path = |field: &str| format!("cache[\"{key}\"].{field}");
    let mut params = Params::new();
    for name in &cache.tune_params_keys {
        let value = entry.get(name).and_then(scalar);
        params.insert(name.clone(), value.ok_or_else(|| file.at(path(name), "the parameter is missing"))?);
    }
    if let Some(size) = size(&cache.problem_size) {
        params.insert("problem_size".into(), size);
    }
    let mut reading = named(&cache.kernel_name, params);
    let time = match entry.get("time") {
        Some(Value::String(why)) => {
            return Ok(reading.with_end(failed(why)));
        }
        Some(time) => typed::<f64>(file, &path("time"), time)?,
        None => return Err(file.at(path("time"), "it is missing")),
    };
    if time >= FAILED_TIME || time <= 0.0 {
        return Ok(reading.with_end(failed(format!("its time is {time} ms, which is not a time"))));
    }
    match entry.get("times") {
        Some(times) => reading.metric("time", "ms", None).values = typed(file, &path("times"), times)?,
        None => {
            summarised(&mut reading, "time", "ms", alone(time));
        }
    }
    for (name, value) in &entry.0 {
        let is_metric = !OTHER.contains(&name.as_str()) && !cache.tune_params_keys.contains(name);
        if let Some(value) = value.as_f64().filter(|_| is_metric) {
            let unit = if direction_of_unit(name).is_some() { name.as_str() } else { "" };
            summarised(&mut reading, &metric_name(name), unit, alone(value)).judged = false;
        }
    }
    Ok(reading)
}

/// `4096x4096`, or the one number.
fn size(value: &Value) -> Option<ParamValue> {
    match value {
        Value::Array(sizes) => {
            let sizes: Vec<String> = sizes.iter().map(Value::to_string).collect();
            (!sizes.is_empty()).then(|| ParamValue::Text(sizes.join("x")))
        }
        other => scalar(other),
    }
}
