//! A line for each figure, for spreadsheets. Values are in the series' unit; the columns keep their order for as long as
//! the schema is v1.

use std::io;

use super::columns::{COLUMNS, TrendFigure, Values, figures, names};
use crate::layout::csv::{lines, optional};
use crate::layout::escape::csv as cell;
use gbench_compare::trend::TrendsDocument;

pub(super) fn render(document: &TrendsDocument, out: &mut dyn io::Write) -> io::Result<()> {
    let (last, columns): (Vec<_>, Vec<_>) = COLUMNS.iter().partition(|(name, ..)| *name == "conclusion");
    let columns = columns.into_iter().filter(|(name, ..)| *name != "event").chain(last);
    let columns: Vec<_> = columns.collect();
    let line = |figure: TrendFigure| {
        let cell = |values: &Values| match values {
            Values::Text(value) => value(&figure).map_or(String::new(), |text| cell(&text)),
            Values::Number(value) => optional(value(&figure)),
            Values::Time(value) => cell(value(&figure)),
        };
        columns.iter().map(|(.., values)| cell(values)).collect::<Vec<_>>()
    };
    let names = names(document);
    lines(columns.iter().map(|(name, ..)| *name), figures(document, &names).map(line), out)
}
