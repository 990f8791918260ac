//! Finds the rows of a text in its lines.

use std::collections::HashMap;

use super::description::{LinePattern, TextLayout};
use super::field::{FieldPath, FieldPlace, FieldValue};
use super::source::{CUT, Sink, SourceRow};
use crate::adapters::formats::interface::format::ResultFile;
use crate::adapters::formats::readers::table::lines;
use crate::adapters::interface::output::ReadError;
use gbench_model::{Unread, UnreadKind};

struct TextRow<'a> {
    file: &'a ResultFile<'a>,
    line: usize,
    fields: HashMap<String, &'a str>,
    failed: Option<&'a str>,
}

impl SourceRow for TextRow<'_> {
    fn cell(&self, field: &FieldPath) -> Option<FieldValue<'_>> {
        if let Some(text) = self.fields.get(&field.text) {
            return FieldValue::of_text(text.trim());
        }
        let FieldPlace::Named { minus: Some(pair), .. } = &field.place else { return None };
        Some(FieldValue::Number(self.cell(&pair.0)?.minus(&self.cell(&pair.1)?)?))
    }

    fn failed(&self) -> Option<&str> {
        self.failed
    }

    fn blank(&self, field: &FieldPath) -> Option<String> {
        let is_empty = self.fields.get(&field.text)?.trim().is_empty();
        is_empty.then(|| format!("`{}` is empty in line {}", field.text, self.line))
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.fields.keys().cloned().collect();
        names.sort();
        names
    }

    fn wrong(&self, what: String) -> ReadError {
        self.file.line(self.line, what)
    }
}

/// The rows of a text, and the lines that look like rows and are not read. Errors: the last line is missing; two runs are in
/// a file that is one row.
pub(super) fn rows<'a>(
    file: &'a ResultFile<'a>,
    text: &'a str,
    layout: &TextLayout,
    sink: Sink,
) -> Result<Unread, ReadError> {
    let mut context: HashMap<String, &str> = HashMap::new();
    // Without a line that begins one, the whole file is a row.
    let mut open: Option<TextRow> = None;
    let mut matrix = Matrix::default();
    let (mut unread, mut row_words) = (Unread::default(), None);
    let mut is_complete = layout.last.is_none();
    let failed =
        lines(text).find(|(_, line, _)| layout.failed.iter().any(|pattern| pattern.0.is_match(line)));
    let failed = failed.map(|(_, line, _)| line.trim());
    for (line, text, is_ended) in lines(text) {
        // A line without an end may have lost a part.
        if !is_ended && layout.reads(text) {
            return Err(file.line(line, CUT));
        }
        let looked_like = std::mem::take(&mut row_words);
        if let Some(last) = &layout.last {
            // Another run may follow the last line of one.
            is_complete = last.0.is_match(text) || is_complete && !layout.has_fields(text);
        }
        if let Some(found) = groups(&layout.row, text, false) {
            row_words = Some(words(text));
            let cells = found.get("cells").copied();
            let fields = row_fields(file, line, &context, found)?;
            let Some(cells) = cells else {
                sink(&TextRow { file, line, fields, failed })?;
                continue;
            };
            for (column, cell) in matrix.row(file, line, cells)? {
                let own = [("column".to_owned(), column), ("cell".to_owned(), cell)];
                let fields = fields.clone().into_iter().chain(own).collect();
                sink(&TextRow { file, line, fields, failed })?;
            }
        } else if let Some(found) = groups(&layout.begin, text, false) {
            if let Some(row) = open.take() {
                sink(&row)?;
            }
            let fields = row_fields(file, line, &context, found)?;
            open = Some(TextRow { file, line, fields, failed });
        } else if let Some(fields) = groups(&layout.part, text, false) {
            match &mut open {
                Some(row) => {
                    for (name, text) in fields {
                        let known = *row.fields.entry(name.clone()).or_insert(text);
                        let is_pair = name == "key" || name == "value";
                        if layout.begin.is_empty() && known != text && !is_pair {
                            let what = format!(
                                "`{name}` is {text} here, and was {known}: the file has several runs"
                            );
                            return Err(file.line(line, format!("{what}; give each its own file")));
                        }
                    }
                }
                None if layout.begin.is_empty() => open = Some(TextRow { file, line, fields, failed }),
                None => {}
            }
        } else if let Some(fields) = groups(&layout.context, text, true) {
            if let Some(columns) = fields.get("columns") {
                matrix.ended(file)?;
                matrix = Matrix { line, columns: columns.split_whitespace().collect(), rows: 0 };
            }
            context.extend(fields);
        } else if looked_like == Some(words(text)) && text.contains(|c: char| c.is_ascii_digit()) {
            // As many words as the row before it.
            if !layout.ignored.iter().any(|pattern| pattern.0.is_match(text)) {
                unread.line(UnreadKind::Line, line, text);
            }
            row_words = looked_like;
        }
    }
    matrix.ended(file)?;
    if !is_complete {
        return Err(file.wrong("it is incomplete: the last line of a complete file is missing"));
    }
    let Some(mut row) = open else { return Ok(unread) };
    if layout.begin.is_empty() {
        // The row is the whole file, and so are the lines after its first one.
        for (name, text) in context {
            row.fields.entry(name).or_insert(text);
        }
    }
    sink(&row)?;
    Ok(unread)
}

fn words(line: &str) -> usize {
    line.split_ascii_whitespace().count()
}

impl TextLayout {
    fn has_fields(&self, line: &str) -> bool {
        let lists = [&self.row, &self.begin, &self.part];
        lists.into_iter().flatten().any(|pattern| pattern.0.is_match(line))
    }

    /// True if a line has a part of a row, or says why all have failed.
    fn reads(&self, line: &str) -> bool {
        let lists = [&self.row, &self.begin, &self.part, &self.failed];
        lists.into_iter().flatten().any(|pattern| pattern.0.is_match(line))
    }
}

/// The fields of a row, with those of its heading. Errors: it has more values than the heading has names, or fewer.
fn row_fields<'a>(
    file: &ResultFile,
    line: usize,
    context: &HashMap<String, &'a str>,
    found: HashMap<String, &'a str>,
) -> Result<HashMap<String, &'a str>, ReadError> {
    let mut fields = context.clone();
    if let (Some(names), Some(values)) = (context.get("names"), found.get("values")) {
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        let values: Vec<&str> = values.split(',').map(str::trim).collect();
        if names.len() != values.len() {
            let (found, wanted) = (values.len(), names.len());
            return Err(file.line(line, format!("it has {found} values, and the heading names {wanted}")));
        }
        fields.extend(names.into_iter().map(str::to_owned).zip(values));
    }
    fields.extend(found);
    Ok(fields)
}

/// A table of as many rows as columns.
#[derive(Default)]
struct Matrix<'a> {
    /// Of its heading.
    line: usize,
    columns: Vec<&'a str>,
    rows: usize,
}

impl<'a> Matrix<'a> {
    /// The cells of its next row, with their columns. Errors: there are fewer, or more.
    fn row(
        &mut self,
        file: &ResultFile,
        line: usize,
        cells: &'a str,
    ) -> Result<Vec<(&'a str, &'a str)>, ReadError> {
        let cells: Vec<&str> = cells.split_whitespace().collect();
        let (found, wanted) = (cells.len(), self.columns.len());
        if found != wanted {
            return Err(
                file.line(line, format!("it has {found} cells, and the heading names {wanted} columns"))
            );
        }
        self.rows += 1;
        Ok(self.columns.iter().copied().zip(cells).collect())
    }

    /// Errors: rows are missing.
    fn ended(&self, file: &ResultFile) -> Result<(), ReadError> {
        let (rows, columns) = (self.rows, self.columns.len());
        if rows == columns {
            return Ok(());
        }
        Err(file.line(self.line, format!("the table below has {rows} of {columns} rows: it is incomplete")))
    }
}

/// The named groups of all expressions that match a line; `None` if none does. `whole`: also those that take no part, as empty.
fn groups<'a>(patterns: &[LinePattern], line: &'a str, whole: bool) -> Option<HashMap<String, &'a str>> {
    let mut fields: HashMap<String, &str> = HashMap::new();
    let mut is_match = false;
    for pattern in patterns {
        let Some(found) = pattern.0.captures(line) else { continue };
        is_match = true;
        for name in pattern.0.capture_names().flatten() {
            match found.name(name) {
                Some(found) => _ = fields.insert(name.to_owned(), found.as_str()),
                None if whole => _ = fields.entry(name.to_owned()).or_default(),
                None => {}
            }
        }
    }
    if let (Some(key), Some(value)) = (fields.get("key").copied(), fields.get("value").copied()) {
        fields.insert(key.trim().to_owned(), value);
    }
    is_match.then_some(fields)
}
