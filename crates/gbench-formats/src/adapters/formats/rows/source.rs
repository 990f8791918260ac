//! Finds the rows of a file: in JSON, in a table, or in the lines of a text.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::Map;
use serde_json_path::{JsonPath, LocatedNode, PathElement};

use super::description::{Pattern, TextLayout};
use super::field::{Cell, Field, Place, of_object};
use crate::adapters::formats::interface::format::ResultFile;
use crate::adapters::formats::readers::table::{CsvRow, CsvTable, lines, number};
use crate::adapters::interface::output::ReadError;
use crate::adapters::readers::loose_json::standard_json;

/// A row of a file, as its place and its fields.
pub(super) trait Row {
    /// `None`: it has no such field, or nothing is in it.
    fn cell(&self, field: &Field) -> Option<Cell<'_>>;

    /// Why a field that the row has is without a value; `None`: it has none of this name, or it has a value.
    fn blank(&self, field: &Field) -> Option<String>;

    /// The names of its fields.
    fn names(&self) -> Vec<&str>;

    fn wrong(&self, what: String) -> ReadError;

    fn object(&self) -> Option<&Map<String, Value>> {
        None
    }
}

/// What becomes of each row.
pub(super) type Sink<'s> = &'s mut dyn FnMut(&dyn Row) -> Result<(), ReadError>;

struct JsonRow<'a> {
    file: &'a ResultFile<'a>,
    row: &'a Value,
    /// Of the row, from 1.
    place: (usize, usize),
    document: Option<&'a Value>,
    /// The keys from the row outwards.
    own: Vec<Cow<'a, str>>,
}

impl Row for JsonRow<'_> {
    fn cell(&self, field: &Field) -> Option<Cell<'_>> {
        match &field.place {
            Place::Document(outer) => of_object(self.document?, outer),
            Place::Own(level) => Cell::of_text(self.own.get(*level)?),
            Place::Named { .. } | Place::Path(_) => of_object(self.row, field),
        }
    }

    fn blank(&self, field: &Field) -> Option<String> {
        self.row.get(&field.text)?.is_null().then(|| format!("`{}` is null", field.text))
    }

    fn names(&self) -> Vec<&str> {
        self.row.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
    }

    fn wrong(&self, what: String) -> ReadError {
        self.file.at(format!("document {}, row {}", self.place.0, self.place.1), what)
    }

    fn object(&self) -> Option<&Map<String, Value>> {
        self.row.as_object()
    }
}

/// The rows of one or several documents, as in JSON lines. `path`: `None` for the elements of a list, else the document
/// itself. `outward`: a field leaves its row.
pub(super) fn json(
    file: &ResultFile,
    path: Option<&JsonPath>,
    outward: bool,
    sink: Sink,
) -> Result<(), ReadError> {
    let text = standard_json(file.bytes);
    let mut reader = serde_json::Deserializer::from_slice(&text);
    let mut document = 0;
    while reader.end().is_err() {
        document += 1;
        let failed = RefCell::default();
        let rows = RefCell::new(0);
        let each = RefCell::new(&mut *sink);
        let found = |row: &Value, whole: Option<&Value>, own: Vec<Cow<'_, str>>| {
            *rows.borrow_mut() += 1;
            let row = JsonRow { file, row, place: (document, *rows.borrow()), document: whole, own };
            (each.borrow_mut())(&row)
        };
        let streamed =
            |value: &Value| found(value, None, Vec::new()).map_err(|error| _ = failed.replace(Some(error)));
        let read = match path {
            None if !outward => Elements { each: &streamed }.deserialize(&mut reader),
            _ => Value::deserialize(&mut reader).and_then(|value| {
                let done = each_node(&value, path, outward, &found);
                done.map_err(|error| {
                    failed.replace(Some(error));
                    serde_json::Error::custom("a row is wrong")
                })
            }),
        };
        if let Some(error) = failed.take() {
            return Err(error);
        }
        read.map_err(|error| {
            let words = error.to_string();
            let what = words.rsplit_once(" at line ").map_or(words.as_str(), |(what, _)| what);
            let what = if error.is_eof() { "the last document is incomplete" } else { what };
            file.line(error.line().max(1), format!("it cannot be read as JSON: {what}"))
        })?;
    }
    Ok(())
}

type Found<'f> = &'f dyn Fn(&Value, Option<&Value>, Vec<Cow<'_, str>>) -> Result<(), ReadError>;

fn each_node(
    document: &Value,
    path: Option<&JsonPath>,
    outward: bool,
    found: Found,
) -> Result<(), ReadError> {
    match (path, document) {
        (Some(path), document) if outward => {
            path.query_located(document).iter().try_for_each(|node: &LocatedNode| {
                let own = node.location().iter().rev().map(|element| match element {
                    PathElement::Name(name) => Cow::Borrowed(*name),
                    PathElement::Index(index) => Cow::Owned(index.to_string()),
                });
                found(node.node(), Some(document), own.collect())
            })
        }
        (Some(path), document) => {
            path.query(document).iter().try_for_each(|row| found(row, None, Vec::new()))
        }
        (None, Value::Array(rows)) => rows.iter().try_for_each(|row| found(row, Some(document), Vec::new())),
        (None, document) => found(document, Some(document), Vec::new()),
    }
}

/// The elements of a list, or a document that is not one, each as soon as it is read: a list may have a million.
struct Elements<'e> {
    /// Errors: the reading ends.
    each: &'e dyn Fn(&Value) -> Result<(), ()>,
}

impl<'de> DeserializeSeed<'de> for Elements<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl Elements<'_> {
    fn found<E: Error>(&self, value: &Value) -> Result<(), E> {
        (self.each)(value).map_err(|()| E::custom("a row is wrong"))
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any value of JSON")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element()? {
            self.found(&value)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let object = Map::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        self.found(&Value::Object(object))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.found(&value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.found(&value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.found(&value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.found(&value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.found(&value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.found(&Value::Null)
    }
}

/// The separators of a table's cells, in the order in which they are tried; a blank stands for any number of them.
pub(super) const DELIMITERS: [u8; 5] = [b',', b';', b'\t', b'|', b' '];

struct TableRow<'a> {
    table: &'a CsvTable<'a>,
    file: &'a ResultFile<'a>,
    row: &'a CsvRow,
}

impl Row for TableRow<'_> {
    fn cell(&self, field: &Field) -> Option<Cell<'_>> {
        if let Some(column) = self.table.column(&field.text) {
            return Cell::of_text(self.row.cell(column));
        }
        let Place::Named { minus: Some(pair), .. } = &field.place else { return None };
        let of = |field| self.cell(field)?.number();
        Some(Cell::Number(of(&pair.0)? - of(&pair.1)?))
    }

    fn blank(&self, field: &Field) -> Option<String> {
        let is_empty = self.row.cell(self.table.column(&field.text)?).is_empty();
        is_empty.then(|| format!("the cell of `{}` in line {} is empty", field.text, self.row.line))
    }

    fn names(&self) -> Vec<&str> {
        self.table.header.iter().map(String::as_str).collect()
    }

    fn wrong(&self, what: String) -> ReadError {
        self.file.line(self.row.line, what)
    }
}

/// True if the first line of a text has all these columns, whatever separates them.
pub(super) fn has_columns(header: &str, columns: &[String]) -> bool {
    DELIMITERS.iter().any(|delimiter| {
        let cells = header_cells(header, *delimiter);
        columns.iter().all(|column| cells.contains(&column.as_str()))
    })
}

pub(super) fn header_cells(header: &str, delimiter: u8) -> Vec<&str> {
    if delimiter == b' ' {
        return header.split_ascii_whitespace().collect();
    }
    let cells = header.split(char::from(delimiter)).map(|cell| cell.trim().trim_matches('"'));
    cells.filter(|cell| !cell.is_empty()).collect()
}

/// The rows of a table, whose separator gives the most of the `named` columns. Errors: one of `needed` is missing.
pub(super) fn table<'f>(
    file: &ResultFile,
    text: &str,
    named: impl Iterator<Item = &'f Field> + Clone,
    needed: &[&Field],
    sink: Sink,
) -> Result<(), ReadError> {
    let header = file.first_line();
    let missing = |delimiter: &u8| {
        let cells = header_cells(&header, *delimiter);
        named.clone().filter(|field| !cells.contains(&field.text.as_str())).count()
    };
    let delimiter = DELIMITERS.into_iter().min_by_key(missing).unwrap_or(b',');
    table_by(file, text, delimiter, needed, sink)
}

/// The same with a known separator.
pub(super) fn table_by(
    file: &ResultFile,
    text: &str,
    delimiter: u8,
    needed: &[&Field],
    sink: Sink,
) -> Result<(), ReadError> {
    // Every cell of a line of Markdown, or of a table of blanks, is between separators.
    let text = match delimiter {
        b'|' => Cow::Owned(lines(text).map(|(_, line, _)| markdown_line(line)).collect::<String>()),
        b' ' => Cow::Owned(lines(text).map(|(_, line, _)| blanks_line(line)).collect()),
        _ => Cow::Borrowed(text),
    };
    let table = CsvTable::read(*file, &text, 1, delimiter)?;
    needed.iter().try_for_each(|column| table.need(&column.text).map(|_| ()))?;
    if let Some(last) = table.rows.last().filter(|_| !text.ends_with('\n')) {
        return Err(file.line(last.line, CUT));
    }
    table.rows.iter().try_for_each(|row| sink(&TableRow { table: &table, file, row }))
}

/// The cells of `| a | b |`; nothing of the line below a header.
fn markdown_line(line: &str) -> String {
    let cells = line.trim();
    let cells = cells.strip_prefix('|').unwrap_or(cells);
    let cells = cells.strip_suffix('|').unwrap_or(cells);
    let is_rule = cells.contains('-') && cells.chars().all(|c| "-:| ".contains(c));
    if is_rule { "\n".into() } else { format!("{cells}\n") }
}

fn blanks_line(line: &str) -> String {
    let mut cells = line.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    cells.push('\n');
    cells
}

struct TextRow<'a> {
    file: &'a ResultFile<'a>,
    line: usize,
    fields: HashMap<String, &'a str>,
}

impl Row for TextRow<'_> {
    fn cell(&self, field: &Field) -> Option<Cell<'_>> {
        if let Some(text) = self.fields.get(&field.text) {
            return Cell::of_text(text.trim());
        }
        let Place::Named { minus: Some(pair), .. } = &field.place else { return None };
        let of = |field: &Field| self.fields.get(&field.text).and_then(|text| number(text));
        Some(Cell::Number(of(&pair.0)? - of(&pair.1)?))
    }

    fn blank(&self, field: &Field) -> Option<String> {
        let is_empty = self.fields.get(&field.text)?.trim().is_empty();
        is_empty.then(|| format!("`{}` is empty in line {}", field.text, self.line))
    }

    fn names(&self) -> Vec<&str> {
        self.fields.keys().map(String::as_str).collect()
    }

    fn wrong(&self, what: String) -> ReadError {
        self.file.line(self.line, what)
    }
}

/// The rows of a text. Errors: the last line is missing.
pub(super) fn text<'a>(
    file: &'a ResultFile<'a>,
    text: &'a str,
    layout: &TextLayout,
    sink: Sink,
) -> Result<(), ReadError> {
    let mut context: HashMap<String, &str> = HashMap::new();
    // Without a line that begins one, the whole file is a row.
    let mut open: Option<TextRow> = None;
    let mut is_complete = layout.last.is_none();
    for (line, text, is_ended) in lines(text) {
        is_complete |= layout.last.as_ref().is_some_and(|last| last.0.is_match(text));
        if !is_ended && layout.last.is_none() && is_row(layout, text) {
            return Err(file.line(line, CUT));
        }
        if let Some(fields) = groups(&layout.context, text) {
            context.extend(fields);
        } else if let Some(found) = groups(&layout.row, text) {
            let mut fields = context.clone();
            fields.extend(found);
            sink(&TextRow { file, line, fields })?;
        } else if let Some(found) = groups(&layout.begin, text) {
            if let Some(row) = open.take() {
                sink(&row)?;
            }
            let mut fields = context.clone();
            fields.extend(found);
            open = Some(TextRow { file, line, fields });
        } else if let Some(fields) = groups(&layout.part, text) {
            match &mut open {
                Some(row) => row.fields.extend(fields),
                None if layout.begin.is_empty() => open = Some(TextRow { file, line, fields }),
                None => {}
            }
        }
    }
    if !is_complete {
        return Err(file.wrong("it is incomplete: the last line of a complete file is missing"));
    }
    let Some(mut row) = open else { return Ok(()) };
    if layout.begin.is_empty() {
        // The row is the whole file, and so are the lines after its first one.
        for (name, text) in context {
            row.fields.entry(name).or_insert(text);
        }
    }
    sink(&row)
}

/// Why a file is refused whose last number may have lost digits.
const CUT: &str = "the file ends within this line, and may be cut off: end the line if it is complete";

fn is_row(layout: &TextLayout, line: &str) -> bool {
    [&layout.row, &layout.begin, &layout.part].into_iter().flatten().any(|pattern| pattern.0.is_match(line))
}

/// The named groups of the first expression that matches a line.
fn groups<'a>(patterns: &[Pattern], line: &'a str) -> Option<HashMap<String, &'a str>> {
    let (pattern, found) = patterns.iter().find_map(|pattern| Some((pattern, pattern.0.captures(line)?)))?;
    let names = pattern.0.capture_names().flatten();
    let named = names.filter_map(|name| Some((name, found.name(name)?.as_str())));
    let mut fields: HashMap<String, &str> = named.map(|(name, text)| (name.to_owned(), text)).collect();
    if let (Some(key), Some(value)) = (fields.get("key").copied(), fields.get("value").copied()) {
        fields.insert(key.trim().to_owned(), value);
    }
    Some(fields)
}
