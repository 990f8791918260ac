//! A line for each figure, for spreadsheets. Values are in the series' unit; the columns keep their order for as long as
//! the schema is v1.

use std::io;

use super::columns::{Of, TrendColumn, TrendFigure, Values, columns, figures};
use crate::layout::case_names::CaseNames;
use crate::layout::csv::{lines, optional, params};
use crate::layout::escape::csv as cell;
use gbench_compare::trend::TrendsDocument;

pub(super) fn render(document: &TrendsDocument, out: &mut dyn io::Write) -> io::Result<()> {
    let columns: Vec<&TrendColumn> = columns(Of::Csv).collect();
    let line = |figure: TrendFigure| {
        let cell = |values: &Values| match values {
            Values::Text(value) => value(&figure).map_or(String::new(), |text| cell(&text)),
            Values::Number(value) => optional(value(&figure)),
            Values::Time(value) => cell(value(&figure)),
            Values::Params => cell(&params(&figure.series.case)),
        };
        columns.iter().map(|(.., values)| cell(values)).collect::<Vec<_>>()
    };
    let cases = CaseNames::new(document.series.iter().map(|series| &series.case));
    let names: Vec<String> = document.series.iter().map(|series| cases.name(&series.case)).collect();
    let figures = figures(&document.runs, document.series.iter().zip(&names));
    lines(columns.iter().map(|(name, ..)| *name), figures.map(line), out)
}
