//! Texts about a series that all reports of a history share.

use std::cmp::Reverse;

use crate::layout::number::value;
use gbench_compare::trend::{
    LEAST_SEARCHED, SeriesState, TrendsDocument, V1Break, V1BrokenField, V1Series, V1TrendRun,
};
use gbench_model::text::count;

pub(crate) fn place(branch: &str, label: &str) -> String {
    if label.is_empty() { branch.to_owned() } else { format!("{branch} on {label}") }
}

pub(crate) fn day(run: &V1TrendRun) -> &str {
    run.started.get(..10).unwrap_or(&run.started)
}

pub(crate) fn run_of<'d>(
    document: &'d TrendsDocument,
    series: &V1Series,
    point: u32,
) -> Option<&'d V1TrendRun> {
    document.runs.get(series.points.get(point as usize)?.run as usize)
}

pub(crate) fn latest(series: &V1Series) -> String {
    series.points.last().map_or(String::new(), |point| value(point.value, &series.unit))
}

/// `driver 550.54 -> 560.28`.
pub(crate) fn fields(broken: &V1Break, arrow: &str) -> String {
    let field = |it: &V1BrokenField| format!("{} {} {arrow} {}", it.field, it.before, it.after);
    broken.fields.iter().map(field).collect::<Vec<_>>().join(", ")
}

fn too_few_runs(series: &V1Series) -> String {
    let begins = series.breaks.last().map_or(0, |it| it.at as usize);
    let since = if begins > 0 { " since the last break" } else { "" };
    let runs = count(series.points.len().saturating_sub(begins), "run");
    format!("{runs}{since}, and {LEAST_SEARCHED} are needed")
}

/// Why the newest part of a series was not judged; empty if it was. `day`: of a point.
pub(crate) fn why_not_judged(series: &V1Series, day: impl Fn(u32) -> String) -> String {
    match series.state {
        SeriesState::Searched => String::new(),
        SeriesState::TooFewRuns => too_few_runs(series),
        SeriesState::NotPositive => "a figure of zero or less".into(),
        SeriesState::Ended => {
            format!("no figure since {}", day(series.points.len().saturating_sub(1) as u32))
        }
    }
}

/// Sorts series by their last changes: the newest first, within one run the largest first.
pub(crate) fn newest_first(series: &mut [&V1Series]) {
    series.sort_by_key(|series| {
        let change = series.last_change();
        Reverse(change.map(|it| (series.points[it.at as usize].run, (it.change.abs() * 1e6) as u64)))
    });
}
