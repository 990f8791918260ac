//! Numbers from JSON by a path, as long as they are a single metric.
//!
//! A common mistake is a path over a whole list, which mixes the times of several benchmarks, their means and their deviations.
//! So every match must have the same keys, and all entries of a list with names must have the same name. An entry that reports
//! a failure is not a measurement.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use serde_json_path::{JsonPath, LocatedNode, PathElement};

use super::error::ExtractError;
use gbench_formats::adapters::formats::failed_row;
use gbench_suite::ExtractRows;

pub(crate) const NAMES: [&str; 15] = [
    "name",
    "benchmark",
    "bench",
    "command",
    "cmd",
    "case",
    "test",
    "kernel",
    "function",
    "fullname",
    "full_name",
    "title",
    "label",
    "id",
    "aggregate_name",
];

/// The texts that the path selects in a document, or in each JSON line. With `rows`, the path is relative to each row that meets
/// the conditions.
pub(crate) fn texts(
    rule: &str,
    path: &str,
    rows: &ExtractRows,
    text: &str,
) -> Result<Vec<String>, ExtractError> {
    let parsed = JsonPath::parse(path).map_err(|error| ExtractError::unreadable(rule, error))?;
    let documents: Result<Vec<Value>, _> = match serde_json::from_str(text) {
        Ok(document) => Ok(vec![document]),
        Err(_) => serde_json::Deserializer::from_str(text).into_iter().collect(),
    };
    let documents = documents.map_err(|error| ExtractError::unreadable(rule, error))?;
    let rows = chosen(rule, rows, &documents)?;
    let found: Vec<Match> = rows
        .into_iter()
        .flat_map(|document| {
            parsed.query_located(document).all().into_iter().map(|node| Match::new(document, &node))
        })
        .collect();
    for it in &found {
        if let Some(why) = it.entries.iter().find_map(|entry| failed_row(entry)) {
            return Err(ExtractError::Failed { rule: rule.to_owned(), why });
        }
    }
    one_meaning(rule, path, &found)?;
    Ok(found.into_iter().map(|it| it.text).collect())
}

fn chosen<'a>(
    rule: &str,
    rows: &ExtractRows,
    documents: &'a [Value],
) -> Result<Vec<&'a Value>, ExtractError> {
    let path = rows.path.as_deref().map(JsonPath::parse).transpose();
    let path = path.map_err(|error| ExtractError::unreadable(rule, error))?;
    let fits = |row: &Value| {
        let is = |(name, value): (&String, &String)| match row.get(name) {
            Some(Value::String(text)) => text == value,
            Some(other) => serde_json::from_str::<Value>(value).is_ok_and(|value| value == *other),
            None => false,
        };
        rows.conditions.iter().all(is)
    };
    let found: Vec<&Value> = match &path {
        Some(path) => documents.iter().flat_map(|document| path.query(document).all()).collect(),
        None => documents.iter().collect(),
    };
    Ok(found.into_iter().filter(|row| fits(row)).collect())
}

struct Match<'a> {
    text: String,
    /// The keys that lead to it; every list index is `[*]`.
    way: String,
    /// The objects that contain it, the document first.
    entries: Vec<&'a Map<String, Value>>,
}

impl<'a> Match<'a> {
    fn new(document: &'a Value, node: &LocatedNode<'a>) -> Self {
        let (mut way, mut here) = (String::from("$"), Some(document));
        let mut entries: Vec<_> = document.as_object().into_iter().collect();
        for part in node.location().iter() {
            match part {
                PathElement::Name(name) => {
                    way += &format!(".{name}");
                    here = here.and_then(|value| value.get(*name));
                }
                PathElement::Index(index) => {
                    way += "[*]";
                    here = here.and_then(|value| value.get(*index));
                }
            }
            entries.extend(here.and_then(Value::as_object));
        }
        let text = match node.node() {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self { text, way, entries }
    }

    fn names(&self) -> BTreeMap<(usize, &'static str), &'a str> {
        let named = self.entries.iter().enumerate();
        let of_entry = |(depth, entry): (usize, &&'a Map<String, Value>)| {
            let entry: &'a Map<String, Value> = entry;
            NAMES.into_iter().filter_map(move |key| Some(((depth, key), entry.get(key)?.as_str()?)))
        };
        named.flat_map(of_entry).collect()
    }
}

fn one_meaning(rule: &str, path: &str, found: &[Match<'_>]) -> Result<(), ExtractError> {
    let Some((first, rest)) = found.split_first() else { return Ok(()) };
    if let Some(other) = rest.iter().find(|other| other.way != first.way) {
        return Err(ExtractError::Mixed {
            rule: rule.to_owned(),
            what: format!("it matches different keys: {} and {}", first.way, other.way),
            next: "write one extraction for each key".into(),
        });
    }
    let names = first.names();
    let differing = rest.iter().find_map(|other| {
        let others = other.names();
        let keys = names.keys().chain(others.keys());
        let (_, key) = keys.into_iter().find(|key| names.get(key) != others.get(key))?;
        let name = |names: &BTreeMap<(usize, &'static str), &str>| {
            let named = names.iter().find(|((_, known), _)| known == key);
            named.map_or("none".to_owned(), |(_, name)| format!("`{}`", short(name)))
        };
        Some((*key, name(&names), name(&others)))
    });
    match differing {
        None => Ok(()),
        Some((key, one, other)) => Err(ExtractError::Mixed {
            rule: rule.to_owned(),
            what: format!("it matches entries with different values of `{key}`: {one} and {other}"),
            next: format!("choose one of them: json = \"{}\"", with_filter(path, key, &one)),
        }),
    }
}

/// The path with a filter for one name, if it has a list.
fn with_filter(path: &str, key: &str, name: &str) -> String {
    let name = name.trim_matches('`').replace('\'', "\\\\'");
    if path.contains("[*]") {
        path.replacen("[*]", &format!("[?@.{key} == '{name}']"), 1)
    } else {
        format!("$.list[?@.{key} == '{name}'].number")
    }
}

fn short(name: &str) -> String {
    const MAX_LENGTH: usize = 60;
    let plain = name.chars().filter(|c| !c.is_control());
    if name.chars().count() > MAX_LENGTH {
        plain.take(MAX_LENGTH).chain("...".chars()).collect()
    } else {
        plain.collect()
    }
}
