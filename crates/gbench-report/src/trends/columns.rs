//! The columns of a history for programs. Values are in the series' unit.

use gbench_compare::trend::{V1Point, V1Series, V1TrendRun};

pub(super) struct TrendFigure<'d> {
    /// The case's, as the format has it.
    name: &'d str,
    pub series: &'d V1Series,
    pub run: &'d V1TrendRun,
    pub point: &'d V1Point,
    at: u32,
}

/// The value of a column in a row; `None` if unknown.
pub(super) enum Values {
    Text(fn(&TrendFigure<'_>) -> Option<String>),
    Number(fn(&TrendFigure<'_>) -> Option<f64>),
    /// RFC 3339.
    Time(for<'f> fn(&'f TrendFigure<'_>) -> &'f str),
    /// The parameters of the case by name.
    Params,
}

/// The formats that have a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Both,
    Csv,
    /// Columns that a later run never changes in the rows of an earlier one.
    #[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only the writer of Parquet asks for it"))]
    Parquet,
}

/// Name, whether it may be null, values.
pub(super) type TrendColumn = (&'static str, bool, Values);

const COLUMNS: [(Of, TrendColumn); 25] = [
    (Of::Both, ("suite", false, Values::Text(|row| Some(row.series.case.benchmark.suite().to_owned())))),
    (Of::Both, ("benchmark", false, Values::Text(|row| Some(row.series.case.benchmark.name().to_owned())))),
    (
        Of::Both,
        ("variant", true, Values::Text(|row| row.series.case.variant.map(|it| it.into_str().to_owned()))),
    ),
    (Of::Both, ("params", false, Values::Params)),
    (Of::Both, ("timing", false, Values::Text(|row| Some(row.series.case.timing.into_str().to_owned())))),
    (Of::Both, ("thermal", false, Values::Text(|row| Some(row.series.case.thermal.into_str().to_owned())))),
    (Of::Both, ("device", false, Values::Text(|row| Some(row.series.case.device.to_string())))),
    (Of::Both, ("case", false, Values::Text(|row| Some(row.name.to_owned())))),
    (Of::Both, ("metric", false, Values::Text(|row| Some(row.series.metric.clone())))),
    (Of::Both, ("unit", false, Values::Text(|row| Some(row.series.unit.clone())))),
    (Of::Both, ("branch", false, Values::Text(|row| Some(row.series.branch.clone())))),
    // The series' own has the host of a machine that is one of several.
    (Of::Csv, ("label", false, Values::Text(|row| Some(row.series.label.clone())))),
    (Of::Parquet, ("label", false, Values::Text(|row| Some(row.run.label.clone())))),
    (Of::Parquet, ("host", true, Values::Text(|row| row.run.host.clone()))),
    (Of::Both, ("run", false, Values::Text(|row| Some(row.run.run_id.to_string())))),
    (Of::Both, ("started", true, Values::Time(|row| &row.run.started))),
    (Of::Both, ("commit", false, Values::Text(|row| Some(row.run.commit.clone())))),
    (Of::Parquet, ("event", false, Values::Text(|row| Some(row.run.event.clone())))),
    (Of::Parquet, ("conclusion", true, Values::Text(conclusion))),
    (Of::Both, ("value", false, Values::Number(|row| Some(row.point.value)))),
    (Of::Both, ("low", true, Values::Number(|row| row.point.low))),
    (Of::Both, ("high", true, Values::Number(|row| row.point.high))),
    (Of::Both, ("break", true, Values::Text(broken))),
    (
        Of::Csv,
        (
            "change",
            true,
            Values::Number(|row| row.series.changes.iter().find(|it| it.at == row.at).map(|it| it.change)),
        ),
    ),
    (Of::Csv, ("conclusion", true, Values::Text(conclusion))),
];

/// The columns of a format in their order.
pub(super) fn columns(of: Of) -> impl Iterator<Item = &'static TrendColumn> {
    COLUMNS.iter().filter(move |(those, _)| *those == Of::Both || *those == of).map(|(_, column)| column)
}

fn conclusion(row: &TrendFigure<'_>) -> Option<String> {
    row.run.conclusion.clone()
}

/// The facts that differ from the figure before, if the series breaks here.
fn broken(row: &TrendFigure<'_>) -> Option<String> {
    let at = row.series.breaks.binary_search_by_key(&row.at, |it| it.at).ok()?;
    let fields = row.series.breaks[at].fields.iter().map(|field| field.field.as_str());
    Some(fields.collect::<Vec<_>>().join(" "))
}

/// Every figure, series by series, each with the name of its case.
pub(super) fn figures<'d>(
    runs: &'d [V1TrendRun],
    series: impl IntoIterator<Item = (&'d V1Series, &'d String)>,
) -> impl Iterator<Item = TrendFigure<'d>> {
    series.into_iter().flat_map(move |(series, name)| {
        series.points.iter().enumerate().filter_map(move |(at, point)| {
            let run = runs.get(point.run as usize)?;
            Some(TrendFigure { name, series, run, point, at: at as u32 })
        })
    })
}
