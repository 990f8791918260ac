//! The columns of a history for programs. Values are in the series' unit.

use crate::layout::case_names::CaseNames;
use crate::layout::csv::params;
use gbench_compare::trend::{TrendsDocument, V1Point, V1Series, V1TrendRun};

pub(super) struct TrendFigure<'d> {
    name: &'d str,
    series: &'d V1Series,
    run: &'d V1TrendRun,
    point: &'d V1Point,
    at: u32,
}

/// The value of a column in a row; `None` if unknown.
pub(super) enum Values {
    Text(fn(&TrendFigure<'_>) -> Option<String>),
    Number(fn(&TrendFigure<'_>) -> Option<f64>),
    /// RFC 3339.
    Time(for<'f> fn(&'f TrendFigure<'_>) -> &'f str),
}

pub(super) const COLUMNS: [(&str, bool, Values); 22] = [
    ("suite", false, Values::Text(|row| Some(row.series.case.benchmark.suite().to_owned()))),
    ("benchmark", false, Values::Text(|row| Some(row.series.case.benchmark.name().to_owned()))),
    ("variant", true, Values::Text(|row| row.series.case.variant.map(|it| it.into_str().to_owned()))),
    ("params", false, Values::Text(|row| Some(params(&row.series.case)))),
    ("timing", false, Values::Text(|row| Some(row.series.case.timing.into_str().to_owned()))),
    ("thermal", false, Values::Text(|row| Some(row.series.case.thermal.into_str().to_owned()))),
    ("device", false, Values::Text(|row| Some(row.series.case.device.to_string()))),
    ("case", false, Values::Text(|row| Some(row.name.to_owned()))),
    ("metric", false, Values::Text(|row| Some(row.series.metric.clone()))),
    ("unit", false, Values::Text(|row| Some(row.series.unit.clone()))),
    ("branch", false, Values::Text(|row| Some(row.series.branch.clone()))),
    ("label", false, Values::Text(|row| Some(row.series.label.clone()))),
    ("run", false, Values::Text(|row| Some(row.run.run_id.to_string()))),
    ("started", true, Values::Time(|row| &row.run.started)),
    ("commit", false, Values::Text(|row| Some(row.run.commit.clone()))),
    ("event", false, Values::Text(|row| Some(row.run.event.clone()))),
    ("conclusion", true, Values::Text(|row| row.run.conclusion.clone())),
    ("value", false, Values::Number(|row| Some(row.point.value))),
    ("low", true, Values::Number(|row| row.point.low)),
    ("high", true, Values::Number(|row| row.point.high)),
    ("break", true, Values::Text(broken)),
    (
        "change",
        true,
        Values::Number(|row| row.series.changes.iter().find(|it| it.at == row.at).map(|it| it.change)),
    ),
];

/// The facts that differ from the figure before, if the series breaks here.
fn broken(row: &TrendFigure<'_>) -> Option<String> {
    let at = row.series.breaks.binary_search_by_key(&row.at, |it| it.at).ok()?;
    let fields = row.series.breaks[at].fields.iter().map(|field| field.field.as_str());
    Some(fields.collect::<Vec<_>>().join(" "))
}

pub(super) fn names(document: &TrendsDocument) -> Vec<String> {
    let names = CaseNames::new(document.series.iter().map(|series| &series.case));
    document.series.iter().map(|series| names.name(&series.case)).collect()
}

/// Every figure. `names`: of the series' cases.
pub(super) fn figures<'d>(
    document: &'d TrendsDocument,
    names: &'d [String],
) -> impl Iterator<Item = TrendFigure<'d>> {
    document.series.iter().zip(names).flat_map(move |(series, name)| {
        series.points.iter().enumerate().filter_map(move |(at, point)| {
            let run = document.runs.get(point.run as usize)?;
            Some(TrendFigure { name, series, run, point, at: at as u32 })
        })
    })
}
