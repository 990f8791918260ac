//! Tables for spreadsheets (RFC 4180). Numbers are exact and unscaled; absent ones are empty. A text that would be a
//! formula begins with an apostrophe (see `escape`).

use std::io;

use super::escape::csv as cell;
use gbench_model::CaseId;

pub(crate) struct Line<'a, T> {
    /// The run or the machine.
    pub source: &'a str,
    pub case: &'a CaseId,
    pub name: &'a str,
    pub of: T,
}

/// A column's name, and its cell in a line.
pub(crate) type Column<'a, T> = (&'static str, fn(&Line<'a, T>) -> String);

/// Writes the header and the lines. The column `source`, if named, comes first, then eight columns for the case, then
/// `columns`. Errors: those of `out`.
pub(crate) fn write<'a, T>(
    source: Option<&'static str>,
    columns: &[Column<'a, T>],
    lines: impl IntoIterator<Item = Line<'a, T>>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let source = source.map(|name| -> Column<'a, T> { (name, |line| cell(line.source)) });
    let columns: Vec<_> = source.into_iter().chain(case_columns()).chain(columns.iter().copied()).collect();
    let cells = |line| columns.iter().map(|(_, cell)| cell(&line)).collect::<Vec<_>>();
    self::lines(columns.iter().map(|(name, _)| *name), lines.into_iter().map(cells), out)
}

/// Writes a header and lines of escaped cells. Errors: those of `out`.
pub(crate) fn lines<'n>(
    header: impl Iterator<Item = &'n str>,
    lines: impl Iterator<Item = Vec<String>>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    // RFC 4180 requires CRLF.
    let mut writer = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(out);
    writer.write_record(header)?;
    for cells in lines {
        writer.write_record(cells)?;
    }
    writer.flush()
}

fn case_columns<'a, T>() -> [Column<'a, T>; 8] {
    [
        ("suite", |line| cell(line.case.benchmark.suite())),
        ("benchmark", |line| cell(line.case.benchmark.name())),
        ("variant", |line| text(line.case.variant.map(|variant| variant.into_str()))),
        ("params", |line| cell(&params(line.case))),
        ("timing", |line| line.case.timing.into_str().to_owned()),
        ("thermal", |line| line.case.thermal.into_str().to_owned()),
        ("device", |line| cell(&line.case.device)),
        ("case", |line| cell(line.name)),
    ]
}

pub(crate) fn params(case: &CaseId) -> String {
    case.params.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
}

/// The shortest text that reads back as the same number.
pub(crate) fn number(value: f64) -> String {
    format!("{value:?}")
}

pub(crate) fn optional(value: Option<f64>) -> String {
    value.map_or(String::new(), number)
}

/// A trusted word or a count.
pub(crate) fn text(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
