//! github-action-benchmark: its published history `data.js`, a JSON document after a JavaScript assignment. Each commit
//! and date is a run, across all suites of the file. <https://github.com/benchmark-action/github-action-benchmark>.
//!
//! An entry has one number per benchmark. Its direction follows from the unit, else from the named tool. `range` has a
//! different meaning for each tool, so it is kept as text. The unit of Go contains the rest of the line: `ns/op\t 48 B/op`.

use super::interface::prelude::*;
use crate::adapters::go_test::benchfmt::metric_of_unit;
use crate::adapters::readers::json;

/// Precedes the document in `data.js`.
const ASSIGNMENT: &[u8] = b"window.BENCHMARK_DATA";

#[derive(Deserialize)]
struct Document {
    entries: Entries<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    commit: Commit,
    date: Option<f64>,
    tool: Option<String>,
    benches: Vec<Bench>,
}

/// GitHub's object for a commit, or only its name in shortened histories.
#[derive(Deserialize)]
#[serde(untagged)]
enum Commit {
    Whole { id: String, timestamp: Option<String> },
    Id(String),
}

#[derive(Deserialize)]
struct Bench {
    name: String,
    value: f64,
    #[serde(default)]
    unit: String,
    range: Option<Value>,
}

pub(super) const FORMAT: DeclaredFormat = DeclaredFormat {
    name: "github-action-benchmark",
    title: "github-action-benchmark",
    versions: "`data.js` of 1.x, and the same as plain JSON",
    fields: "`name`, `value`, `unit`, `range` of `benches`; `tool`, `date`, `commit.id`, `commit.timestamp` of each entry; the suite",
    direction: "by the unit, else by the tool except `go`; where the two disagree, or neither says it, it is shown and not judged",
    failures: "a time of 0 or less; nothing else in the file",
    recognises,
    read,
    ..DeclaredFormat::SUMMARY
};

fn recognises(file: &ResultFile) -> bool {
    let outline = Outline::of(&assigned(file), &["entries"], &["benches", "tool", "commit"]);
    let is_suite = |suite: &Outline| suite.first().is_some_and(|entry| entry.has(&["commit", "benches"]));
    let suites = outline.as_ref().and_then(|outline| outline.get("entries")).map(Outline::entries);
    suites.is_some_and(|suites| suites.iter().any(|(_, suite)| is_suite(suite)))
}

fn read(file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let document = parse(file)?;
    let mut runs: Vec<RunReading> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (suite, entries) in &document.entries.0 {
        for entry in entries {
            let (id, timestamp) = match &entry.commit {
                Commit::Whole { id, timestamp } => (id, timestamp.as_deref()),
                Commit::Id(id) => (id, None),
            };
            let started = entry.date.and_then(utc_millis).or_else(|| timestamp.and_then(utc));
            let place = *places.entry((id, started.clone())).or_insert_with(|| {
                let commit = Some(id.clone()).filter(|id| !id.is_empty());
                runs.push(RunReading { started, commit, ..RunReading::default() });
                runs.len() - 1
            });
            if let Some(run) = runs.get_mut(place) {
                let tool = entry.tool.as_deref().unwrap_or_default();
                for bench in &entry.benches {
                    let wrong = |what| file.at(format!("entries.{suite}, {}", bench.name), what);
                    run.readings.push(reading(suite, tool, bench).map_err(wrong)?);
                }
            }
        }
    }
    Ok(runs)
}

/// The assigned document, or the whole file without an assignment.
fn assigned<'a>(file: &ResultFile<'a>) -> ResultFile<'a> {
    let value = file.bytes.trim_ascii_start().strip_prefix(ASSIGNMENT);
    let value = value.and_then(|rest| rest.trim_ascii_start().strip_prefix(b"="));
    ResultFile { bytes: value.unwrap_or(file.bytes), ..*file }
}

/// The document, with or without the assignment. Errors refer to places in the file.
fn parse(file: &ResultFile) -> Result<Document, ReadError> {
    let value = assigned(file).bytes;
    let (before, text) = file.bytes.split_at(file.bytes.len() - value.len());
    if before.is_empty() {
        return document(file);
    }
    let text = text.trim_ascii_end();
    let text = text.strip_suffix(b";").unwrap_or(text);
    let blank = before.iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' });
    let bytes: Vec<u8> = blank.chain(text.iter().copied()).collect();
    json::document(Some(file.name), &bytes)
}

/// `None` for Go, whose units may be of any quantity.
fn direction_of_tool(tool: &str) -> Option<Better> {
    match tool {
        "cargo"
        | "googlecpp"
        | "catch2"
        | "julia"
        | "jmh"
        | "benchmarkdotnet"
        | "benchmarkluau"
        | "customSmallerIsBetter" => Some(Better::Lower),
        "benchmarkjs" | "pytest" | "customBiggerIsBetter" => Some(Better::Higher),
        _ => None,
    }
}

/// The unit of one iteration's cost: `ns/iter`, `B/op`.
fn of_one(unit: &str) -> Option<&str> {
    let (unit, one) = unit.split_once('/')?;
    ["iter", "op", "call", "run"].contains(&one).then_some(unit.trim())
}

/// The unit, and the further pairs of value and unit that follow it in a line of Go.
fn pairs(unit: &str) -> Option<(&str, Vec<(f64, &str)>)> {
    let mut words = unit.split_ascii_whitespace();
    let (first, mut further) = (words.next()?, Vec::new());
    while let Some(value) = words.next() {
        further.push((number(value)?, words.next()?));
    }
    Some((first, further))
}

/// Errors: two units of Go that have one name.
fn reading(suite: &str, tool: &str, bench: &Bench) -> Result<Reading, String> {
    let mut reading = named(&bench.name, Params::from([text_param("suite", suite)]));
    let whole = bench.unit.trim();
    let (unit, further) = pairs(whole).filter(|_| tool == "go").unwrap_or((whole, Vec::new()));
    let of_unit = match unit {
        "allocs/op" => Some(Better::Lower),
        _ => direction_of_unit(unit).or_else(|| direction_of_unit(of_one(unit)?)),
    };
    let of_tool = direction_of_tool(tool);
    // The name of a custom tool is free text, so a contradicting unit leaves the direction open.
    let open = tool.starts_with("custom") && of_unit.is_some() && of_unit != of_tool;
    let better = of_unit.or(of_tool).filter(|_| !open);
    let time = is_time(unit) || of_one(unit).is_some_and(is_time);
    if time && bench.value <= 0.0 {
        reading.end = failed(format!("it took {} {unit}, which is not a valid time", bench.value));
    }
    let metric = summarised(&mut reading, if time { "time" } else { "value" }, unit, alone(bench.value));
    metric.better = better.filter(|_| direction_of_unit(unit).is_none());
    metric.judged = better.is_some();
    for (value, unit) in further {
        metric_of_unit(&mut reading, unit)?.summary = Some(alone(value));
    }
    reading.note("range", bench.range.clone());
    Ok(ended(reading))
}
