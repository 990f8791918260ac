//! Measurements of `torch.utils.benchmark`, as these lines of Python leave them:
//!
//! ```python
//! import json
//!
//! def export(measurements, path):
//!     keys = ("stmt", "label", "sub_label", "description", "env", "num_threads")
//!     rows = [
//!         {
//!             "raw_times": list(m.raw_times),
//!             "number_per_run": m.number_per_run,
//!             "task_spec": {key: getattr(m.task_spec, key) for key in keys},
//!         }
//!         for m in measurements
//!     ]
//!     with open(path, "w") as file:
//!         json.dump(rows, file)
//!
//! export([timer.blocked_autorange()], "results.json")
//! ```
//!
//! <https://docs.pytorch.org/docs/stable/benchmark_utils.html>. What PyTorch itself saves is a pickle, which runs code as it is read: refused. Each of
//! `raw_times` is the time of `number_per_run` executions, in seconds.

use std::collections::BTreeSet;

use super::interface::prelude::*;

#[derive(Deserialize)]
struct Measurement {
    raw_times: Vec<f64>,
    number_per_run: f64,
    task_spec: TaskSpec,
}

#[derive(Deserialize)]
struct TaskSpec {
    stmt: Option<String>,
    label: Option<String>,
    sub_label: Option<String>,
    description: Option<String>,
    env: Option<String>,
    num_threads: Option<i64>,
}

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "torch-measurement",
    title: "torch.utils.benchmark",
    versions: "`Measurement` of any version, exported as JSON by the lines in the documentation; no pickles",
    fields: "`raw_times`, `number_per_run`; `label`, `sub_label`, `description`, `env`, `num_threads`, `stmt` of `task_spec`",
    reads: Reads::Samples,
    direction: "times lower",
    failures: "a time of 0 in `raw_times`, or no time; `number_per_run` below 1; a pickle (refused)",
    tried: &["2.11.0"],
    recognises: |file| {
        file.begins(b'[') && Outline::has_keys(file, &["raw_times", "number_per_run", "task_spec"])
    },
    read,
    ..DeclaredFormat::SUMMARY
};

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    // A pickle begins with its protocol, and `torch.save` puts one into a zip.
    if file.bytes.starts_with(b"\x80") || file.bytes.starts_with(b"PK\x03\x04") {
        let what = "it is a pickle, which is not read: export it as JSON with the lines in the documentation of this format";
        return Err(file.wrong(what));
    }
    let measurements: Vec<Measurement> = document(file)?;
    // `env` distinguishes measurements within one file. A file with a single value is one side, whatever the value.
    let envs: BTreeSet<&Option<String>> = measurements.iter().map(|it| &it.task_spec.env).collect();
    let several = envs.len() > 1;
    let mut run = RunReading::from(measurements.iter().map(|it| reading(it, several)).collect::<Vec<_>>());
    for TaskSpec { stmt, env, .. } in measurements.iter().map(|it| &it.task_spec) {
        let facts = [("env", env), ("stmt", stmt)].into_iter();
        run.also_of_row(facts.filter_map(|(name, text)| Some((name.to_owned(), text.clone()?.into()))));
    }
    Ok(vec![run])
}

fn reading(measurement: &Measurement, several_envs: bool) -> Reading {
    let task = &measurement.task_spec;
    let env = if several_envs { &task.env } else { &None };
    let texts = [("sub_label", &task.sub_label), ("description", &task.description), ("env", env)];
    let mut params: Params = texts
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_owned(), ParamValue::Text(text.clone()?))))
        .collect();
    if let Some(threads) = task.num_threads {
        params.insert("num_threads".into(), ParamValue::Int(threads));
    }
    // Without another name, the statement is the name, as in PyTorch's own output.
    let name = task.label.clone().or_else(|| task.stmt.clone()).filter(|name| !name.trim().is_empty());
    let mut reading = named(name.as_deref().unwrap_or("measurement"), params);
    let (times, runs) = (&measurement.raw_times, measurement.number_per_run);
    if times.is_empty() || runs < 1.0 || times.iter().any(|time| *time <= 0.0) {
        reading.end =
            failed(format!("{} times of {runs} executions each, and each has to be above zero", times.len()));
        return reading;
    }
    reading.metric("time", "s", None).values = times.iter().map(|time| time / runs).collect();
    reading.iterations = Some(runs * times.len() as f64);
    reading
}
