//! airspeed velocity (asv): its results file, version 2, with the samples of each benchmark and combination of
//! parameters. <https://asv.readthedocs.io>.
//!
//! `asv run` checks out and builds commits itself and writes into the folder that `asv.conf.json` names. Here it measures
//! the existing tree with the interpreter that runs it (`--python=same`, which saves nothing). `START`, a few lines of
//! Python, runs asv's own measuring code and writes the results into our folder. asv starts a process for each case.

use std::collections::BTreeMap;

use super::interface::prelude::*;
use super::readers::loose_json::{standard_json, without_comments};
use super::source::paths::{below, folder, leaf};
use super::source::python;

pub(crate) struct Asv;

const FOUND: &str = "benchmarks.json";
const RESULTS: &str = "results.json";
/// The facts that asv does not save: selected cases, failures, and the attributes of the measurement.
const BESIDE: &str = "beside.json";

/// More combinations of one benchmark's parameters are refused.
const MAX_COMBINATIONS: usize = 100_000;

/// Runs asv with its results in the folder given by its first argument. It asks nothing about the machine, and keeps no
/// file about it.
const START: &str = include_str!("asv/start.py");

impl Adapter for Asv {
    fn about(&self) -> About {
        About {
            name: "asv",
            title: "airspeed velocity",
            language: Language::Python,
            lists: Lists::Named,
            filters: true,
            reads: Reads::Samples,
            tried: &["0.6.1", "0.6.6"],
            example: &["python3", "-m", "asv", "run"],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        let mut detected = Detected::default();
        for path in tree.files() {
            if !["asv.conf.json", "asv.conf.jsonc"].contains(&leaf(path)) {
                continue;
            }
            let text = tree.text(path).map(|text| without_comments(&text)).unwrap_or_default();
            let dir = folder(path).to_owned();
            let Ok(config) = serde_json::from_str::<Value>(&text) else {
                detected.unclear.push(format!(
                    "{path} cannot be read as JSON with comments; write `command = [\"python3\", \"-m\", \"asv\", \"run\"]` \
                     with `harness = \"asv\"`"
                ));
                let usual = below(&dir, "benchmarks/");
                detected.seen.extend(tree.files().iter().filter(|file| file.starts_with(&usual)).cloned());
                continue;
            };
            let benchmarks = config.get("benchmark_dir").and_then(Value::as_str).unwrap_or("benchmarks");
            let benchmarks = below(&dir, benchmarks.trim_start_matches("./").trim_end_matches('/'));
            let below = |file: &&String| file.starts_with(&format!("{benchmarks}/")) && file.ends_with(".py");
            let mut files: Vec<String> = tree.files().iter().filter(below).cloned().collect();
            if files.is_empty() {
                detected.unclear.push(format!("{path} names {benchmarks}, where no benchmark of asv is"));
                continue;
            }
            files.insert(0, path.clone());
            let project = python::project(tree, path);
            let name = config.get("project").and_then(Value::as_str).unwrap_or("asv");
            detected.found.push(FoundBenchmark {
                name: name.to_owned(),
                command: [python::PYTHON, "-m", "asv", "run"].map(str::to_owned).to_vec(),
                build: Some(python::environment(tree, &dir, &project, "asv", &required(&config))),
                dir,
                binaries: vec!["python3".into()],
                gpu: false,
                files,
                why: format!("{path} configures asv"),
            });
        }
        detected
    }

    fn recognises(&self, program: &Program) -> bool {
        split(program.command).is_some()
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        started(ask, vec!["--bench".into(), "just-discover".into()])
    }

    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        let found = found(output)?;
        Ok(found.iter().flat_map(|(name, benchmark)| cases(name, benchmark)).collect())
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let (amount, samples) = (ask.amount, ask.amount.samples.max(1));
        let mut more = measuring(ask);
        // A benchmark with a `setup` is called once per sample: then there may be more samples than requested.
        let most = samples.max(100);
        for attribute in [
            format!("repeat=(1,{most},{:.6})", amount.seconds),
            format!("sample_time={:.9}", amount.seconds / f64::from(samples)),
            format!("warmup_time={:.6}", amount.warmup),
        ] {
            more.extend(["-a".into(), attribute]);
        }
        started(ask, more)
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let found = found(output)?;
        let results = standard_json(output.files.need(RESULTS)?);
        let results: Results = document(Some(RESULTS), &results)?;
        let beside: Beside = document(Some(BESIDE), output.files.need(BESIDE)?)?;
        if results.version != Some(2) {
            return refused(RESULTS, "version", "it is not 2");
        }
        let mut readings = Vec::new();
        for (name, selected) in &beside.selected {
            let Some(benchmark) = found.get(name) else { return refused(FOUND, name, "it is missing") };
            let Some(row) = results.results.get(name) else {
                return refused(RESULTS, format!("results.{name}"), "it is missing");
            };
            let row = Row { columns: &results.result_columns, cells: row, path: format!("results.{name}") };
            for (index, case) in cases(name, benchmark).into_iter().enumerate() {
                let wanted = selected.as_ref().is_none_or(|selected| selected.contains(&index));
                if wanted {
                    readings.push(reading(case, index, benchmark, &row, &beside)?);
                }
            }
        }
        Ok(readings)
    }

    /// With `number` given and no warm-up, the code runs exactly number times samples, and the results contain both. The
    /// rest of the count is asv itself, two imports of the benchmarks, and `setup` before each sample.
    fn count(&self, ask: &CaseRequest) -> Option<Invocation> {
        let mut more = measuring(ask);
        let seconds = ask.amount.seconds;
        let most = (seconds * 10_000.0).ceil().max(1.0);
        for attribute in
            [format!("repeat=(1,{most},{seconds:.6})"), "number=1".into(), "warmup_time=0".into()]
        {
            more.extend(["-a".into(), attribute]);
        }
        started(ask, more).map(|invocation| invocation.env("PYTHONHASHSEED", "0"))
    }
}

fn measuring(ask: &CaseRequest) -> Vec<String> {
    let mut more: Vec<String> = ["--record-samples", "-a", "rounds=1"].map(str::to_owned).to_vec();
    for case in ask.cases {
        more.extend(["--bench".into(), format!("^{}$", regex::escape(case))]);
    }
    more
}

/// The words that start Python, and the words for asv after `run`. `asv` becomes `python3 -m asv`, and `venv/bin/asv`
/// becomes the `python` of the same folder.
fn split(command: &[String]) -> Option<(Vec<String>, Vec<String>)> {
    let of = |word: &String| word.rsplit('/').next() == Some("asv");
    let place = command.iter().position(of)?;
    let mut start = command[..place].to_vec();
    match (start.last().map(String::as_str), command[place].strip_suffix("asv")) {
        (Some("-m"), _) => _ = start.pop(),
        (_, Some("") | None) => start.push("python3".into()),
        (_, Some(folder)) => start.push(format!("{folder}python")),
    }
    let mut rest = command[place + 1..].to_vec();
    if let Some(run) = rest.iter().position(|word| word == "run") {
        rest.remove(run);
    }
    Some((start, rest))
}

fn started(ask: &CaseRequest, more: Vec<String>) -> Option<Invocation> {
    let (start, rest) = split(ask.command)?;
    let ours = ["-c", START, ask.out, "run", "--python=same", "--no-pull"].map(str::to_owned);
    Some(Invocation::of(&start, ours.into_iter().chain(rest).chain(more)))
}

fn refused<T>(file: &str, path: impl Into<String>, what: &str) -> Result<T, ReadError> {
    Err(ReadError::path(file, path, what))
}

#[derive(Deserialize)]
struct Benchmark {
    #[serde(rename = "type")]
    kind: String,
    unit: String,
    #[serde(default)]
    params: Vec<Vec<String>>,
    #[serde(default)]
    param_names: Vec<String>,
}

/// asv's benchmarks by name, without the entry for the file's version.
fn found(output: &HarnessOutput) -> Result<BTreeMap<String, Benchmark>, ReadError> {
    let mut all: BTreeMap<String, Value> = document(Some(FOUND), output.files.need(FOUND)?)?;
    if all.remove("version").and_then(|version| version.as_i64()) != Some(2) {
        return refused(FOUND, "version", "it is not 2");
    }
    let mut found = BTreeMap::new();
    for (name, value) in all {
        let benchmark: Benchmark = match serde_json::from_value(value) {
            Ok(benchmark) => benchmark,
            Err(error) => return refused(FOUND, name, &error.to_string()),
        };
        let of = benchmark.params.iter().try_fold(1_usize, |of, values| of.checked_mul(values.len()));
        if of.is_none_or(|of| of > MAX_COMBINATIONS) {
            return refused(FOUND, format!("{name}.params"), "too many combinations");
        }
        found.insert(name, benchmark);
    }
    Ok(found)
}

/// All combinations of a benchmark's parameters, in asv's order (the last varies fastest) and with its names:
/// `time_sum(10, 'a b')`.
fn cases(name: &str, benchmark: &Benchmark) -> Vec<CaseName> {
    if benchmark.params.is_empty() {
        return vec![CaseName::plain(name)];
    }
    let mut combinations: Vec<Vec<&str>> = vec![vec![]];
    for values in &benchmark.params {
        let mut longer = Vec::with_capacity(combinations.len() * values.len());
        for before in &combinations {
            longer.extend(values.iter().map(|value| [before, &[value.as_str()][..]].concat()));
        }
        combinations = longer;
    }
    let case = |values: Vec<&str>| {
        let param = |(name, text): (&String, &&str)| (name.clone(), value(text));
        CaseName {
            native: format!("{name}({})", values.join(", ")),
            case: name.to_owned(),
            params: benchmark.param_names.iter().zip(&values).map(param).collect(),
        }
    };
    combinations.into_iter().map(case).collect()
}

fn value(text: &str) -> ParamValue {
    let bare = ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    match (text, bare.filter(|bare| !bare.contains('\\'))) {
        ("True", _) => ParamValue::Bool(true),
        ("False", _) => ParamValue::Bool(false),
        (_, Some(bare)) => ParamValue::Text(bare.to_owned()),
        _ => int_or_text(text),
    }
}

#[derive(Deserialize)]
struct Results {
    version: Option<i64>,
    result_columns: Vec<String>,
    results: BTreeMap<String, Vec<Value>>,
}

#[derive(Deserialize)]
struct Beside {
    asv: String,
    /// `None` for a benchmark without parameters.
    selected: BTreeMap<String, Option<Vec<usize>>>,
    attributes: BTreeMap<String, Value>,
    stderr: BTreeMap<String, Option<String>>,
}

/// A benchmark's row of the results; missing cells at its end are null.
struct Row<'a> {
    columns: &'a [String],
    cells: &'a [Value],
    path: String,
}

impl Row<'_> {
    /// The cell of a column and combination of parameters. Errors: the number of combinations differs.
    fn cell(&self, column: &str, index: usize, of: usize) -> Result<&Value, ReadError> {
        let path = || format!("{}.{column}", self.path);
        let Some(place) = self.columns.iter().position(|name| name == column) else {
            return refused(RESULTS, format!("result_columns.{column}"), "it is missing");
        };
        match self.cells.get(place) {
            None | Some(Value::Null) => Ok(&Value::Null),
            Some(Value::Array(values)) if values.len() == of => Ok(&values[index]),
            Some(_) => refused(RESULTS, path(), "it has other parameters than the benchmark"),
        }
    }
}

fn reading(
    case: CaseName,
    index: usize,
    benchmark: &Benchmark,
    row: &Row,
    beside: &Beside,
) -> Result<Reading, ReadError> {
    let of = benchmark.params.iter().map(Vec::len).product();
    let (name, cell) = (case.case.clone(), |column| row.cell(column, index, of));
    let mut reading = Reading::new(case);
    reading.metadata.insert("asv".into(), beside.asv.clone().into());
    let said = beside.stderr.get(&name).and_then(Option::as_deref).unwrap_or_default();
    let value = match cell("result")? {
        Value::Null => {
            let last =
                said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("asv has no result for it");
            return Ok(reading.with_end(failed(last.trim())));
        }
        Value::String(nan) if nan == "NaN" => {
            let line = said.lines().find_map(|line| line.split_once("asv: skipped: "));
            let reason = line.map_or("its setup skips it, or its result is NaN", |(_, reason)| reason.trim());
            return Ok(reading.with_end(skipped(reason)));
        }
        value => value.as_f64(),
    };
    let odd = |column: &str, what: &str| refused(RESULTS, format!("{}.{column}[{index}]", row.path), what);
    let Some(value) = value else { return odd("result", "not a number") };
    let (name, unit, better, judged) = match (benchmark.kind.as_str(), benchmark.unit.as_str()) {
        ("time", "seconds") => ("time", "s", None, true),
        ("memory", "bytes") => ("memory", "B", None, true),
        ("peakmemory", "bytes") => ("peak_memory", "B", None, true),
        // A figure of the author's choice: its direction is known only if its unit implies one.
        ("track", unit) => {
            let better = gbench_model::direction_of_unit(unit);
            ("value", unit, better, better.is_some())
        }
        _ => return refused(FOUND, format!("{name}.unit"), "does not match its type"),
    };
    let metric = reading.metric(name, unit, better.or(judged.then_some(Better::Lower)));
    metric.judged = judged;
    match cell("samples")? {
        Value::Null if benchmark.kind == "time" => {
            metric.summary = Some(alone(value));
        }
        Value::Null => metric.values.push(value),
        Value::Array(samples) => {
            let samples: Option<Vec<f64>> = samples.iter().map(Value::as_f64).collect();
            match samples.filter(|samples| !samples.is_empty()) {
                Some(samples) => metric.values = samples,
                None => return odd("samples", "missing, or not a number"),
            }
        }
        _ => return odd("samples", "not a list"),
    }
    let samples = metric.values.len();
    if let Some(number) = cell("stats_number")?.as_f64() {
        reading.metadata.insert("number".into(), number.into());
        // Without these two attributes, calibration and warm-up also run the code, an unknown number of times.
        let is = |name: &str, wanted: Option<f64>| {
            let given = beside.attributes.get(name).and_then(Value::as_f64);
            given.is_some() && (wanted.is_none() || given == wanted)
        };
        if is("number", None) && is("warmup_time", Some(0.0)) {
            reading.iterations = Some(number * samples as f64);
        }
    }
    Ok(reading)
}

/// The first of each list of versions in the matrix. asv installs these itself when it creates environments.
fn required(config: &Value) -> Vec<String> {
    let Some(matrix) = config.get("matrix").and_then(Value::as_object) else { return Vec::new() };
    let own = ["req", "env", "env_nobuild"].iter().any(|key| matrix.contains_key(*key));
    let packages = if own { matrix.get("req").and_then(Value::as_object) } else { Some(matrix) };
    let word = |(name, versions): (&String, &Value)| {
        let name = name.strip_prefix("pip+").unwrap_or(name);
        let first = versions.as_array().map_or(versions, |list| list.first().unwrap_or(&Value::Null));
        match first.as_str() {
            None | Some("") => name.to_owned(),
            Some(version) if version.starts_with(['<', '>', '=', '!', '~']) => format!("{name}{version}"),
            Some(version) => format!("{name}=={version}"),
        }
    };
    packages.into_iter().flatten().map(word).collect()
}

#[cfg(test)]
mod tests;
