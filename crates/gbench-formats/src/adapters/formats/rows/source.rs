//! Finds the rows of a file in JSON or in a table. `text` finds those in the lines of a text.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::fmt;

use memchr::memmem;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::Map;
use serde_json_path::{JsonPath, LocatedNode, PathElement};

use super::field::{FieldPath, FieldPlace, FieldValue, names_of, nested, of_object};
use crate::adapters::formats::interface::format::ResultFile;
use crate::adapters::formats::readers::table::{CsvReader, CsvRow, lines, number};
use crate::adapters::interface::output::ReadError;
use crate::adapters::readers::loose_json::readable;

/// A row of a file, as its place and its fields.
pub(super) trait SourceRow {
    /// `None`: it has no such field, or nothing is in it.
    fn cell(&self, field: &FieldPath) -> Option<FieldValue<'_>>;

    /// Why a field that the row has is without a value; `None`: it has none of this name, or it has a value.
    fn blank(&self, field: &FieldPath) -> Option<String>;

    /// The names of its fields, in its order.
    fn names(&self) -> Vec<String>;

    fn wrong(&self, what: String) -> ReadError;

    fn text(&self, field: &FieldPath) -> Option<Cow<'_, str>> {
        self.cell(field).map(FieldValue::into_text)
    }

    /// The fields with a number that are not known, without those in objects or lists.
    fn other_numbers(&self, _is_known: &dyn Fn(&str) -> bool) -> Vec<&str> {
        Vec::new()
    }

    fn object(&self) -> Option<&Map<String, Value>> {
        None
    }

    /// Why every row of the file has failed.
    fn failed(&self) -> Option<&str> {
        None
    }

    /// The number of its document, if that is a list of rows.
    fn list(&self) -> Option<usize> {
        None
    }
}

/// The receiver of each row.
pub(super) type Sink<'s> = &'s mut dyn FnMut(&dyn SourceRow) -> Result<(), ReadError>;

struct JsonRow<'a> {
    file: &'a ResultFile<'a>,
    /// The numbers of the document and of the row in it, from 1.
    place: (usize, usize),
    is_listed: bool,
    node: Node<'a>,
}

impl SourceRow for JsonRow<'_> {
    fn cell(&self, field: &FieldPath) -> Option<FieldValue<'_>> {
        match &field.place {
            FieldPlace::Document(outer) => match outer.place {
                // A path may look at every row.
                FieldPlace::Path(_) => {
                    let found = self.node.found.iter().find(|(text, _)| *text == outer.text)?;
                    Some(FieldValue::Json(found.1))
                }
                _ => of_object(self.node.whole?, outer),
            },
            FieldPlace::Around(level, outer) => of_object(self.node.around.get(level - 1)?, outer),
            FieldPlace::Own(level) => FieldValue::of_text(self.node.own.get(*level)?),
            FieldPlace::Named { .. } | FieldPlace::Path(_) => of_object(self.node.row, field),
        }
    }

    fn blank(&self, field: &FieldPath) -> Option<String> {
        nested(self.node.row, &field.text)?.is_null().then(|| format!("`{}` is null", field.text))
    }

    fn names(&self) -> Vec<String> {
        names_of(self.node.row)
    }

    fn wrong(&self, what: String) -> ReadError {
        self.file.at(format!("document {}, row {}", self.place.0, self.place.1), what)
    }

    fn object(&self) -> Option<&Map<String, Value>> {
        self.node.row.as_object()
    }

    fn list(&self) -> Option<usize> {
        self.is_listed.then_some(self.place.0)
    }

    fn other_numbers(&self, is_known: &dyn Fn(&str) -> bool) -> Vec<&str> {
        let entries = self.node.row.as_object().into_iter().flatten();
        let others = entries.filter(|(name, value)| value.is_number() && !is_known(name));
        others.map(|(name, _)| name.as_str()).collect()
    }
}

/// An object in a list of a row.
pub(super) struct ListedObject<'a> {
    pub row: &'a dyn SourceRow,
    pub object: &'a Value,
}

impl SourceRow for ListedObject<'_> {
    fn cell(&self, field: &FieldPath) -> Option<FieldValue<'_>> {
        of_object(self.object, field).or_else(|| self.row.cell(field))
    }

    fn blank(&self, field: &FieldPath) -> Option<String> {
        self.object.get(&field.text)?.is_null().then(|| format!("`{}` is null", field.text))
    }

    fn names(&self) -> Vec<String> {
        names_of(self.object)
    }

    fn wrong(&self, what: String) -> ReadError {
        self.row.wrong(what)
    }
}

/// The rows of one or several documents, as in JSON lines. `path`: `None` for the elements of a list, else the document
/// itself. `outward`: the fields that leave their row.
pub(super) fn json(
    file: &ResultFile,
    path: Option<&JsonPath>,
    outward: &[FieldPath],
    sink: Sink,
) -> Result<(), ReadError> {
    let text = readable(file.bytes);
    let wrong = |error: serde_json::Error| {
        let words = error.to_string();
        let what = words.rsplit_once(" at line ").map_or(words.as_str(), |(what, _)| what);
        let what = if error.is_eof() { "the last document is incomplete" } else { what };
        file.line(error.line().max(1), format!("it cannot be read as JSON: {what}"))
    };
    let is_one_list = text.trim_ascii_start().starts_with(b"[") && memmem::find(&text, b"]\n[").is_none();
    if path.is_none() && outward.is_empty() && is_one_list {
        let (failed, count) = (RefCell::default(), RefCell::new(0));
        let each = RefCell::new(&mut *sink);
        let streamed = |value: &Value| {
            *count.borrow_mut() += 1;
            let row =
                JsonRow { file, place: (1, *count.borrow()), is_listed: true, node: Node::alone(value) };
            (each.borrow_mut())(&row).map_err(|error| _ = failed.replace(Some(error)))
        };
        let mut reader = serde_json::Deserializer::from_slice(&text);
        let read = Elements { each: &streamed }.deserialize(&mut reader).and_then(|()| reader.end());
        return failed.take().map_or_else(|| read.map_err(wrong), Err);
    }
    let documents = serde_json::Deserializer::from_slice(&text).into_iter::<Value>();
    for (index, document) in documents.enumerate() {
        let (document, mut count) = (document.map_err(wrong)?, 0);
        each_node(&document, path, outward, &mut |node| {
            count += 1;
            sink(&JsonRow { file, place: (index + 1, count), is_listed: document.is_array(), node })
        })?;
    }
    Ok(())
}

/// A row in its document.
struct Node<'a> {
    row: &'a Value,
    whole: Option<&'a Value>,
    /// The values in the document that paths lead to.
    found: &'a [(&'a str, &'a Value)],
    /// The keys from the row outwards, if a field leaves the row.
    own: Vec<Cow<'a, str>>,
    /// The objects and lists that contain the row, from the inside outwards.
    around: Vec<&'a Value>,
}

impl<'a> Node<'a> {
    fn alone(row: &'a Value) -> Self {
        Self { row, whole: None, found: &[], own: Vec::new(), around: Vec::new() }
    }

    fn located(document: &'a Value, found: &'a [(&'a str, &'a Value)], node: &LocatedNode<'a>) -> Self {
        let mut around = vec![document];
        let mut own = Vec::new();
        for element in node.location().iter() {
            let (key, next) = match element {
                PathElement::Name(name) => {
                    (Cow::Owned((*name).to_owned()), around.last().and_then(|value| value.get(*name)))
                }
                PathElement::Index(index) => {
                    (Cow::Owned(index.to_string()), around.last().and_then(|value| value.get(*index)))
                }
            };
            own.push(key);
            around.extend(next);
        }
        // The last one is the row itself.
        around.pop();
        own.reverse();
        around.reverse();
        Self { row: node.node(), whole: Some(document), found, own, around }
    }
}

type EachNode<'f> = &'f mut dyn FnMut(Node<'_>) -> Result<(), ReadError>;

fn each_node(
    document: &Value,
    path: Option<&JsonPath>,
    outward: &[FieldPath],
    each: EachNode,
) -> Result<(), ReadError> {
    let every = document.is_array().then(|| JsonPath::parse("$[*]").ok()).flatten();
    let found: Vec<(&str, &Value)> = outward.iter().filter_map(|field| at_path(field, document)).collect();
    match path.or(every.as_ref()) {
        Some(path) if !outward.is_empty() => path
            .query_located(document)
            .iter()
            .try_for_each(|node| each(Node::located(document, &found, node))),
        Some(path) => path.query(document).iter().try_for_each(|row| each(Node::alone(row))),
        None => each(Node { whole: Some(document), found: &found, ..Node::alone(document) }),
    }
}

/// The value of a path in the document, by the text of the path.
fn at_path<'a>(field: &'a FieldPath, document: &'a Value) -> Option<(&'a str, &'a Value)> {
    let FieldPlace::Document(inner) = &field.place else { return None };
    let FieldPlace::Path(path) = &inner.place else { return None };
    let value = path.query(document).exactly_one().ok()?;
    (!value.is_null()).then_some((inner.text.as_str(), value))
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

/// Lines in which the header of a table is looked for.
const MAX_BEFORE: usize = 200;

struct TableRow<'a> {
    header: &'a [String],
    file: &'a ResultFile<'a>,
    row: &'a CsvRow,
    /// The columns that are not known, once a row has asked for them.
    others: &'a OnceCell<Vec<usize>>,
}

impl TableRow<'_> {
    fn own(&self, field: &FieldPath) -> Option<&str> {
        let column = self.header.iter().position(|name| *name == field.text)?;
        Some(self.row.cell(column))
    }
}

impl SourceRow for TableRow<'_> {
    fn cell(&self, field: &FieldPath) -> Option<FieldValue<'_>> {
        if let Some(cell) = self.own(field) {
            return FieldValue::of_text(cell);
        }
        let FieldPlace::Named { minus: Some(pair), .. } = &field.place else { return None };
        Some(FieldValue::Number(self.cell(&pair.0)?.minus(&self.cell(&pair.1)?)?))
    }

    fn blank(&self, field: &FieldPath) -> Option<String> {
        self.own(field)?
            .is_empty()
            .then(|| format!("the cell of `{}` in line {} is empty", field.text, self.row.line))
    }

    fn names(&self) -> Vec<String> {
        self.header.to_vec()
    }

    fn other_numbers(&self, is_known: &dyn Fn(&str) -> bool) -> Vec<&str> {
        let is_other = |column: &usize| !is_known(&self.header[*column]);
        let others = self.others.get_or_init(|| (0..self.header.len()).filter(is_other).collect());
        let others = others.iter().filter(|column| number(self.row.cell(**column)).is_some());
        others.map(|column| self.header[*column].as_str()).collect()
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

/// The columns that a description names.
pub(super) struct TableColumns<'a> {
    pub needed: Vec<FieldPath>,
    pub is_read: &'a dyn Fn(&str) -> bool,
    /// As in `Described::short`.
    pub short: Option<usize>,
}

/// The rows of a table. Errors: a column is missing.
pub(super) fn table(
    file: &ResultFile,
    text: &str,
    columns: &TableColumns,
    sink: Sink,
) -> Result<(), ReadError> {
    let missing = |header: &str, delimiter: u8| {
        let cells = header_cells(header, delimiter);
        columns.needed.iter().filter(|field| !cells.contains(&field.text.as_str())).count()
    };
    // Lines of a log may precede the header.
    let mut starts = lines(text).take(MAX_BEFORE).filter(|(_, line, _)| !line.trim().is_empty());
    let found = starts.find_map(|(at, line, _)| {
        let delimiter = DELIMITERS.into_iter().find(|delimiter| missing(line, *delimiter) == 0)?;
        Some((at, line.as_ptr() as usize - text.as_ptr() as usize, delimiter))
    });
    let header = file.first_line();
    let closest =
        || DELIMITERS.into_iter().min_by_key(|delimiter| missing(&header, *delimiter)).unwrap_or(b',');
    let (first_line, begin, delimiter) = found.unwrap_or_else(|| (1, 0, closest()));
    table_by(file, &text[begin..], first_line, delimiter, columns, sink)
}

/// The same with a known separator, in the text from a line of the file on.
pub(super) fn table_by(
    file: &ResultFile,
    text: &str,
    first_line: usize,
    delimiter: u8,
    columns: &TableColumns,
    sink: Sink,
) -> Result<(), ReadError> {
    let is_ended = text.ends_with('\n');
    // A quote, or the border of a table, closes the last cell.
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    let is_quoted = last_line.ends_with('"') && last_line.matches('"').count().is_multiple_of(2);
    let is_closed = is_quoted || delimiter == b'|' && last_line.trim_end().ends_with('|');
    // Every cell of a line of Markdown, or of a table of blanks, is between separators.
    let text = match delimiter {
        b'|' => Cow::Owned(lines(text).map(|(_, line, _)| markdown_line(line)).collect::<String>()),
        b' ' => Cow::Owned(lines(text).map(|(_, line, _)| blanks_line(line)).collect()),
        _ => Cow::Borrowed(text),
    };
    let mut table = CsvReader::open(*file, &text, first_line, delimiter)?;
    for FieldPath { text: name, .. } in &columns.needed {
        if !table.header.contains(name) {
            return Err(file.wrong(format!("it has no column `{name}`")));
        }
    }
    let (mut row, others) = (CsvRow::default(), OnceCell::new());
    let is_read = table.header.last().is_some_and(|name| (columns.is_read)(name));
    let mut last_cells = LastCells::default();
    while table.next(&mut row, columns.short)? {
        let cell = row.cells.last().map_or("", String::as_str);
        let is_whole =
            row.cells.len() == table.header.len() && (!is_read || is_closed || last_cells.are_as(cell));
        if !is_ended && table.is_at_end() && !is_whole {
            return Err(file.line(row.line, CUT));
        }
        last_cells.add(cell);
        sink(&TableRow { header: &table.header, file, row: &row, others: &others })?;
    }
    Ok(())
}

/// The last cells of the rows: a number with as many decimals as all others was not cut off.
#[derive(Default)]
struct LastCells {
    count: usize,
    /// `None`: they differ, or are not plain numbers.
    decimals: Option<usize>,
}

impl LastCells {
    const FEWEST: usize = 2;

    fn decimals(cell: &str) -> Option<usize> {
        let (_, decimals) = cell.split_once('.').filter(|_| number(cell).is_some())?;
        decimals
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(decimals.len())
            .filter(|count| *count > 0)
    }

    fn add(&mut self, cell: &str) {
        let decimals = Self::decimals(cell);
        self.decimals = decimals.filter(|_| self.count == 0 || self.decimals == decimals);
        self.count += 1;
    }

    fn are_as(&self, cell: &str) -> bool {
        self.count >= Self::FEWEST && self.decimals.is_some() && self.decimals == Self::decimals(cell)
    }
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

/// A row with fields that are parts of others.
pub(super) struct DerivedRow<'a> {
    pub row: &'a dyn SourceRow,
    pub fields: Vec<(&'a str, String)>,
}

impl SourceRow for DerivedRow<'_> {
    fn cell(&self, field: &FieldPath) -> Option<FieldValue<'_>> {
        match self.fields.iter().find(|(name, _)| *name == field.text) {
            Some((_, text)) => FieldValue::of_text(text),
            None => self.row.cell(field),
        }
    }

    fn blank(&self, field: &FieldPath) -> Option<String> {
        self.row.blank(field)
    }

    fn names(&self) -> Vec<String> {
        self.row.names()
    }

    fn other_numbers(&self, is_known: &dyn Fn(&str) -> bool) -> Vec<&str> {
        self.row.other_numbers(is_known)
    }

    fn wrong(&self, what: String) -> ReadError {
        self.row.wrong(what)
    }

    fn object(&self) -> Option<&Map<String, Value>> {
        self.row.object()
    }

    fn failed(&self) -> Option<&str> {
        self.row.failed()
    }

    fn list(&self) -> Option<usize> {
        self.row.list()
    }
}

/// Why a file is refused whose last number may have lost digits.
pub(super) const CUT: &str =
    "the file ends within this line, and may be cut off: end the line if it is complete";

/// Keys that well-known tools write next to the numbers of a failed run.
pub fn failed_row(entry: &Map<String, Value>) -> Option<String> {
    // Google Benchmark.
    for key in ["error_occurred", "skipped"] {
        if entry.get(key) == Some(&Value::Bool(true)) {
            let message =
                ["error_message", "skip_message"].into_iter().find_map(|key| entry.get(key)?.as_str());
            let message = message.map_or(String::new(), |message| {
                format!(": {}", message.chars().take(200).collect::<String>())
            });
            return Some(format!("`{key}` is true, despite the number{message}"));
        }
    }
    // hyperfine with `--ignore-failure`.
    let codes = entry.get("exit_codes")?.as_array()?;
    let bad = codes.iter().find(|code| code.as_i64() != Some(0))?;
    let bad =
        if bad.is_null() { "ended by a signal".to_owned() } else { format!("ended with exit code {bad}") };
    Some(format!("its `exit_codes` say that the command {bad}"))
}
