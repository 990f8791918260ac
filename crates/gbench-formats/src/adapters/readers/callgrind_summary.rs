//! Summaries of Iai-Callgrind and Gungraun: one JSON document for each benchmark, in a line or, as `pretty-json`, in several.
//!
//! The layout changed: versions 2 and 3 have `callgrind_summary`, version 6 `profiles` with `Left` for new values,
//! version 7 `profiles` with `new`. Instructions are exact for code that does the same each time. Cycles are estimated
//! from simulated caches, whose contents depend on addresses: shown, and not judged.

use crate::adapters::interface::prelude::*;

/// Events other than instructions: name, key, unit.
const OTHERS: [(&str, &str, &str); 4] = [
    ("estimated_cycles", "EstimatedCycles", "cycles"),
    ("l1_hits", "L1hits", "accesses"),
    ("ll_hits", "LLhits", "accesses"),
    ("ram_hits", "RamHits", "accesses"),
];

/// Every benchmark of stdout, for the given versions of the layout. Errors: a document that is not a summary with
/// instructions; a line that is neither a document nor the name of a failed benchmark.
pub(crate) fn read(output: &HarnessOutput, versions: &[&str]) -> Result<Vec<Reading>, ReadError> {
    let text = output.text()?;
    let (mut readings, mut other) = (Vec::new(), None);
    let (mut rest, mut number) = (text, 1);
    while !rest.is_empty() {
        let refused = |what: &str| ReadError::line(number, what);
        let line_of = |text: &str| text.find('\n').map(|end| end + 1);
        let mut length = line_of(rest).ok_or_else(|| refused("it does not end"))?;
        let line = rest[..length].trim();
        if line.starts_with('{') {
            let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            let summary = documents.next().unwrap_or(Ok(Value::Null)).map_err(|error| {
                let line = number + error.line() - 1;
                let place = Place::Column { file: None, line, column: error.column() };
                let text = error.to_string();
                ReadError::new(place, text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what))
            })?;
            let (document, behind) = rest.split_at(documents.byte_offset());
            length = document.len() + line_of(behind).ok_or_else(|| refused("it does not end"))?;
            if !rest[document.len()..length].trim().is_empty() {
                return Err(refused("other text follows the summary"));
            }
            readings.push(benchmark(&summary, versions).map_err(|what| refused(&what))?);
        } else if line.contains("::") && !line.contains([' ', '"', '{', '}']) {
            // Gungraun names a benchmark that fails, and ends.
            let mut reading = Reading::new(CaseName::plain(line));
            reading.end = failed("it did not end; what follows it did not run");
            readings.push(reading);
        } else if !line.is_empty() {
            // An error in a summary says more than the lines of a log around it.
            other.get_or_insert_with(|| refused("it is neither a summary nor the name of a benchmark"));
        }
        number += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    other.map_or(Ok(readings), Err)
}

fn benchmark(summary: &Value, versions: &[&str]) -> Result<Reading, String> {
    let version = summary["version"].as_str().ok_or("`version` is missing")?;
    if !versions.contains(&version) {
        return Err(format!("summaries of version {version} are not known: {} are", versions.join(" and ")));
    }
    let path =
        summary["module_path"].as_str().filter(|path| !path.is_empty()).ok_or("`module_path` is missing")?;
    let id = match &summary["id"] {
        Value::Null => None,
        Value::String(id) => Some(id),
        _ => return Err("`id` is not a text".into()),
    };
    let native = id.map_or_else(|| path.to_owned(), |id| format!("{path}::{id}"));
    let events = Events::of(summary, version)?;
    let mut reading = Reading::new(CaseName::plain(native));
    let count = events.count("Ir").ok_or("its instructions, `Ir`, are missing or no count")?;
    if count == 0.0 {
        return Err("it counted no instruction".into());
    }
    reading.metric("instructions", "instructions", Some(Better::Lower)).values.push(count);
    for (name, key, unit) in OTHERS {
        let Some(count) = events.count(key) else { continue };
        shown(&mut reading, name, unit, count);
    }
    // Valgrind runs it once.
    reading.iterations = Some(1.0);
    reading.metadata.insert("summary_version".into(), version.into());
    for (key, name) in [("kind", "kind"), ("details", "details"), ("description", "details")] {
        reading.note(name, summary[key].as_str());
    }
    Ok(reading)
}

struct Events<'a> {
    version: &'a str,
    counts: Vec<&'a Value>,
}

impl<'a> Events<'a> {
    fn of(summary: &'a Value, version: &'a str) -> Result<Self, String> {
        if version == "2" {
            let processes = summary["callgrind_summary"]["summaries"].as_array();
            let counts = processes.ok_or("`callgrind_summary.summaries` is missing")?;
            return Ok(Self { version, counts: counts.iter().map(|process| &process["events"]).collect() });
        }
        if version == "3" {
            let counts = &summary["callgrind_summary"]["callgrind_run"]["total"]["summary"];
            return Ok(Self { version, counts: vec![counts] });
        }
        let profiles = summary["profiles"].as_array().ok_or("`profiles` is missing")?;
        // Both count `Ir`; other tools, such as DHAT, do not.
        let tools = ["Callgrind", "Cachegrind"];
        let profile = tools.iter().find_map(|tool| {
            profiles.iter().find(|profile| profile["tool"] == *tool).map(|profile| (*tool, profile))
        });
        let (tool, profile) = profile.ok_or_else(|| {
            let ran: Vec<&str> = profiles.iter().filter_map(|profile| profile["tool"].as_str()).collect();
            let ran = if ran.is_empty() { "no tool".to_owned() } else { ran.join(" and ") };
            format!("{ran} ran, and neither Callgrind nor Cachegrind, which count instructions")
        })?;
        let counts = match version {
            "6" => &profile["summaries"]["total"]["summary"][tool],
            _ => &profile["data"]["total"]["metrics"],
        };
        Ok(Self { version, counts: vec![counts] })
    }

    /// The sum over all processes; `None` if one of them has no valid count.
    fn count(&self, key: &str) -> Option<f64> {
        let one = |counts: &Value| -> Option<f64> {
            let event = &counts[key];
            let count = match self.version {
                "2" => &event["new"],
                "3" | "6" => {
                    let metrics = &event["metrics"];
                    // With an older value, the new one is the first of two.
                    let new = metrics.get("Left").unwrap_or(&metrics["Both"][0]);
                    new.get("Int").unwrap_or(new)
                }
                _ => &event["values"]["new"],
            };
            Some(count.as_u64()? as f64)
        };
        self.counts.iter().map(|counts| one(counts)).sum::<Option<f64>>().filter(|_| !self.counts.is_empty())
    }
}
