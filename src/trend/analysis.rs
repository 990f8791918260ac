//! What happened to one series: breaks, lasting changes, drift, and its noise from run to run.

use std::collections::BTreeMap;

use super::breaks::{BreakFinder, SeriesBreak};
use super::encoding::Dictionary;
use super::table::{TrendSeries, TrendTable};
use crate::model::{Better, Strictness};
use crate::stats::{self, ChangePoint};

/// Points of one unbroken piece that are searched for changes: the newest. A change that is further back is history, and
/// `--until` shows it.
const SEARCHED: usize = 400;

/// A shift that lasts: the level before it and the level after it differ.
#[derive(Clone, Debug, PartialEq)]
pub struct LastingChange {
    /// Index of the first point after it, of those of the series.
    pub at: usize,
    /// The first and the last index at which it may lie instead.
    pub range: [usize; 2],
    /// Level after / level before - 1, with its 95 % interval.
    pub change: f64,
    pub low: f64,
    pub high: f64,
    /// Chance of one as clear, had nothing changed.
    pub p: f64,
}

/// A slope that goes on, and is no step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesDrift {
    /// Index of the point at which it begins.
    pub from: usize,
    /// Relative change a run.
    pub per_run: f64,
    /// Relative change from its beginning to the newest point.
    pub total: f64,
    /// Chance of one as clear, had nothing drifted.
    pub p: f64,
}

/// A change that the runs before the newest one showed, and the newest one takes back.
#[derive(Clone, Debug, PartialEq)]
pub struct WithdrawnChange(pub LastingChange);

/// All of one series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesTrend {
    pub breaks: Vec<SeriesBreak>,
    pub changes: Vec<LastingChange>,
    /// Those of `changes` that the newest run brought, by index.
    pub new: Vec<usize>,
    pub withdrawn: Vec<WithdrawnChange>,
    pub drift: Option<SeriesDrift>,
    /// Standard deviation of a run about its level, as a logarithm, robust; absent of fewer than 5 points.
    pub noise: Option<f64>,
}

impl SeriesTrend {
    /// The change after which the newest points lie.
    pub fn last_change(&self) -> Option<&LastingChange> {
        let begins = self.breaks.last().map_or(0, |last| last.at);
        self.changes.last().filter(|change| change.at >= begins)
    }
}

/// Whether a relative change is for the worse; `None` where no direction is better.
pub fn is_worse(better: Option<Better>, change: f64) -> Option<bool> {
    better.map(|better| match better {
        Better::Lower => change > 0.0,
        Better::Higher => change < 0.0,
    })
}

/// The trends of every series of a table, in its order. `match_key`: the suite's `[gate.match]`.
pub fn trends_of(
    table: &TrendTable,
    dictionary: &Dictionary,
    match_key: &BTreeMap<String, Strictness>,
) -> Vec<SeriesTrend> {
    let mut breaks = BreakFinder::new(table, dictionary, match_key);
    table.series.iter().map(|series| trend_of(series, breaks.of(series))).collect()
}

/// The trend of one series with these breaks.
pub fn trend_of(series: &TrendSeries, breaks: Vec<SeriesBreak>) -> SeriesTrend {
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    let mut trend = SeriesTrend { breaks, ..SeriesTrend::default() };
    let starts: Vec<usize> = std::iter::once(0).chain(trend.breaks.iter().map(|it| it.at)).collect();
    let mut residuals = Vec::new();
    for (piece, start) in starts.iter().enumerate() {
        let end = starts.get(piece + 1).copied().unwrap_or(values.len());
        let start = (*start).max(end.saturating_sub(SEARCHED));
        let values = &values[start..end];
        let search = |values: &[f64]| stats::change_points(values, stats::change_points::LEVEL);
        // Without logarithms there is no share to speak of.
        let Some(found) = search(values) else { continue };
        collect_residuals(values, &found, &mut residuals);
        if end == series.points.len() {
            let before = search(&values[..values.len() - 1]).unwrap_or_default();
            let revision = stats::revise(&before, &found);
            trend.new = revision.new.iter().map(|at| trend.changes.len() + at).collect();
            let gone = revision.withdrawn.iter().map(|at| WithdrawnChange(placed(&before[*at], start)));
            trend.withdrawn = gone.collect();
            trend.drift = stats::drift(values, stats::drift::LEVEL).map(|found| SeriesDrift {
                from: start + found.from,
                per_run: found.per_run,
                total: found.total,
                p: found.p,
            });
        }
        trend.changes.extend(found.iter().map(|found| placed(found, start)));
    }
    trend.noise = (residuals.len() >= 5).then(|| 1.4826 * stats::median(&mut residuals).unwrap_or(0.0));
    trend
}

/// Distances of the points of a piece from the median of their level, as logarithms.
fn collect_residuals(values: &[f64], changes: &[ChangePoint], into: &mut Vec<f64>) {
    let mut bounds: Vec<usize> = vec![0];
    bounds.extend(changes.iter().map(|change| change.at));
    bounds.push(values.len());
    for level in bounds.windows(2) {
        let logarithms: Vec<f64> = values[level[0]..level[1]].iter().map(|value| value.ln()).collect();
        let Some(centre) = stats::median(&mut logarithms.clone()) else { continue };
        into.extend(logarithms.iter().map(|value| (value - centre).abs()));
    }
}

/// A change of a piece that begins at point `start`, by the points of the series.
fn placed(found: &ChangePoint, start: usize) -> LastingChange {
    LastingChange {
        at: start + found.at,
        range: [start + found.within.start(), start + found.within.end()],
        change: found.size,
        low: found.low,
        high: found.high,
        p: found.p,
    }
}
