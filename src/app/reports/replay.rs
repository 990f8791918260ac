//! A verdict from its records alone, compared with the one that is stored next to them.

use std::path::Path;

use serde_json::Value;

use super::verdict_files::rendered;
use crate::compare::VerdictDocument;
use crate::model::{Exit, Fault, Result};
use crate::report::{Format, Style};

/// Differences between two verdicts that are named.
const MAX_NAMED: usize = 5;

/// Texts about figures: another version may word them differently, and no verdict depends on them.
const PROSE: [&str; 9] =
    ["sentence", "reason", "why", "next", "advice", "warnings", "warning_codes", "reproduce", "replays"];

const ADDED: [&str; 2] = ["change_centre", "pair"];

/// How far the replayed verdict agrees with the stored one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    Identical,
    /// Every figure is the same; its texts differ.
    SameFigures,
    /// Every figure is the same, and another version has written it.
    OtherVersion,
}

/// How the replayed verdict relates to the stored one. Errors: they differ, with exit code 4.
pub(crate) fn held_against(document: &VerdictDocument, path: &Path) -> Result<Agreement> {
    let stored = std::fs::read(path)
        .map_err(|error| Fault::at_path(path, format!("cannot be read: {error}"), "make it readable"))?;
    let now = rendered(document, Format::Json, Style::PLAIN, true)?;
    if stored == now {
        return Ok(Agreement::Identical);
    }
    let next =
        "the records or the verdict were edited, or another version decided; `--json FILE` keeps this one";
    let differs = |what: String| Fault::at_path(path, what, next).exits(Exit::Failed);
    let mut old: Value =
        serde_json::from_slice(&stored).map_err(|error| differs(format!("is not JSON: {error}")))?;
    let mut new: Value = serde_json::from_slice(&now).map_err(|error| differs(error.to_string()))?;
    // The evidence may be embedded in one and not the other.
    for value in [&mut old, &mut new] {
        value.as_object_mut().map(|fields| fields.remove("records"));
    }
    let mut found = Vec::new();
    differences("", &old, &new, &mut found);
    match found.as_slice() {
        [] => Ok(Agreement::SameFigures),
        [(place, _)] if place == "tool_version" => Ok(Agreement::OtherVersion),
        all => {
            // `rows[3].verdict is "unchanged", replayed "regressed"`.
            let named = all.iter().take(MAX_NAMED).map(|(place, values)| format!("{place} is {values}"));
            let named = named.collect::<Vec<_>>().join("; ");
            let more = match all.len().saturating_sub(MAX_NAMED) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            Err(differs(format!("the kept verdict is not what the records give: {named}{more}")))
        }
    }
}

/// The places at which two documents differ, each with its values. Rows are named by their case and metric.
fn differences(path: &str, old: &Value, new: &Value, found: &mut Vec<(String, String)>) {
    match (old, new) {
        (Value::Object(one), Value::Object(other)) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort();
            keys.dedup();
            let is_added = |key: &str| ADDED.contains(&key) && !one.contains_key(key);
            for key in keys.into_iter().filter(|key| !PROSE.contains(&key.as_str()) && !is_added(key)) {
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
        _ => found.push((path.to_owned(), format!("{}, replayed {}", short(old), short(new)))),
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
