//! TorchBench: the `metrics-*.json` of its userbenchmarks. <https://github.com/pytorch/benchmark>.
//!
//! The names of the metrics have the parameters: `model=..., test=..., metric=latencies` of `test_bench`,
//! `test_eval[...]_latency` of the nightly runs, `model, optimizer, device, ...` of `optim`. A text in place of a number is why
//! it has none.

use super::interface::prelude::*;

#[derive(Deserialize)]
struct Document {
    name: String,
    environ: Entries<Value>,
    metrics: Entries<Value>,
}

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "torchbench",
    title: "TorchBench userbenchmarks",
    versions: "`metrics-*.json` of `test_bench`, `torch-nightly` and `optim`; others as names without a unit",
    fields: "`metrics`, whose names have the parameters; `pytorch_version`, `pytorch_git_version`, `device` of `environ`",
    direction: "times and memory lower; metrics of other benchmarks are shown",
    failures: "a text in place of a number, such as an `accuracy` other than `pass`; `memleak` of `True`; `not_implemented`, \
             `skip` and `skip_by_dryrun` (skipped); a time of 0; a time or memory below 0",
    recognises: |file| {
        Outline::shows(file, &["name", "environ", "metrics"], &["environ.pytorch_git_version"])
    },
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let found: Document = document(file)?;
    let mut cases = CaseReadings::default();
    for (key, value) in &found.metrics.0 {
        let (case, params, metric, unit) = parts(&found.name, key);
        let reading = cases.of(named(case, params));
        match value {
            Value::String(text) => ended_by(reading, &metric, text),
            Value::Number(number) => {
                let value = number.as_f64().unwrap_or_default();
                // Older nightly runs write it for a failure.
                if value < 0.0 && !unit.is_empty() {
                    fail(reading, format!("`{metric}` is {value}"));
                } else if value == 0.0 && is_time(unit) {
                    fail(reading, format!("`{metric}` is 0"));
                } else {
                    summarised(reading, &metric, unit, alone(value)).judged = !unit.is_empty();
                }
            }
            _ => return Err(file.at(format!("metrics[\"{key}\"]"), "it is neither a number nor a text")),
        }
    }
    let mut readings: Vec<Reading> = cases.into();
    for reading in &mut readings {
        if reading.end == End::Measured && reading.metrics.is_empty() {
            reading.end = skipped("it was checked, and not measured");
        }
    }
    let mut run = RunReading::from(readings.into_iter().map(ended).collect::<Vec<_>>());
    for key in ["pytorch_version", "pytorch_git_version", "device"] {
        run = run.fact(key, found.environ.text(key));
    }
    Ok(vec![run])
}

fn ended_by(reading: &mut Reading, metric: &str, text: &str) {
    let is_skip = ["not_implemented", "skip", "skip_by_dryrun"].contains(&text);
    match (metric, text) {
        ("accuracy", "pass") | ("memleak", "False") => {}
        // The model was measured without the check.
        ("accuracy" | "memleak", _) if is_skip => {}
        ("memleak", "True") => fail(reading, "it leaks memory"),
        _ if is_skip && reading.end == End::Measured => reading.end = skipped(text),
        _ if is_skip => {}
        // The message of one metric says more than that another one has failed.
        _ => fail(reading, text),
    }
}

/// The case, its parameters, the metric and its unit.
fn parts<'a>(benchmark: &str, key: &'a str) -> (&'a str, Params, String, &'static str) {
    let pairs = pairs(key);
    let of = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    if let (Some(model), Some(metric)) = (of("model"), of("metric")) {
        let others = pairs.iter().filter(|(key, _)| !["model", "metric"].contains(key));
        let params = others.map(|(key, value)| ((*key).to_owned(), param(value))).collect();
        return match metric {
            "latencies" => (model, params, "time".into(), "ms"),
            "cpu_peak_mem" | "gpu_peak_mem" => (model, params, metric.into(), "GB"),
            _ => (model, params, metric_name(metric), ""),
        };
    }
    let nightly = key.split_once('[').and_then(|(test, rest)| Some((test, rest.rsplit_once("]_")?)));
    if let Some((test, (model, metric))) = nightly.filter(|(test, _)| test.starts_with("test_")) {
        let params = Params::from([text_param("model", model)]);
        return match metric {
            "latency" => (test, params, "time".into(), "ms"),
            "cmem" | "gmem" => (test, params, metric.into(), "GB"),
            _ => (test, params, metric_name(metric), ""),
        };
    }
    match key.strip_suffix(", compile_time") {
        Some(case) if benchmark == "optim" => (case, Params::new(), "compile_time".into(), "s"),
        _ if benchmark == "optim" => (key, Params::new(), "time".into(), "s"),
        _ => (key, Params::new(), "value".into(), ""),
    }
}

/// `a=1, b=[2, 3]`: a comma within a value is not followed by a name.
fn pairs(key: &str) -> Vec<(&str, &str)> {
    let is_name = |text: &str| {
        text.split_once('=')
            .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
    };
    let mut starts: Vec<usize> = vec![0];
    starts.extend(key.match_indices(", ").map(|(at, _)| at + 2).filter(|at| is_name(&key[*at..])));
    let ends = starts.iter().skip(1).map(|start| start - 2).chain([key.len()]);
    starts.iter().zip(ends).filter_map(|(start, end)| key.get(*start..end)?.split_once('=')).collect()
}
