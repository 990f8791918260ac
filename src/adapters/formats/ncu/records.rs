//! Records and numbers of Nsight Compute's CSV.

use super::super::format::ResultFile;
use super::super::table::{lines, number};
use crate::adapters::ReadError;

/// The first columns.
pub(super) const HEADER: &str = "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",";

pub(super) fn is_header(line: &str) -> bool {
    line.starts_with(HEADER) && line.contains("\"Kernel Name\"")
}

pub(super) struct Record {
    /// In the file, from 1.
    pub line: usize,
    pub cells: Vec<String>,
}

impl Record {
    pub fn cell(&self, column: Option<usize>) -> &str {
        column.and_then(|column| self.cells.get(column)).map_or("", String::as_str)
    }
}

/// The records of the table with its header, without the lines between them. A text in quotes may go over several lines.
pub(super) fn records(file: &ResultFile, text: &str) -> Result<Vec<Record>, ReadError> {
    let mut records = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (at, line, is_whole) in lines(text) {
        let is_row = line.starts_with('"') && (!records.is_empty() || is_header(line));
        let (first, record) = match open.take() {
            Some((first, before)) => (first, format!("{before}\n{line}")),
            None if is_row => (at, line.to_owned()),
            None => continue,
        };
        if !is_whole {
            return Err(file.line(at, "it breaks off here"));
        }
        if record.matches('"').count() % 2 == 1 {
            open = Some((first, record));
            continue;
        }
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(record.as_bytes());
        let parsed = reader.records().next().and_then(Result::ok);
        let cells = parsed.ok_or_else(|| file.line(first, "it cannot be read as comma-separated values"))?;
        records
            .push(Record { line: first, cells: cells.iter().map(|cell| cell.trim().to_owned()).collect() });
    }
    match open {
        Some((first, _)) => Err(file.line(first, "a text in quotes begins here and does not end")),
        None => Ok(records),
    }
}

pub(super) enum Figure {
    Number(f64),
    /// A number with a comma that parts no thousands.
    Comma,
    Text,
    /// `ncu` has none.
    None,
}

impl Figure {
    pub fn of(text: &str) -> Self {
        let is_all = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if ["", "n/a", "nan", "(!) n/a", "(!) nan"].contains(&text) {
            return Self::None;
        }
        if !text.contains(',') {
            return number(text).filter(|value| value.is_finite()).map_or(Self::Text, Self::Number);
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit() || b",.-".contains(&byte)) {
            return Self::Text;
        }
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let mut groups = whole.trim_start_matches('-').split(',');
        let first = groups.next().unwrap_or_default();
        let is_grouped =
            is_all(first) && first.len() <= 3 && groups.all(|group| is_all(group) && group.len() == 3);
        match text.replace(',', "").parse() {
            Ok(value) if is_grouped && is_all(decimals) => Self::Number(value),
            _ => Self::Comma,
        }
    }

    pub fn refuse_comma(&self, file: &ResultFile, record: &Record) -> Result<(), ReadError> {
        let what =
            "it has decimals behind a comma, so that a point may part thousands: run `ncu` with LC_ALL=C";
        if matches!(self, Self::Comma) { Err(file.line(record.line, what)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_behind_a_comma_are_thousands_and_others_decimals() {
        for (text, value) in [("12.5", 12.5), ("1,024.50", 1024.5), ("2,848", 2848.0), ("-1,000,000", -1e6)] {
            assert!(matches!(Figure::of(text), Figure::Number(found) if found == value), "{text}");
        }
        assert!(
            ["23,59", "1.024,50", "1234,567", "1,,000"]
                .into_iter()
                .all(|text| matches!(Figure::of(text), Figure::Comma))
        );
        assert!(
            ["PolicySpread", "inf", "a,b"].into_iter().all(|text| matches!(Figure::of(text), Figure::Text))
        );
        assert!(["", "n/a", "nan"].into_iter().all(|text| matches!(Figure::of(text), Figure::None)));
    }
}
