//! Mitata: the output of `run({ format: 'json' })`, in version 0.1 `run({ json: true })`.
//! <https://github.com/evanwashere/mitata>.
//!
//! It reads neither arguments nor the environment: its script determines the benchmarks, their duration and the JSON
//! output. Its samples are sorted and trimmed at both ends, so they are not measurements in order: the median is read.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

use super::formats::readers::values::scalar;
use super::interface::prelude::*;
use super::readers::loose_json::readable;
use super::source::javascript::{imports, name, package};

pub(crate) struct Mitata;

impl Adapter for Mitata {
    fn about(&self) -> About {
        About {
            name: "mitata",
            title: "Mitata",
            language: Language::JavaScript,
            lists: Lists::ByRunning,
            reads: Reads::Summary,
            tried: &["0.1.14", "1.0.34"],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        let mut detected = Detected::default();
        let script =
            |path: &&String| [".js", ".mjs", ".cjs", ".ts", ".mts"].iter().any(|end| path.ends_with(end));
        for path in tree.files().iter().filter(script) {
            let text = tree.text(path).unwrap_or_default();
            if !imports(&text, "mitata") || !text.contains("run(") {
                continue;
            }
            let why_not = match () {
                () if path.ends_with("ts") => "is TypeScript: write by hand what runs it",
                () if !prints_json(&text) => {
                    "does not print JSON: call `await run({ format: 'json' })` in it"
                }
                () => "has no package.json above it that depends on mitata: write its command by hand",
            };
            let runs = !path.ends_with("ts") && prints_json(&text);
            let Some(package) = package(tree, path, "mitata").filter(|_| runs) else {
                detected.unclear(path, format!("{path} uses mitata and {why_not}"));
                continue;
            };
            let inner = path.strip_prefix(package.folder.as_str()).unwrap_or(path).trim_start_matches('/');
            let stem = path.rsplit_once('.').map_or(path.as_str(), |(stem, _)| stem);
            detected.found.push(FoundBenchmark {
                name: name(stem, "mitata"),
                command: vec!["node".into(), inner.to_owned()],
                build: Some(package.build),
                dir: package.folder,
                binaries: vec!["node".into(), package.manager.into()],
                gpu: false,
                files: vec![path.clone()],
                why: "a script that imports mitata and prints JSON".into(),
            });
        }
        detected
    }

    fn recognises(&self, program: &Program) -> bool {
        let text = String::from_utf8_lossy(program.bytes);
        ["node", "bun", "deno"].contains(&program.name()) && imports(&text, "mitata") && prints_json(&text)
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        self.run(ask)
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(Invocation::of(ask.command, [] as [&str; 0]).env("NO_COLOR", "1"))
    }

    /// Each call of `run` prints one line of JSON; a script may print other lines.
    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let mut readings = Vec::new();
        for (index, line) in output.stdout.split(|byte| *byte == b'\n').enumerate() {
            if !line.starts_with(b"{") {
                continue;
            }
            let report: Report = serde_json::from_slice(&readable(line)).map_err(|error| {
                let place = Place::Column { file: None, line: index + 1, column: error.column() };
                let text = error.to_string();
                ReadError::new(place, text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what))
            })?;
            let mut refused = Vec::new();
            for (place, benchmark) in report.benchmarks.iter().enumerate() {
                if let Err((key, what)) = benchmark.read(&report, &mut readings) {
                    refused.push((format!("benchmarks[{place}].{key}"), what));
                }
            }
            if let Some((path, what)) = refused.into_iter().next() {
                return Err(ReadError::new(Place::Path { file: None, path }, what));
            }
        }
        Ok(readings)
    }
}

#[derive(Deserialize)]
struct Report {
    benchmarks: Vec<Benchmark>,
    /// Groups, since 1.0.
    layout: Option<Vec<Layout>>,
    context: Option<Context>,
    /// Version 0.1.
    runtime: Option<String>,
}

#[derive(Deserialize)]
struct Layout {
    name: Option<Value>,
}

#[derive(Deserialize)]
struct Context {
    runtime: Option<String>,
    version: Option<String>,
}

/// Since 1.0 with `alias` and `runs`; before with `name` and one of `stats` and `error`.
#[derive(Deserialize)]
struct Benchmark {
    alias: Option<String>,
    /// Index in the layout, or the name in 0.1.
    group: Option<Value>,
    runs: Option<Vec<Run>>,
    name: Option<String>,
    stats: Option<Stats>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Run {
    name: String,
    #[serde(default)]
    args: BTreeMap<String, Value>,
    stats: Option<Stats>,
    error: Option<Value>,
}

/// Nanoseconds per iteration.
#[derive(Deserialize)]
struct Stats {
    p50: Option<f64>,
    avg: Option<f64>,
    samples: Option<Vec<IgnoredAny>>,
    heap: Option<Heap>,
}

/// Bytes per iteration.
#[derive(Deserialize)]
struct Heap {
    avg: Option<f64>,
}

type Refused = (String, &'static str);

impl Benchmark {
    /// Errors: the faulty key and its fault.
    fn read(&self, report: &Report, readings: &mut Vec<Reading>) -> Result<(), Refused> {
        let runtime = match &report.context {
            Some(Context { runtime: Some(runtime), version }) => {
                Some(format!("{runtime} {}", version.as_deref().unwrap_or_default()).trim_end().to_owned())
            }
            _ => report.runtime.clone(),
        };
        let group = self.group_name(report)?;
        let named =
            |name: &str| group.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(" > ");
        let mut push = |case, stats: &Option<Stats>, error: &Option<Value>, key: &str| {
            let mut reading = measured(case, stats.as_ref(), error.as_ref(), key)?;
            reading.note("runtime", runtime.clone());
            readings.push(reading);
            Ok(())
        };
        let (Some(runs), Some(alias)) = (&self.runs, &self.alias) else {
            let Some(name) = &self.name else { return Err(("name".into(), "it is missing, or `runs` is")) };
            return push(CaseName::plain(named(name)), &self.stats, &self.error, "");
        };
        for (place, run) in runs.iter().enumerate() {
            let mut case = CaseName::plain(named(&run.name));
            if !run.args.is_empty() {
                case.case = named(alias);
                case.params = run.args.iter().map(|(key, value)| (key.clone(), param(value))).collect();
                // A name without `$n` is shared by all points.
                if run.name == *alias {
                    let points = case.params.iter().map(|(key, value)| format!(" {key}={value}"));
                    case.native.extend(points);
                }
            }
            push(case, &run.stats, &run.error, &format!("runs[{place}]."))?;
        }
        Ok(())
    }

    fn group_name(&self, report: &Report) -> Result<Option<String>, Refused> {
        match (&self.group, &report.layout) {
            (Some(Value::String(name)), None) => Ok(Some(name.clone())),
            (None | Some(Value::Null), None) => Ok(None),
            (Some(Value::Number(place)), Some(layout)) => {
                let place = place.as_u64().and_then(|place| usize::try_from(place).ok());
                let layout = place.and_then(|place| layout.get(place));
                let layout = layout.ok_or(("group".to_owned(), "it is not in the layout"))?;
                Ok(layout.name.as_ref().and_then(Value::as_str).map(str::to_owned))
            }
            _ => Err(("group".into(), "it is of no version that is known")),
        }
    }
}

fn measured(
    case: CaseName,
    stats: Option<&Stats>,
    error: Option<&Value>,
    key: &str,
) -> Result<Reading, Refused> {
    let mut reading = Reading::new(case);
    if let Some(error) = error {
        let message = error.get("message").and_then(Value::as_str).unwrap_or("it threw");
        return Ok(reading.with_end(failed(message)));
    }
    let Some(stats) = stats else { return Err((format!("{key}stats"), "it is missing")) };
    let (Some(median), Some(mean)) = (stats.p50, stats.avg) else {
        return Err((format!("{key}stats.p50"), "it is missing, or `avg` is"));
    };
    let count = stats.samples.as_ref().map(|samples| samples.len() as u64);
    if count == Some(0) {
        return Err((format!("{key}stats.samples"), "nothing ran"));
    }
    summarised(&mut reading, "time", "ns", summary(median, None, count));
    summarised(&mut reading, "mean", "ns", summary(mean, None, count)).judged = false;
    if let Some(heap) = stats.heap.as_ref().and_then(|heap| heap.avg) {
        // It depends on the garbage collector as much as on the code.
        summarised(&mut reading, "heap", "B", summary(heap, None, count)).judged = false;
    }
    Ok(reading)
}

fn param(value: &Value) -> ParamValue {
    scalar(value).unwrap_or_else(|| ParamValue::Text(value.to_string()))
}

/// `format: 'json'`, `format: { json: {...} }` of 1.0; `json: true` of 0.1.
fn prints_json(text: &str) -> bool {
    let pattern = r#"format[ \t]*:[ \t]*["']json["']|[{, \t]json[ \t]*:[ \t]*(?:true|0|1|\{)"#;
    regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}
