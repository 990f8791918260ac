//! hyperfine: `--export-json`; each run of a command is a sample, and each command a case.
//! <https://github.com/sharkdp/hyperfine#json>. The layout of 1.x has no version; that of 2.x has `"schema_version": 2`.
//!
//! No option selects some of the commands, so every process measures all of them.

use std::collections::{BTreeMap, HashMap};

use super::interface::prelude::*;

pub(crate) struct Hyperfine;

const FILE: &str = "hyperfine.json";

/// The user's options for the amount of work and the output are replaced, because 1.x accepts most of them only once.
const OURS: [&str; 6] =
    ["--runs", "--min-runs", "--max-runs", "--min-benchmarking-time", "--style", "--export-json"];
const OURS_SHORT: [&str; 3] = ["-r", "-m", "-M"];

impl Adapter for Hyperfine {
    fn about(&self) -> About {
        About {
            name: "hyperfine",
            title: "hyperfine",
            language: Language::Any,
            lists: Lists::ByRunning,
            reads: Reads::Samples,
            tried: &["1.15.0", "1.20.0", "2.0.0"],
            needs: &[Need::Program { name: "hyperfine", package: "hyperfine" }],
            ..About::PLAIN
        }
    }

    /// Names the files that call it. They do not show how to build the commands, or which variables they read.
    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        let mut detected = Detected::default();
        for path in tree.files() {
            let name = path.rsplit('/').next().unwrap_or(path);
            let recipe = ["Makefile", "makefile", "GNUmakefile", "justfile", "Justfile"].contains(&name);
            if !recipe && !path.ends_with(".sh") && !path.ends_with(".bash") {
                continue;
            }
            let Some(text) = tree.text(path) else { continue };
            let Some(line) = text.lines().position(calls) else { continue };
            let sentence = format!(
                "{path}:{} calls hyperfine; write its words as `command = [\"hyperfine\", ...]` with \
                 `harness = \"hyperfine\"`, and what they need as `build`",
                line + 1
            );
            detected.unclear(path, sentence);
        }
        detected
    }

    fn recognises(&self, program: &Program) -> bool {
        program.name() == "hyperfine"
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(words(ask, &["--runs=1".into()], &["--warmup", "-w"]))
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let amount = ask.amount;
        let mut more = vec![
            "--min-runs=1".into(),
            format!("--max-runs={}", amount.samples.max(1)),
            // Not in `--help`; 1.15, 1.20 and 2.0 accept it.
            format!("--min-benchmarking-time={:.6}", amount.seconds),
        ];
        // Warm-up is a number of runs, whose duration is not known yet; the user's own number is kept.
        let warm = |word: &String| word.starts_with("-w") || word.starts_with("--warmup");
        if amount.warmup > 0.0 && !ask.command.iter().any(warm) {
            more.push("--warmup=1".into());
        }
        Some(words(ask, &more, &[]))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let bytes = output.files.need(FILE)?;
        let version: Version = document(Some(FILE), bytes)?;
        let mut readings = match version.schema_version {
            None => first(document(Some(FILE), bytes)?)?,
            Some(2) => second(document(Some(FILE), bytes)?)?,
            Some(_) => return refused("schema_version", "it is neither 2 nor missing, as in 1.x"),
        };
        tell_apart(&mut readings);
        Ok(readings)
    }
}

/// The user's words with ours directly after the program, so that a `--` or a command of the user's cannot swallow them.
fn words(ask: &CaseRequest, ours: &[String], without: &[&str]) -> Invocation {
    let of = |word: &String| word.rsplit('/').next() == Some("hyperfine");
    let place = ask.command.iter().position(of).map_or(ask.command.len().min(1), |place| place + 1);
    let mut argv = ask.command[..place].to_vec();
    argv.extend(["--style=none".into(), "--ignore-failure".into()]);
    argv.push(format!("--export-json={}/{FILE}", ask.out));
    argv.extend_from_slice(ours);
    let mut rest = ask.command[place..].iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            argv.push(word.clone());
            argv.extend(rest.by_ref().cloned());
            break;
        }
        let long = word.split('=').next().unwrap_or(word);
        if word == "-i" || long == "--ignore-failure" {
            continue;
        }
        let short = word.get(..2).unwrap_or(word);
        if OURS.contains(&long) || long.starts_with("--") && without.contains(&long) {
            // `--runs 5` is two words, `--runs=5` one.
            if !word.contains('=') {
                rest.next();
            }
        } else if OURS_SHORT.contains(&short) || !word.starts_with("--") && without.contains(&short) {
            // `-r 5` is two words, `-r5` one.
            if word.len() == 2 {
                rest.next();
            }
        } else {
            argv.push(word.clone());
        }
    }
    Invocation { argv, env: Vec::new() }
}

/// True if a line of a script starts it: the word is at a command's position, and not in a comment.
fn calls(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['@', '-', '+']);
    let starts = |part: &str| part.split_whitespace().next() == Some("hyperfine");
    !line.starts_with('#') && line.split([';', '|', '&', '(', '{']).any(starts)
}

fn refused<T>(path: impl Into<String>, what: &str) -> Result<T, ReadError> {
    Err(ReadError::path(FILE, path, what))
}

/// A case is named by its command or name. Two cases with equal names differ in a parameter that only their preparation
/// reads.
fn tell_apart(readings: &mut [Reading]) {
    let mut times: HashMap<String, usize> = HashMap::new();
    for reading in readings.iter() {
        *times.entry(reading.case.native.clone()).or_default() += 1;
    }
    for reading in readings {
        let case = &mut reading.case;
        if times.get(&case.native).is_some_and(|times| *times > 1) && !case.params.is_empty() {
            let params: Vec<String> =
                case.params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            case.native = format!("{} ({})", case.native, params.join(", "));
        }
    }
}

fn case_name(name: &str, parameters: &BTreeMap<String, String>) -> CaseName {
    let params: Params = parameters.iter().map(|(name, text)| (name.clone(), int_or_text(text))).collect();
    CaseName { params, ..CaseName::plain(name) }
}

/// Why a command's runs are not measurements. hyperfine subtracts the time of an empty shell, down to 0.
fn bad(codes: &[Option<i64>], times: &[f64]) -> Option<String> {
    if let Some(code) = codes.iter().find(|code| **code != Some(0)) {
        let how = code.map_or("by a signal".into(), |code| format!("with exit code {code}"));
        return Some(format!("the command ended {how}"));
    }
    let below = times.contains(&0.0);
    below.then(|| "it takes less time than the shell that starts it; `-N` starts it without one".into())
}

#[derive(Deserialize)]
struct Version {
    schema_version: Option<u64>,
}

#[derive(Deserialize)]
struct First {
    results: Vec<FirstResult>,
}

#[derive(Deserialize)]
struct FirstResult {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: Option<f64>,
    user: Option<f64>,
    system: Option<f64>,
    times: Option<Vec<f64>>,
    memory_usage_byte: Option<Vec<f64>>,
    exit_codes: Option<Vec<Option<i64>>>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

fn first(report: First) -> Result<Vec<Reading>, ReadError> {
    let mut readings = Vec::new();
    for (index, result) in report.results.into_iter().enumerate() {
        let mut reading = Reading::new(case_name(&result.command, &result.parameters));
        let path = |key: &str| format!("results[{index}].{key}");
        let Some(codes) = result.exit_codes else {
            return refused(path("exit_codes"), "it is missing: nothing says that the command succeeded");
        };
        let times = result.times.unwrap_or_default();
        if codes.is_empty() || !times.is_empty() && times.len() != codes.len() {
            return refused(path("times"), "there are not as many as exit codes");
        }
        if let Some(message) = bad(&codes, &times) {
            readings.push(reading.with_end(failed(message)));
            continue;
        }
        let count = codes.len() as u64;
        let time = reading.metric("time", "s", None);
        if times.is_empty() {
            let value = result.median.unwrap_or(result.mean);
            time.summary = Some(SummaryReading { value, stddev: result.stddev, count: Some(count) });
        }
        time.values = times;
        for (name, mean) in [("user_time", result.user), ("system_time", result.system)] {
            if let Some(value) = mean {
                summarised(&mut reading, name, "s", summary(value, None, Some(count))).judged = false;
            }
        }
        if let Some(memory) = result.memory_usage_byte.filter(|memory| memory.len() == codes.len()) {
            let metric = reading.metric("peak_memory", "B", None);
            metric.values = memory;
            // Before 1.21 a command inherits the peak of the commands before it.
            metric.judged = false;
        }
        readings.push(reading);
    }
    Ok(readings)
}

#[derive(Deserialize)]
struct Second {
    metadata: Option<SecondMetadata>,
    results: Vec<SecondResult>,
}

#[derive(Deserialize)]
struct SecondMetadata {
    hyperfine_version: Option<String>,
}

#[derive(Deserialize)]
struct SecondResult {
    command: String,
    name: Option<String>,
    measurements: Vec<BTreeMap<String, Value>>,
    #[serde(default)]
    parameters: BTreeMap<String, SecondParameter>,
}

#[derive(Deserialize)]
struct SecondParameter {
    value: String,
}

/// Metrics of a run by their keys: name, unit here, unit in the file, and whether it is judged.
const METRICS: [(&str, &str, &str, Option<&str>, bool); 10] = [
    ("time_wall_clock", "time", "s", Some("second"), true),
    ("time_cpu", "cpu_time", "s", Some("second"), false),
    ("time_user", "user_time", "s", Some("second"), false),
    ("time_system", "system_time", "s", Some("second"), false),
    ("memory_peak_resident", "peak_memory", "B", Some("byte"), true),
    ("cpu_cycles", "cycles", "cycles", None, false),
    ("instructions", "instructions", "", None, false),
    ("cache_references", "cache_references", "", None, false),
    ("cache_misses", "cache_misses", "", None, false),
    ("branch_misses", "branch_misses", "", None, false),
];

/// Fields of a result, or of one of its runs, that are figures or repeat them.
pub(crate) fn is_known(field: &str) -> bool {
    const OTHERS: [&str; 12] = [
        "exit_code",
        "exit_codes",
        "max",
        "mean",
        "measurements",
        "median",
        "memory_usage_byte",
        "min",
        "stddev",
        "system",
        "times",
        "user",
    ];
    OTHERS.contains(&field) || METRICS.iter().any(|(key, ..)| *key == field)
}

fn second(report: Second) -> Result<Vec<Reading>, ReadError> {
    let version = report.metadata.and_then(|metadata| metadata.hyperfine_version);
    let mut readings = Vec::new();
    for (index, result) in report.results.into_iter().enumerate() {
        let parameters = result.parameters.into_iter().map(|(name, value)| (name, value.value)).collect();
        let name = result.name.as_deref().unwrap_or(&result.command);
        let mut reading = Reading::new(case_name(name, &parameters));
        if result.name.is_some() {
            reading.metadata.insert("command".into(), result.command.clone().into());
        }
        reading.note("hyperfine", version.clone());
        let runs = result.measurements.len();
        if runs == 0 {
            return refused(format!("results[{index}].measurements"), "nothing ran");
        }
        let mut codes = Vec::new();
        for (run, measurement) in result.measurements.iter().enumerate() {
            let path = |key: &str| format!("results[{index}].measurements[{run}].{key}");
            let Some(code) = measurement.get("exit_code") else {
                return refused(path("exit_code"), "it is missing: nothing says that the command succeeded");
            };
            codes.push(code.as_i64());
            if !measurement.contains_key("time_wall_clock") {
                return refused(path("time_wall_clock"), "it is missing");
            }
            for (key, name, unit, theirs, judged) in METRICS {
                let Some(quantity) = measurement.get(key) else { continue };
                let Some(value) = quantity.get("value").and_then(Value::as_f64) else {
                    return refused(path(key), "it has no value");
                };
                if quantity.get("unit").and_then(Value::as_str) != theirs {
                    return refused(path(key), "its unit is another than that of schema 2");
                }
                let metric = reading.metric(name, unit, Some(Better::Lower));
                metric.judged = judged;
                metric.values.push(value);
            }
        }
        // A counter that some runs lack cannot be compared.
        reading.metrics.retain(|metric| metric.values.len() == runs);
        let times = reading.metrics.first().map_or(&[][..], |metric| &metric.values);
        if let Some(message) = bad(&codes, times) {
            reading.end = failed(message);
            reading.metrics.clear();
        }
        readings.push(reading);
    }
    Ok(readings)
}
