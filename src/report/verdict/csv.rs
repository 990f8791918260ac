//! A verdict as a table for spreadsheets: RFC 4180, one line a row of the document, the columns below in this
//! order for as long as the verdict's schema is v2; v1 ended with `next`. Numbers are exact and unscaled, in the metric's unit;
//! absent ones are empty. A text that would read as a formula has an apostrophe in front (see `escape`).

use std::io;

use super::view::{RowView, VerdictView};
use crate::compare::{Change, RowSide, Sequence};
use crate::report::layout::csv::{case_cells, number, optional, writer};
use crate::report::layout::escape::csv as cell;

const COLUMNS: [&str; 40] = [
    "suite",
    "benchmark",
    "variant",
    "params",
    "timing",
    "thermal",
    "device",
    "case",
    "metric",
    "unit",
    "better",
    "verdict",
    "base_outcome",
    "base_centre",
    "base_spread",
    "base_processes",
    "base_samples",
    "head_outcome",
    "head_centre",
    "head_spread",
    "head_processes",
    "head_samples",
    "ratio",
    "slowdown",
    "slowdown_low",
    "slowdown_high",
    "confidence",
    "adjusted_p",
    "threshold",
    "reason",
    "next",
    "rounds",
    "round_noise",
    "min_effect",
    "at_least",
    "detectable",
    "log10_e_worse",
    "log10_e_better",
    "log10_e_needed",
    "more_rounds",
];

/// Writes the header and one line a row, in the document's order.
pub(in crate::report) fn render(view: &VerdictView, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let mut writer = writer(out);
    writer.write_record(COLUMNS)?;
    rows(view, None, &mut writer)?;
    writer.flush()
}

/// As [`render`] for several machines: their label is the first column.
pub(in crate::report) fn render_labelled<'d>(
    views: impl IntoIterator<Item = (&'d str, &'d VerdictView<'d>)>,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let mut writer = writer(out);
    writer.write_record(std::iter::once("label").chain(COLUMNS))?;
    for (label, view) in views {
        rows(view, Some(label), &mut writer)?;
    }
    writer.flush()
}

fn rows<W: io::Write>(
    view: &VerdictView,
    label: Option<&str>,
    writer: &mut ::csv::Writer<W>,
) -> io::Result<()> {
    let mut lines: Vec<&RowView> = view.groups.iter().flat_map(|group| &group.lines).collect();
    lines.extend(&view.unchanged);
    for line in lines {
        let row = line.row;
        let mut cells: Vec<String> = label.map(cell).into_iter().collect();
        cells.extend(case_cells(&row.case, &line.name));
        cells.extend([
            cell(&row.metric),
            cell(&row.unit),
            row.better.map_or(String::new(), |better| better.into_str().to_owned()),
            row.verdict.into_str().to_owned(),
        ]);
        cells.extend(side(row.base.as_ref()));
        cells.extend(side(row.head.as_ref()));
        let change = row.change.as_ref();
        let of = |part: fn(&Change) -> f64| optional(change.map(part));
        cells.extend([
            of(|change| change.ratio),
            of(|change| change.slowdown),
            of(|change| change.low),
            of(|change| change.high),
            of(|change| change.confidence),
            optional(change.and_then(|change| change.adjusted_p)),
            number(row.threshold),
            cell(&row.reason),
            cell(&row.next),
        ]);
        cells.extend(sequence(row.sequence.as_ref(), change.and_then(|change| change.detectable)));
        writer.write_record(&cells)?;
    }
    Ok(())
}

fn side(side: Option<&RowSide>) -> [String; 5] {
    let Some(side) = side else { return Default::default() };
    [
        side.outcome.into_str().to_owned(),
        optional(side.centre),
        optional(side.spread),
        side.processes.to_string(),
        side.samples.to_string(),
    ]
}

/// The columns `rounds` to `more_rounds`; empty but for the detectable effect where no rounds decided.
fn sequence(sequence: Option<&Sequence>, detectable: Option<f64>) -> [String; 9] {
    let whole = |count: Option<u32>| count.map_or(String::new(), |count| count.to_string());
    let of = |part: fn(&Sequence) -> f64| optional(sequence.map(part));
    [
        whole(sequence.map(|sequence| sequence.rounds)),
        of(|sequence| sequence.noise),
        of(|sequence| sequence.min_effect),
        optional(sequence.and_then(|sequence| sequence.at_least)),
        optional(detectable),
        of(|sequence| sequence.log10_worse),
        of(|sequence| sequence.log10_better),
        of(|sequence| sequence.log10_needed),
        whole(sequence.and_then(|sequence| sequence.more_rounds)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::test_support as documents;

    fn text(document: &crate::compare::VerdictDocument) -> String {
        let mut out = Vec::new();
        render(&VerdictView::new(document), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_columns_are_stable() {
        insta::assert_snapshot!("failed_and_missing", text(&documents::failed_and_missing()));
        insta::assert_snapshot!("one_regressed", text(&documents::one_regressed()));
    }

    #[test]
    fn every_line_has_every_column_and_no_cell_is_a_formula() {
        for (name, document) in documents::all() {
            let text = text(&document);
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            assert_eq!(reader.headers().unwrap().len(), COLUMNS.len());
            let records: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
            assert_eq!(records.len(), document.rows.len(), "{name}");
            for cell in records.iter().flatten() {
                assert!(cell.parse::<f64>().is_ok() || !cell.starts_with(['=', '+', '-', '@']), "{cell}");
            }
        }
    }

    #[test]
    fn numbers_read_back_exactly() {
        for value in [0.1 + 0.2, 1e300, -1.5e-320, 3.0] {
            assert_eq!(number(value).parse::<f64>().unwrap(), value);
        }
    }
}
