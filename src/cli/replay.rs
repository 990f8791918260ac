//! `gbench-ci replay`: the verdicts of a comparison in rounds, from its records alone, held against those that are kept.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::args::{ArtifactsArgs, format_parser};
use super::terminal::style;
use super::terminal::write::{check_place, wrote};
use crate::app::kept_comparison::Kept;
use crate::app::paths::shown;
use crate::app::verdict_files::{exit_from, rendered};
use crate::compare::{VerdictDocument, verdict_of};
use crate::model::{Exit, Fault, Result};
use crate::report::{Format, Style};
use crate::store::write_atomically;
use crate::suite::Benchmark;

/// Judge a comparison in rounds again, from its records alone
///
/// Clock, machine and folder do not matter: the same records give the same verdict, bit for bit. Where the comparison
/// keeps its verdict (reports/verdict.json), the two are held against each other. First the records are held against what
/// they say of themselves: their fingerprints, their rounds, and the order that the seed gives.
///
/// Exit codes: those of `compare`; 4 also where the records do not hold, or where the kept verdict is not the one that they
/// give.
#[derive(clap::Args, Clone, Debug)]
pub struct ReplayArgs {
    /// A comparison's folder or id, or the records of base and head [default: the latest comparison]
    #[arg(num_args = 0..=2, value_names = ["COMPARISON|BASE", "HEAD"])]
    what: Vec<String>,
    /// The record of the control, beside BASE and HEAD
    #[arg(long, value_name = "FILE")]
    control: Option<PathBuf>,
    #[command(flatten)]
    place: ArtifactsArgs,
    /// What to print
    #[arg(long, default_value = "terminal", value_parser = format_parser())]
    format: Format,
    /// Show unchanged rows in full
    #[arg(long)]
    all: bool,
    /// Also write the verdict as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Differences between two verdicts that are named.
const MOST_NAMED: usize = 5;

pub fn run(args: &ReplayArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    check_place("--json", args.json.as_deref())?;
    let kept = match args.what.as_slice() {
        [base, head] => Kept::read(Path::new(base), Path::new(head), args.control.as_deref())?,
        _ if args.control.is_some() => {
            let what = "a comparison brings its own control";
            return Err(Fault::at_flag(
                "--control",
                what,
                "take it out, or name the records of base and head",
            ));
        }
        what => Kept::find(what.first().map(String::as_str), &args.place.request(), builtins)?,
    };
    let document = verdict_of(&kept.base, &kept.head, kept.control.as_ref())?;
    if let Some(path) = &args.json {
        write_atomically(path, &rendered(&document, Format::Json, Style::PLAIN, true)?)?;
    }
    let text = rendered(&document, args.format, style::of_stdout(), args.all)?;
    wrote(out.write_all(&text).and_then(|()| out.flush()))?;
    let stored = kept.folder.map(|folder| folder.join("reports/verdict.json")).filter(|path| path.is_file());
    let Some(path) = stored else { return Ok(exit_from(&document)) };
    let said = held_against(&document, &path)?;
    match args.format {
        Format::Terminal => wrote(writeln!(out, "\nreplayed {said} {}", shown(&path)))?,
        // Standard output is the document's alone.
        _ => wrote(writeln!(std::io::stderr(), "replayed {said} {}", shown(&path)))?,
    }
    Ok(exit_from(&document))
}

/// What a version says of its figures: another version may say it otherwise, and no verdict depends on it.
const PROSE: [&str; 9] =
    ["sentence", "reason", "why", "next", "advice", "warnings", "warning_codes", "reproduce", "replays"];

/// How the replayed verdict relates to the kept one. Errors: they differ, with exit code 4.
fn held_against(document: &VerdictDocument, path: &Path) -> Result<&'static str> {
    let kept = std::fs::read(path)
        .map_err(|error| Fault::at_path(path, format!("cannot be read: {error}"), "make it readable"))?;
    let now = rendered(document, Format::Json, Style::PLAIN, true)?;
    if kept == now {
        return Ok("identical to");
    }
    let next =
        "the records or the verdict were edited, or another version decided; `--json FILE` keeps this one";
    let differs = |what: String| Fault::at_path(path, what, next).exits(Exit::Failed);
    let mut old: Value =
        serde_json::from_slice(&kept).map_err(|error| differs(format!("is no JSON: {error}")))?;
    let mut new: Value = serde_json::from_slice(&now).map_err(|error| differs(error.to_string()))?;
    // The evidence may be embedded in one and not the other.
    for value in [&mut old, &mut new] {
        value.as_object_mut().map(|fields| fields.remove("records"));
    }
    let mut found = Vec::new();
    differences("", &old, &new, &mut found);
    match found.as_slice() {
        [] => Ok("the same in every figure as"),
        [one] if one.starts_with("tool_version ") => Ok("the same, by another version, as"),
        all => {
            let named = all[..all.len().min(MOST_NAMED)].join("; ");
            let more = match all.len().saturating_sub(MOST_NAMED) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            Err(differs(format!("the kept verdict is not what the records give: {named}{more}")))
        }
    }
}

/// Paths at which two documents differ, with both values: `rows[3].verdict is "unchanged", replayed "regressed"`. Rows
/// are named by their case and metric.
fn differences(path: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(one), Value::Object(other)) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys.into_iter().filter(|key| !PROSE.contains(&key.as_str())) {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let [a, b] = [one, other].map(|object| object.get(key).unwrap_or(&Value::Null));
                differences(&below, a, b, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (a, b)) in one.iter().zip(other).enumerate() {
                let row = b.get("case").and_then(|case| case.get("benchmark")).and_then(Value::as_str);
                let metric = b.get("metric").and_then(Value::as_str).unwrap_or("");
                let below = match row {
                    Some(case) => format!("{case} {metric}"),
                    None => format!("{path}[{index}]"),
                };
                differences(&below, a, b, found);
            }
        }
        _ if old == new => {}
        _ => found.push(format!("{path} is {}, replayed {}", short(old), short(new))),
    }
}

fn short(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = match value {
        Value::Null => return "absent".into(),
        Value::Array(values) => return format!("{} entries", values.len()),
        other => other.to_string(),
    };
    match text.chars().nth(LONGEST) {
        Some(_) => text.chars().take(LONGEST).chain("...".chars()).collect(),
        None => text,
    }
}
