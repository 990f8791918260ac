//! pyperf: `--output` in JSON, version 1.0; each value is a sample, the mean of its loops.
//! <https://pyperf.readthedocs.io>.
//!
//! A script with a `Runner` starts one process for calibration and one for values, for each of its benchmarks, in its own
//! order; no option selects one of them. The first failure ends the script, so that the failed benchmark and all later
//! ones are missing from the file.

use std::collections::{BTreeMap, HashSet};

use super::interface::prelude::*;
use super::source::python;

pub(crate) struct Pyperf;

const FILE: &str = "pyperf.json";

/// Commands of `python -m pyperf` that measure: a program or statement of the user's follows them.
const COMMANDS: [&str; 2] = ["timeit", "command"];

/// Metadata that distinguish interpreters or settings.
const KEPT: [&str; 8] = [
    "perf_version",
    "python_implementation",
    "python_version",
    "python_cflags",
    "python_hash_seed",
    "timer",
    "inner_loops",
    "loops",
];

impl Adapter for Pyperf {
    fn about(&self) -> About {
        About {
            name: "pyperf",
            title: "pyperf",
            language: Language::Python,
            lists: Lists::ByRunning,
            reads: Reads::Samples,
            tried: &["2.6.1", "2.10.0"],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        let mut detected = Detected::default();
        for path in tree.files().iter().filter(|path| path.ends_with(".py")) {
            let Some(text) = tree.text(path).filter(|text| imports(text)) else { continue };
            if !text.contains("Runner(") {
                continue;
            }
            let main = text.contains("__main__")
                || text.lines().any(|line| is_word(line) && line.contains("Runner("));
            if !main {
                let sentence = format!(
                    "{path} uses a Runner of pyperf and does not start by itself; write the command that starts it \
                     with `harness = \"pyperf\"`"
                );
                detected.unclear(path, sentence);
                continue;
            }
            let project = python::project(tree, path);
            let short = path.strip_prefix(&format!("{project}/")).unwrap_or(path);
            let stem = short.rsplit('/').next().unwrap_or(short);
            detected.found.push(FoundBenchmark {
                name: stem.strip_suffix(".py").unwrap_or(stem).to_owned(),
                command: vec![python::PYTHON.into(), short.into()],
                build: Some(python::environment(tree, &project, &project, "pyperf", &[])),
                binaries: vec!["python3".into()],
                gpu: false,
                files: vec![path.clone()],
                why: format!("{path} has a Runner of pyperf"),
                dir: project,
            });
        }
        detected
    }

    fn recognises(&self, program: &Program) -> bool {
        let text =
            || std::str::from_utf8(program.bytes).is_ok_and(|text| imports(text) && text.contains("Runner("));
        command_place(program.command).is_some() || text()
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(words(ask, vec!["--debug-single-value".into()]))
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let (amount, samples) = (ask.amount, ask.amount.samples.max(1));
        // One value takes at least `--min-time`; warm-up is a number of values.
        let each = (amount.seconds / f64::from(samples)).max(0.000_001);
        let more = vec![
            "--processes=1".into(),
            format!("--values={samples}"),
            format!("--warmups={}", (amount.warmup / each).ceil().min(1000.0)),
            format!("--min-time={each:.6}"),
        ];
        Some(words(ask, more))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let suite: Suite = document(Some(FILE), output.files.need(FILE)?)?;
        if suite.version.as_deref() != Some("1.0") {
            return refused("version", "it is not 1.0");
        }
        let mut readings = Vec::new();
        let mut seen = HashSet::new();
        for (index, benchmark) in suite.benchmarks.iter().enumerate() {
            let scope = [&benchmark.metadata, &suite.metadata];
            let Some(name) = find(&scope, "name").and_then(Value::as_str) else {
                return refused(format!("benchmarks[{index}].metadata.name"), "it is missing");
            };
            if !seen.insert(name) {
                return refused(format!("benchmarks[{index}].metadata.name"), "it appears twice");
            }
            readings.push(reading(index, name, benchmark, &scope)?);
        }
        Ok(readings)
    }
}

/// Our options follow the script and the user's options, or precede the subject of a `python -m pyperf` command.
fn words(ask: &CaseRequest, more: Vec<String>) -> Invocation {
    // Without `--copy-env` its processes do not inherit a suite's variables.
    let ours = ["--quiet".into(), "--copy-env".into(), format!("--output={}/{FILE}", ask.out)];
    let ours = ours.into_iter().chain(more);
    match command_place(ask.command) {
        None => Invocation::of(ask.command, ours),
        Some(place) => {
            let mut argv = ask.command.to_vec();
            argv.splice(place..place, ours);
            Invocation { argv, env: Vec::new() }
        }
    }
}

fn command_place(command: &[String]) -> Option<usize> {
    let of = |word: &String| word.rsplit('/').next() == Some("pyperf");
    let place = command.iter().position(of)? + 1;
    command.get(place).is_some_and(|word| COMMANDS.contains(&word.as_str())).then_some(place + 1)
}

fn imports(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| {
        let mut words = line.split([' ', ',', '.', '\t']);
        matches!((words.next(), words.next()), (Some("import" | "from"), Some("pyperf")))
    })
}

/// True if a line is at the top level of a module.
fn is_word(line: &str) -> bool {
    line.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !line.starts_with("def ")
        && !line.starts_with("class ")
}

fn refused<T>(path: impl Into<String>, what: &str) -> Result<T, ReadError> {
    Err(ReadError::path(FILE, path, what))
}

type Metadata = BTreeMap<String, Value>;

#[derive(Deserialize)]
struct Suite {
    version: Option<String>,
    #[serde(default)]
    metadata: Metadata,
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    #[serde(default)]
    metadata: Metadata,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    values: Vec<f64>,
    #[serde(default)]
    warmups: Vec<(f64, f64)>,
}

/// Shared metadata is in an outer scope.
fn find<'a>(scopes: &[&'a Metadata], key: &str) -> Option<&'a Value> {
    scopes.iter().find_map(|scope| scope.get(key))
}

fn reading(
    index: usize,
    name: &str,
    benchmark: &Benchmark,
    outer: &[&Metadata; 2],
) -> Result<Reading, ReadError> {
    let mut reading = Reading::new(CaseName::plain(name));
    for key in KEPT {
        reading.note(key, find(outer, key).cloned());
    }
    let mut done = Some(0.0);
    for (place, run) in benchmark.runs.iter().enumerate() {
        let path = |key: &str| format!("benchmarks[{index}].runs[{place}].{key}");
        let scopes = [&run.metadata, outer[0], outer[1]];
        // A calibrating run has only warm-ups, which contain its numbers of loops.
        let loops = match find(&scopes, "loops").map(Value::as_f64) {
            None => Some(1.0),
            Some(loops) => loops.filter(|loops| *loops >= 1.0),
        };
        let inner = find(&scopes, "inner_loops").map_or(Some(1.0), Value::as_f64);
        let (Some(loops), Some(inner)) = (loops, inner.filter(|inner| *inner >= 1.0)) else {
            return refused(path("metadata.loops"), "`loops` and `inner_loops` must be positive integers");
        };
        let warm: f64 = run.warmups.iter().map(|(loops, _)| loops).sum();
        done = done.map(|done| done + (warm + loops * run.values.len() as f64) * inner);
        let (name, unit, judged) = match find(&scopes, "unit").map(Value::as_str) {
            None | Some(Some("second")) => ("time", "s", true),
            Some(Some("byte")) => ("memory", "B", true),
            // An author's own quantity.
            Some(Some("integer")) => ("value", "", false),
            Some(_) => return refused(path("metadata.unit"), "must be second, byte or integer"),
        };
        if name != "time" {
            done = None;
        }
        if run.values.is_empty() {
            continue;
        }
        let metric = reading.metric(name, unit, judged.then_some(Better::Lower));
        metric.judged = judged;
        metric.values.extend(&run.values);
    }
    if reading.metrics.is_empty() {
        reading.end = failed("it has no value");
    } else {
        reading.iterations = done;
    }
    Ok(reading)
}
