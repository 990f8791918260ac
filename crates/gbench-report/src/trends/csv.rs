//! A line for each figure, for spreadsheets. Values are in the series' unit; the columns stay in this order for as long as the schema is v1.

use std::io;

use crate::layout::csv::{Column, Line, number, optional, text, write};
use crate::layout::escape::csv as cell;
use crate::layout::names::CaseNames;
use gbench_compare::trend::{TrendsDocument, V1Point, V1Series, V1TrendRun};

struct Figure<'d> {
    series: &'d V1Series,
    run: &'d V1TrendRun,
    point: &'d V1Point,
    at: u32,
}

fn columns<'a>() -> [Column<'a, Figure<'a>>; 13] {
    [
        ("metric", |line| cell(&line.of.series.metric)),
        ("unit", |line| cell(&line.of.series.unit)),
        ("branch", |line| cell(&line.of.series.branch)),
        ("label", |line| cell(&line.of.series.label)),
        ("run", |line| cell(line.of.run.run_id.as_str())),
        ("started", |line| cell(&line.of.run.started)),
        ("commit", |line| cell(&line.of.run.commit)),
        ("value", |line| number(line.of.point.value)),
        ("low", |line| optional(line.of.point.low)),
        ("high", |line| optional(line.of.point.high)),
        ("break", |line| {
            let breaks = &line.of.series.breaks;
            let here = breaks.binary_search_by_key(&line.of.at, |it| it.at).ok().map(|at| &breaks[at]);
            let fields =
                here.map(|it| it.fields.iter().map(|field| field.field.as_str()).collect::<Vec<_>>());
            cell(&fields.unwrap_or_default().join(" "))
        }),
        ("change", |line| {
            optional(line.of.series.changes.iter().find(|it| it.at == line.of.at).map(|it| it.change))
        }),
        ("conclusion", |line| text(line.of.run.conclusion.as_deref().map(cell))),
    ]
}

pub(super) fn render(document: &TrendsDocument, out: &mut dyn io::Write) -> io::Result<()> {
    let names = CaseNames::new(document.series.iter().map(|series| &series.case));
    let named: Vec<String> = document.series.iter().map(|series| names.name(&series.case)).collect();
    let lines = document.series.iter().zip(&named).flat_map(|(series, name)| {
        series.points.iter().enumerate().filter_map(move |(at, point)| {
            let run = document.runs.get(point.run as usize)?;
            let of = Figure { series, run, point, at: at as u32 };
            Some(Line { source: "", case: &series.case, name, of })
        })
    });
    write(None, &columns(), lines, out)
}
