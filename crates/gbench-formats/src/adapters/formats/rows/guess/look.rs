//! The forms in which a file may hold rows, and the fields of these rows.

use std::collections::HashMap;

use regex::Regex;
use serde_json::{Map, Value};
use serde_json_path::{JsonPath, LocatedNode, PathElement};

use super::name::{NameParts, Statistic};
use crate::adapters::formats::interface::format::ResultFile;
use crate::adapters::formats::readers::table::{lines, number};
use crate::adapters::formats::readers::values::is_setting;
use crate::adapters::formats::rows::description::{LinePattern, RowLayout, TextLayout};
use crate::adapters::formats::rows::field::FieldPath;
use crate::adapters::formats::rows::source::{self, DELIMITERS, header_cells};
use crate::adapters::readers::loose_json::standard_json;

/// Rows, fields, and fields of a document around its rows that are looked at.
const MAX_ROWS: usize = 20_000;
const MAX_COLUMNS: usize = 400;
const MAX_AROUND: usize = 40;

/// Depth to which rows are looked for, and elements of each list that are.
const MAX_DEPTH: usize = 5;
const MAX_ELEMENTS: usize = 20;
const MAX_PATHS: usize = 40;

/// One way in which a file may hold rows.
pub(super) struct RowLook {
    /// In words: `a table with ";" between its cells`.
    pub form: String,
    pub layout: RowLayout,
    pub rows: usize,
    pub columns: Vec<RowField>,
}

/// A field and its values; null: the row lacks it.
pub(super) struct RowField {
    /// As a description names it.
    pub field: String,
    pub values: Vec<Value>,
}

impl RowLook {
    fn new(form: String, layout: RowLayout) -> Self {
        Self { form, layout, rows: 0, columns: Vec::new() }
    }
}

/// The columns of rows that come one by one.
#[derive(Default)]
struct RowFields {
    places: HashMap<String, usize>,
    columns: Vec<RowField>,
    rows: usize,
}

impl RowFields {
    fn add(&mut self, fields: impl IntoIterator<Item = (String, Value)>) {
        for (field, value) in fields {
            let place = match self.places.get(&field) {
                Some(place) => *place,
                None if self.columns.len() == MAX_COLUMNS || !can_be_named(&field) => continue,
                None => {
                    self.places.insert(field.clone(), self.columns.len());
                    self.columns.push(RowField { field, values: Vec::new() });
                    self.columns.len() - 1
                }
            };
            let values = &mut self.columns[place].values;
            values.resize(self.rows, Value::Null);
            values.push(value);
        }
        self.rows += 1;
    }

    fn into(mut self, mut look: RowLook) -> RowLook {
        look.rows = self.rows;
        self.columns.retain(|column| !column.values.iter().any(Value::is_object));
        look.columns = self.columns;
        look.columns.iter_mut().for_each(|column| column.values.resize(self.rows, Value::Null));
        look
    }
}

/// False for a name that means something else in a description.
fn can_be_named(field: &str) -> bool {
    let is_own = field.starts_with("outer_") && field.contains(" = ../") || !field.contains(" = ");
    is_own && !field.is_empty() && !field.ends_with('*') && FieldPath::parse(field).is_ok()
}

/// Every way in which a file may hold rows. Errors: its form in words.
pub(super) fn looks(file: &ResultFile) -> Result<Vec<RowLook>, String> {
    let Ok(text) = file.text() else { return Err("no text: it is binary".into()) };
    if text.trim().is_empty() {
        return Err("empty".into());
    }
    if file.begins(b'{') || file.begins(b'[') {
        let text = standard_json(file.bytes);
        let documents = serde_json::Deserializer::from_slice(&text).into_iter::<Value>();
        return match documents.collect::<Result<Vec<Value>, _>>() {
            Ok(documents) => Ok(of_json(&documents)),
            Err(error) => Err(format!("JSON that cannot be read: {error}")),
        };
    }
    // The last one of those that give the most columns is taken.
    let table = DELIMITERS.into_iter().rev().filter_map(|delimiter| of_table(file, text, delimiter));
    let most = table.max_by_key(|look| look.columns.len());
    most.or_else(|| of_text(text)).map(|look| vec![look]).ok_or_else(|| "a text".into())
}

/// Lines with a name, a number and its unit: `gemm: 1.5 ms`, `Mean latency (ms): 1.5`.
fn lines_with_units() -> impl Iterator<Item = Regex> {
    const NUMBER: &str = r"(?<value>[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)";
    const UNIT: &str =
        r"(?<unit>ns|us|\x{b5}s|ms|s|sec|seconds|[kKMGT]i?B/s|[KMGTP]?FLOPS|[KMGTP]?FLOP/s|[a-z]+/s)";
    const NAME: &str = r"^\s*(?<name>[^\s:=].*?)\s*";
    let behind = format!(r"{NAME}[:=\s]\s*{NUMBER}\s*{UNIT}\s*$");
    let before = format!(r"{NAME}[(\[]{UNIT}[)\]]\s*[:=]\s*{NUMBER}\s*$");
    [behind, before].into_iter().filter_map(|pattern| Regex::new(&pattern).ok())
}

fn of_text(text: &str) -> Option<RowLook> {
    let patterns: Vec<Regex> = lines_with_units().collect();
    let mut columns = RowFields::default();
    // The times of cargo's tests are not figures.
    let is_own = |text: &str| text.trim_start().starts_with("test result:") || text.contains(" finished in ");
    let captures = |text| {
        let patterns = patterns.iter().filter(|_| !is_own(text));
        patterns.filter_map(|pattern| pattern.captures(text)).next()
    };
    for found in lines(text).filter_map(|(_, text, _)| captures(text)).take(MAX_ROWS) {
        let field = |name: &str| Some((name.to_owned(), Value::from(found.name(name)?.as_str())));
        columns.add(["name", "value", "unit"].into_iter().filter_map(field));
    }
    let layout = TextLayout { row: patterns.into_iter().map(LinePattern).collect(), ..TextLayout::default() };
    let form = "a text with lines of a name, a number and its unit".to_owned();
    (columns.rows > 0).then(|| columns.into(RowLook::new(form, RowLayout::Text(layout))))
}

fn of_table(file: &ResultFile, text: &str, delimiter: u8) -> Option<RowLook> {
    let header = file.first_line();
    let names = header_cells(&header, delimiter);
    // A first line of numbers is a row.
    let is_header = names.len() > 1 && names.iter().all(|name| number(name).is_none());
    // A line that a program broke off at least does not hide the form of the others.
    let ended = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let mut columns = RowFields::default();
    let columns_of_any = source::TableColumns { needed: Vec::new(), is_read: &|_| true, short: None };
    let mut add = |row: &dyn source::SourceRow| {
        let fields: Vec<(String, Value)> = row
            .names()
            .into_iter()
            .filter_map(|name| {
                let cell = row.cell(&FieldPath::parse(&name).ok()?);
                Some((name, cell.map_or(Value::Null, |cell| cell.text().into())))
            })
            .collect();
        if columns.rows < MAX_ROWS {
            columns.add(fields);
        }
        Ok(())
    };
    source::table_by(file, &ended, 1, delimiter, &columns_of_any, &mut add).ok().filter(|()| is_header)?;
    let between = match delimiter {
        b'\t' => "tabs".to_owned(),
        b' ' => "blanks".to_owned(),
        other => format!("`{}`", char::from(other)),
    };
    let form = format!("a table with {between} between its cells");
    (columns.rows > 0).then(|| columns.into(RowLook::new(form, RowLayout::Csv)))
}

fn of_json(documents: &[Value]) -> Vec<RowLook> {
    let form = match documents {
        [Value::Array(_)] => "JSON, a list of objects",
        [_] => "JSON, one object",
        _ => "JSON lines",
    };
    let mut columns = RowFields::default();
    let rows = documents.iter().flat_map(|document| match document {
        Value::Array(list) => list.as_slice(),
        document => std::slice::from_ref(document),
    });
    rows.filter(|row| row.is_object()).take(MAX_ROWS).for_each(|row| columns.add(fields_of(row)));
    let mut looks = vec![columns.into(RowLook::new(form.into(), RowLayout::Auto))];
    let mut paths = Vec::new();
    documents.iter().take(MAX_ELEMENTS).for_each(|document| find_rows(document, "$", 0, &mut paths));
    // The first look has these.
    paths.retain(|path| path != "$[*]");
    looks.extend(paths.into_iter().filter_map(|path| at_path(documents, path)));
    looks.retain(|look| look.rows > 0);
    looks
}

/// The paths of lists of objects, of objects of objects, and of objects of numbers.
fn find_rows(value: &Value, path: &str, depth: usize, found: &mut Vec<String>) {
    if depth > MAX_DEPTH || found.len() >= MAX_PATHS {
        return;
    }
    let mut add = |path: &String| {
        if !found.contains(path) {
            found.push(path.clone());
        }
    };
    let elements: Vec<&Value> = match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => return,
    };
    let (inner, is_rows) = match value {
        Value::Object(map) => {
            (format!("{path}.*"), elements.len() > 1 && (are_alike(&elements) || are_figures(map)))
        }
        _ => (format!("{path}[*]"), elements.iter().any(|element| element.is_object())),
    };
    if is_rows {
        add(&inner);
        elements.iter().take(MAX_ELEMENTS).for_each(|element| find_rows(element, &inner, depth + 1, found));
    }
    for (name, member) in value.as_object().filter(|_| !is_rows).into_iter().flatten().take(MAX_COLUMNS) {
        find_rows(member, &format!("{path}{}", step(name)), depth + 1, found);
    }
}

/// True for objects most of which share keys with the first.
fn are_alike(elements: &[&Value]) -> bool {
    let objects: Option<Vec<&Map<String, Value>>> =
        elements.iter().map(|element| element.as_object()).collect();
    let Some([first, others @ ..]) = objects.as_deref() else { return false };
    let shares = |other: &&&Map<String, Value>| {
        let shared = first.keys().filter(|key| other.contains_key(*key)).count();
        shared * 2 > first.len().max(other.len())
    };
    others.iter().filter(shares).count() * 2 > others.len()
}

/// True for figures by the names of what they measure: each name of a statistic, a unit or a setting is that of a field.
fn are_figures(map: &Map<String, Value>) -> bool {
    let is_field = |name: &String| {
        let parts = NameParts::of(name);
        parts.is_figure() || parts.statistic != Statistic::Value || is_setting(name)
    };
    map.values().all(Value::is_number) && map.values().any(Value::is_f64) && !map.keys().any(is_field)
}

fn at_path(documents: &[Value], path: String) -> Option<RowLook> {
    let parsed = JsonPath::parse(&path).ok()?;
    let first_key = path.trim_start_matches("$.").split(['.', '[']).next().unwrap_or_default().to_owned();
    // Only below a `*` do keys differ.
    let wild: Vec<bool> = path_steps(&path);
    let mut columns = RowFields::default();
    for document in documents {
        let around: Vec<(String, Value)> = fields_of(document)
            .into_iter()
            .filter(|(field, _)| first_key != "*" && field.split('.').next() != Some(&first_key))
            .filter(|(_, value)| !value.is_array() && !value.is_object())
            .take(MAX_AROUND)
            .map(|(field, value)| (format!("^{field}"), value))
            .collect();
        for node in parsed.query_located(document).iter() {
            if columns.rows == MAX_ROWS {
                break;
            }
            let names = node.location().iter().zip(&wild).rev().enumerate();
            let own = names.filter_map(|(level, (element, is_wild))| match element {
                PathElement::Name(name) if *is_wild => Some((own_key(level), Value::from(*name))),
                PathElement::Name(_) | PathElement::Index(_) => None,
            });
            let row = match node.node() {
                row @ Value::Object(_) => fields_of(row),
                Value::Number(number) => vec![("$".to_owned(), Value::Number(number.clone()))],
                _ => continue,
            };
            // The row's own field of the same name is closer.
            let has = |name: &str| row.iter().any(|(field, _)| field.rsplit('.').next() == Some(name));
            let around = around.iter().filter(|(field, _)| !field.rsplit(['.', '^']).next().is_some_and(has));
            let outer = outer_fields(document, node, &has);
            columns
                .add(own.chain(row.iter().cloned()).chain(outer).chain(around.cloned()).collect::<Vec<_>>());
        }
    }
    let what = if columns.places.contains_key("$") { "numbers" } else { "objects" };
    (columns.rows > 0)
        .then(|| columns.into(RowLook::new(format!("JSON, {what} at `{path}`"), RowLayout::Json(path))))
}

/// The values of the objects between the document and a row. `is_known`: a field of the row has this name.
fn outer_fields(
    document: &Value,
    row: &LocatedNode<'_>,
    is_known: &dyn Fn(&str) -> bool,
) -> Vec<(String, Value)> {
    let steps: Vec<&PathElement> = row.location().iter().collect();
    let mut found = Vec::new();
    let mut at = document;
    for (depth, step) in steps.iter().enumerate().take(steps.len().saturating_sub(1)) {
        let next = match step {
            PathElement::Name(name) => at.get(*name),
            PathElement::Index(index) => at.get(*index),
        };
        let Some(next) = next else { break };
        at = next;
        let outwards = "../".repeat(steps.len() - 1 - depth);
        for (key, value) in at.as_object().into_iter().flatten().take(MAX_AROUND) {
            if value.is_array() || value.is_object() || key.contains(['.', '$', '^', '@', '/']) {
                continue;
            }
            let alias = if is_known(key) { format!("outer_{key} = ") } else { String::new() };
            found.push((format!("{alias}{outwards}{key}"), value.clone()));
        }
    }
    found
}

/// For each step of a path whether it is `*`.
fn path_steps(path: &str) -> Vec<bool> {
    let mut steps = Vec::new();
    let mut rest = path.trim_start_matches('$');
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '[' if rest.starts_with("['") => end_of_quoted(rest),
            '[' => rest.find(']').map_or(rest.len(), |at| at + 1),
            first => {
                let begin = first.len_utf8();
                rest[begin..].find(['.', '[']).map_or(rest.len(), |at| at + begin)
            }
        };
        let (one, others) = rest.split_at(end);
        steps.push([".*", "[*]"].contains(&one));
        rest = others;
    }
    steps
}

/// Behind the step `['key']` that a path begins with; its key may have an escaped quote.
fn end_of_quoted(path: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in path.char_indices().skip(2) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\'' => return path[at..].find(']').map_or(path.len(), |bracket| at + bracket + 1),
            _ => {}
        }
    }
    path.len()
}

fn own_key(level: usize) -> String {
    if level == 0 { "@key".into() } else { format!("@key.{level}") }
}

/// A key as a step of a JSON path.
fn step(key: &str) -> String {
    let mut chars = key.chars();
    let begins = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if begins && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return format!(".{key}");
    }
    format!("['{}']", key.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// The values of an object by their fields; those of objects in it by the keys on the way.
fn fields_of(row: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    add_fields(row, &mut Vec::new(), &mut found);
    found
}

fn add_fields<'v>(object: &'v Value, keys: &mut Vec<&'v str>, found: &mut Vec<(String, Value)>) {
    for (key, value) in object.as_object().into_iter().flatten() {
        keys.push(key);
        if value.is_object() && keys.len() < MAX_DEPTH {
            add_fields(value, keys, found);
        }
        let is_nested = match value {
            Value::Array(list) => list.iter().any(|element| element.is_object() || element.is_array()),
            value => value.is_object(),
        };
        // The place of an object is kept: a field that is an object in one row has no value in another.
        found.push((reference(keys), if is_nested { Value::Object(Map::new()) } else { value.clone() }));
        keys.pop();
    }
}

/// The reference to a field by its keys: with dots if that is unambiguous, else a JSON path.
fn reference(keys: &[&str]) -> String {
    let text = keys.join(".");
    let is_plain = !text.starts_with(['$', '^', '@']) && !text.starts_with("../") && !text.contains(" - ");
    let has_dots = keys.len() > 1 && keys.iter().any(|key| key.contains('.') || key.is_empty());
    if is_plain && !has_dots && !text.is_empty() {
        return text;
    }
    keys.iter().fold("$".to_owned(), |path, key| path + &step(key))
}
