//! The Markdown table of llama-bench, its default output: rates alone.

use std::collections::BTreeMap;

use crate::adapters::formats::interface::prelude::*;

const FIRST: [&str; 4] = ["model", "size", "params", "backend"];
const LAST: [&str; 2] = ["test", "t/s"];
/// A row names neither its device nor its build.
const SEVERAL: &str = "the file has several tables, which may be of different devices or builds: give each table, with its line \
                       `build: ...`, a separate file";

fn cells(line: &str) -> Option<Vec<&str>> {
    let inside = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inside.split('|').map(str::trim).collect())
}

pub(super) fn header_of(line: &str) -> Option<Vec<&str>> {
    cells(line).filter(|cells| cells.starts_with(&FIRST) && cells.ends_with(&LAST))
}

/// Reads a text with such a table, or with several of one build that share no test. Errors: no table, a row of another length, no
/// end; several tables whose rates would be mixed.
pub(super) fn read(file: &ResultFile, text: &str) -> Result<Vec<RunReading>, ReadError> {
    let mut header: Option<Vec<&str>> = None;
    let (mut run, mut of_table) = (RunReading::default(), 0);
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let wrong = |what: String| file.line(at + 1, what);
        let build = line.strip_prefix("build: ").and_then(|rest| rest.trim_end().strip_suffix(')'));
        if let Some((commit, build)) = build.and_then(|rest| rest.split_once(" (")) {
            let known = run.facts.get("build_number").map(|number| (run.commit.as_deref(), number));
            if known.is_some_and(|(known, number)| known.unwrap_or("unknown") != commit || number != build) {
                return Err(wrong(SEVERAL.into()));
            }
            run.commit = Some(commit.to_owned()).filter(|commit| commit != "unknown");
            run = run.fact("build_number", build);
        }
        let Some(cells) = cells(line).filter(|_| line.ends_with('\n')) else {
            if line.starts_with('|') && header.is_some() {
                return Err(wrong("the row is incomplete".into()));
            }
            continue;
        };
        if let Some(found) = header_of(line) {
            header = Some(found);
            of_table = run.readings.len();
            continue;
        }
        let Some(header) = &header else { continue };
        if cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| "-:".contains(c))) {
            continue;
        }
        if cells.len() != header.len() {
            return Err(wrong(format!(
                "it has {} cells, and the header names {}",
                cells.len(),
                header.len()
            )));
        }
        let row: BTreeMap<&str, &str> = header.iter().copied().zip(cells).collect();
        let reading = row_of(&row).map_err(wrong)?;
        if run.readings.iter().take(of_table).any(|known| known.case == reading.case) {
            return Err(wrong(format!(
                "`{}` is in an earlier table as well: {SEVERAL}",
                reading.case.native
            )));
        }
        run.readings.push(reading);
    }
    if header.is_none() {
        return Err(file.wrong("it contains no JSON, CSV or Markdown table of llama-bench"));
    }
    // The last line: without it the run did not end, or its commit is unknown.
    if !run.facts.contains_key("build_number") {
        return Err(file.wrong("the line `build: ...` is missing: the program did not end"));
    }
    Ok(vec![run])
}

fn row_of(row: &BTreeMap<&str, &str>) -> Result<Reading, String> {
    let cell = |name: &str| row.get(name).copied().unwrap_or_default();
    let keys = row.iter().filter(|(name, _)| !["size", "params", "test", "t/s"].contains(*name));
    let mut params = params_of(keys.map(|(name, cell)| (*name, *cell)));
    let (test, depth) = cell("test").split_once(" @ d").unwrap_or((cell("test"), ""));
    if !depth.is_empty() {
        let depth = depth.parse().map_err(|_| format!("`{depth}` is not a depth"))?;
        params.insert("n_depth".into(), ParamValue::Int(depth));
    }
    let rate = cell("t/s");
    let (mean, stddev) = rate.split_once('±').ok_or_else(|| format!("`{rate}` is not a mean with `±`"))?;
    let read = |text: &str| number(text).ok_or_else(|| format!("`{rate}` is not a mean with `±`"));
    let (mean, stddev) = (read(mean)?, read(stddev)?);
    let mut reading = named(test, params);
    if mean <= 0.0 {
        fail(&mut reading, format!("its rate is `{rate}`"));
    }
    // One repetition has no deviation.
    summarised(
        &mut reading,
        "throughput",
        "t/s",
        summary(mean, Some(stddev).filter(|stddev| *stddev > 0.0), None),
    );
    Ok(ended(reading))
}
