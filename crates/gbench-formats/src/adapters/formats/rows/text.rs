//! Finds the rows of a text in its lines.

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
    fields: LineFields<'a>,
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
        let mut names: Vec<String> = self.fields.0.iter().map(|(name, _)| (*name).to_owned()).collect();
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
    layout: &'a TextLayout,
    sink: Sink,
) -> Result<Unread, ReadError> {
    let mut context = LineFields::default();
    // Without a line that begins one, the whole file is a row.
    let mut open: Option<TextRow> = None;
    let mut matrix = Matrix::default();
    let (mut unread, mut row_before) = (Unread::default(), None);
    let mut is_complete = layout.last.is_none();
    let failed =
        lines(text).find(|(_, line, _)| layout.failed.iter().any(|pattern| pattern.0.is_match(line)));
    let failed = failed.map(|(_, line, _)| line.trim());
    for (line, text, is_ended) in lines(text) {
        // A line without an end may have lost a part.
        if !is_ended && layout.reads(text) {
            return Err(file.line(line, CUT));
        }
        let looked_like: Option<&str> = std::mem::take(&mut row_before);
        if let Some(last) = &layout.last {
            // Another run may follow the last line of one.
            is_complete = last.0.is_match(text) || is_complete && !layout.has_fields(text);
        }
        if let Some(found) = groups(&layout.row, text, false) {
            row_before = Some(text);
            let cells = found.get("cells");
            let fields = row_fields(file, line, &context, found)?;
            let Some(cells) = cells else {
                sink(&TextRow { file, line, fields, failed })?;
                continue;
            };
            for (column, cell) in matrix.row(file, line, cells)? {
                let mut fields = fields.clone();
                fields.set("column", column);
                fields.set("cell", cell);
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
                    for (name, text) in fields.0 {
                        let known = row.fields.keep(name, text);
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
            fields.0.into_iter().for_each(|(name, text)| context.set(name, text));
        } else if looked_like.is_some_and(|row| words(row) == words(text))
            && text.contains(|c: char| c.is_ascii_digit())
        {
            // As many words as the row before it.
            if !layout.ignored.iter().any(|pattern| pattern.0.is_match(text)) {
                unread.line(UnreadKind::Line, line, text);
            }
            row_before = looked_like;
        }
    }
    matrix.ended(file)?;
    if !is_complete {
        return Err(file.wrong("it is incomplete: the last line of a complete file is missing"));
    }
    let Some(mut row) = open else { return Ok(unread) };
    if layout.begin.is_empty() {
        // The row is the whole file, and so are the lines after its first one.
        for (name, text) in context.0 {
            row.fields.keep(name, text);
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

/// The texts of fields: a row has few.
#[derive(Clone, Default)]
struct LineFields<'a>(Vec<(&'a str, &'a str)>);

impl<'a> LineFields<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    fn set(&mut self, name: &'a str, text: &'a str) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = text,
            None => self.0.push((name, text)),
        }
    }

    /// The text of a field, which is this one unless it has another.
    fn keep(&mut self, name: &'a str, text: &'a str) -> &'a str {
        self.get(name).unwrap_or_else(|| {
            self.0.push((name, text));
            text
        })
    }
}

/// The fields of a row, with those of its heading. Errors: it has more values than the heading has names, or fewer.
fn row_fields<'a>(
    file: &ResultFile,
    line: usize,
    context: &LineFields<'a>,
    found: LineFields<'a>,
) -> Result<LineFields<'a>, ReadError> {
    let mut fields = found;
    if let (Some(names), Some(values)) = (context.get("names"), fields.get("values")) {
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        let values: Vec<&str> = values.split(',').map(str::trim).collect();
        if names.len() != values.len() {
            let (found, wanted) = (values.len(), names.len());
            return Err(file.line(line, format!("it has {found} values, and the heading names {wanted}")));
        }
        names.into_iter().zip(values).for_each(|(name, value)| _ = fields.keep(name, value));
    }
    context.0.iter().for_each(|(name, text)| _ = fields.keep(name, text));
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
fn groups<'a>(patterns: &'a [LinePattern], line: &'a str, whole: bool) -> Option<LineFields<'a>> {
    let mut fields = LineFields::default();
    let mut is_match = false;
    for pattern in patterns {
        let Some(found) = pattern.0.captures(line) else { continue };
        is_match = true;
        for (group, name) in pattern.0.capture_names().enumerate() {
            let Some(name) = name else { continue };
            match found.get(group) {
                Some(found) => fields.set(name, found.as_str()),
                None if whole => _ = fields.keep(name, ""),
                None => {}
            }
        }
    }
    if let (Some(key), Some(value)) = (fields.get("key"), fields.get("value")) {
        fields.set(key.trim(), value);
    }
    is_match.then_some(fields)
}
