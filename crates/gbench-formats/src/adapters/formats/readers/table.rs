//! Texts: their lines, numbers in them, and tables with a header.

use crate::adapters::formats::interface::format::ResultFile;
use crate::adapters::interface::output::ReadError;
pub(crate) use gbench_model::profiler_csv::lines;
use gbench_model::{ParamValue, Params};

pub(crate) struct CsvTable<'a> {
    file: ResultFile<'a>,
    pub header: Vec<String>,
    pub rows: Vec<CsvRow>,
}

#[derive(Default)]
pub(crate) struct CsvRow {
    /// In the file, from 1.
    pub line: usize,
    pub cells: Vec<String>,
}

/// The rows of a table one after the other: a file may have a million. Cells are trimmed; empty lines are ignored.
pub(crate) struct CsvReader<'a> {
    file: ResultFile<'a>,
    text: &'a str,
    reader: csv::Reader<&'a [u8]>,
    record: csv::StringRecord,
    first_line: usize,
    lines: Lines<'a>,
    pub header: Vec<String>,
}

impl<'a> CsvReader<'a> {
    /// Reads the header of a part of a file that begins at `first_line` (from 1). Errors: a column that appears twice, no header.
    pub(crate) fn open(
        file: ResultFile<'a>,
        text: &'a str,
        first_line: usize,
        delimiter: u8,
    ) -> Result<Self, ReadError> {
        let reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        let lines = Lines { text, at: 0, line: first_line };
        let (record, header) = (csv::StringRecord::new(), Vec::new());
        let mut table = Self { file, text, reader, record, first_line, lines, header };
        let mut row = CsvRow::default();
        if !table.record(&mut row)? {
            return Err(file.wrong("it has no header"));
        }
        let before = |at: usize| row.cells.iter().take(at);
        let is_twice = |(at, name): &(usize, &String)| before(*at).any(|other| other == *name);
        if let Some((_, twice)) = row.cells.iter().enumerate().find(is_twice) {
            return Err(file.line(row.line, format!("the column `{twice}` appears twice")));
        }
        table.header = row.cells;
        Ok(table)
    }

    /// Reads the next row; `false`: there is none. Errors: it has another length than the header, or than `short`, the length of
    /// rows whose last cells are missing.
    pub(crate) fn next(&mut self, row: &mut CsvRow, short: Option<usize>) -> Result<bool, ReadError> {
        if !self.record(row)? {
            return Ok(false);
        }
        let (found, named) = (row.cells.len(), self.header.len());
        if found != named && short.is_none_or(|short| found != short || found > named) {
            return Err(self
                .file
                .line(row.line, format!("it has {found} cells, and the header names {named}")));
        }
        Ok(true)
    }

    /// True if the last row that was read is the end of the text.
    pub(crate) fn is_at_end(&self) -> bool {
        self.reader.position().byte() as usize >= self.text.len()
    }

    fn record(&mut self, row: &mut CsvRow) -> Result<bool, ReadError> {
        loop {
            let is_read = self.reader.read_record(&mut self.record);
            let mut line = |place: Option<&csv::Position>| {
                place.map_or(self.first_line, |place| self.lines.at(place.byte() as usize))
            };
            match is_read {
                Ok(false) => return Ok(false),
                Ok(true) => row.line = line(self.record.position()),
                Err(error) => {
                    let what = "it cannot be read as comma-separated values";
                    return Err(self.file.line(line(error.position()), what));
                }
            }
            if self.record.iter().any(|cell| !cell.trim().is_empty()) {
                break;
            }
        }
        row.cells.resize_with(self.record.len(), String::new);
        for (cell, text) in row.cells.iter_mut().zip(&self.record) {
            cell.clear();
            cell.push_str(text.trim());
        }
        Ok(true)
    }
}

impl<'a> CsvTable<'a> {
    /// Reads a part of a file, beginning at `first_line` (from 1), as [`CsvReader`] does.
    pub(crate) fn read(
        file: ResultFile<'a>,
        text: &str,
        first_line: usize,
        delimiter: u8,
    ) -> Result<Self, ReadError> {
        let mut reader = CsvReader::open(file, text, first_line, delimiter)?;
        let mut rows = Vec::new();
        let mut row = CsvRow::default();
        while reader.next(&mut row, None)? {
            rows.push(std::mem::take(&mut row));
        }
        Ok(Self { file, header: reader.header, rows })
    }

    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    pub(crate) fn need(&self, name: &str) -> Result<usize, ReadError> {
        self.column(name).ok_or_else(|| self.file.wrong(format!("it has no column `{name}`")))
    }

    /// The number in a cell. Errors: not a number, with line and column.
    pub(crate) fn number(&self, row: &CsvRow, column: usize) -> Result<f64, ReadError> {
        let (cell, name) = (row.cell(column), self.header.get(column).map_or("", String::as_str));
        number(cell)
            .ok_or_else(|| self.file.line(row.line, format!("`{cell}` under `{name}` is not a number")))
    }
}

impl CsvRow {
    pub(crate) fn cell(&self, column: usize) -> &str {
        self.cells.get(column).map_or("", String::as_str)
    }
}

/// Counts lines up to increasing positions.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line of the first byte from here on that is not a line end: the reader ignores empty lines.
    fn at(&mut self, place: usize) -> usize {
        let bytes = self.text.as_bytes();
        let empty = bytes.get(place..).unwrap_or_default().iter().take_while(|byte| b"\r\n".contains(byte));
        let place = (place + empty.count()).max(self.at);
        let passed = bytes.get(self.at..place).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.at = place;
        self.line
    }
}

/// A number and nothing else, with a decimal point; also `nan` and `inf`, which [`crate::adapters::formats::read`]
/// refuses.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    text.starts_with(|c: char| c.is_ascii_digit() || "+-.nNiI".contains(c))
        .then(|| text.parse().ok())
        .flatten()
}

/// Why a cell of a figure has none, as tools leave it for a case that failed: it is empty, or a word such as `OOM`.
pub(crate) fn no_value(cell: &str) -> Option<String> {
    const WORDS: [&str; 14] = [
        "-", "--", "crash", "error", "fail", "failed", "inf", "n/a", "na", "nan", "none", "null", "oom",
        "timeout",
    ];
    let (cell, signs) = (cell.trim(), ['+', '-']);
    let word = cell.trim_start_matches(signs).to_ascii_lowercase();
    let is_word = WORDS.contains(&word.as_str()) || WORDS.contains(&cell);
    match cell {
        "" => Some("it has no value".into()),
        _ => is_word.then(|| format!("it has the word `{cell}` and no value")),
    }
}

/// The value of a cell: a whole number, a number, `true`, `false`, else a text.
pub(crate) fn param(text: &str) -> ParamValue {
    let text = text.trim();
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || "-.".contains(c));
    match text {
        "true" | "True" => ParamValue::Bool(true),
        "false" | "False" => ParamValue::Bool(false),
        _ if !numeric => ParamValue::Text(text.to_owned()),
        // A number with another canonical form, such as `007` or `1e400`, is a name.
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) if whole.to_string() == text => ParamValue::Int(whole),
            // A float has not all of its digits: two seeds would be one.
            (Err(_), _) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                ParamValue::Text(text.to_owned())
            }
            (Err(_), Ok(value)) if value.is_finite() => ParamValue::Float(value),
            _ => ParamValue::Text(text.to_owned()),
        },
    }
}

pub(crate) fn params_of<'a>(cells: impl Iterator<Item = (&'a str, &'a str)>) -> Params {
    cells
        .filter(|(_, cell)| !cell.trim().is_empty())
        .map(|(name, cell)| (name.to_owned(), param(cell)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::interface::output::OutputFiles;

    #[test]
    fn a_table_knows_the_lines_of_its_rows() {
        let none = OutputFiles::default();
        let file = ResultFile { name: "t.csv", bytes: b"", beside: &none };
        let table = CsvTable::read(file, "a, b\n1,2\n\n3,x\n", 5, b',').unwrap();
        assert_eq!((table.rows[1].line, table.need("b").unwrap()), (8, 1));
        assert_eq!(
            table.number(&table.rows[1], 1).unwrap_err().to_string(),
            "t.csv:8: `x` under `b` is not a number"
        );
        let error = |text| CsvTable::read(file, text, 1, b',').err().unwrap().to_string();
        assert_eq!((table.rows[1].cell(0), table.rows[1].cell(7)), ("3", ""));
        assert_eq!(lines("a\r\nb").collect::<Vec<_>>(), [(1, "a", true), (2, "b", false)]);
        assert_eq!(error("a,a\n"), "t.csv:1: the column `a` appears twice");
        assert_eq!(error("a,b\n1\n"), "t.csv:2: it has 1 cells, and the header names 2");
        assert_eq!(error("\n"), "t.csv: it has no header");
    }

    #[test]
    fn a_cell_is_the_value_that_it_is_written_as() {
        assert_eq!((param("8"), param("-0.5")), (ParamValue::Int(8), ParamValue::Float(-0.5)));
        assert_eq!(
            (param("007"), param("fp16")),
            (ParamValue::Text("007".into()), ParamValue::Text("fp16".into()))
        );
        assert_eq!(param("True"), ParamValue::Bool(true));
        let seed = "14771362308971278857";
        assert_eq!(param(seed), ParamValue::Text(seed.into()));
        assert_eq!((number("1,5"), number(""), number("+1e3")), (None, None, Some(1000.0)));
    }
}
