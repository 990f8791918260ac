//! One series: its breaks, lasting changes, drift, and noise from run to run.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::breaks::{BreakFinder, V1Break};
use super::encoding::Dictionary;
use super::table::{TrendSeries, TrendTable};
use gbench_model::{Better, Strictness};
use gbench_stats::{self as stats, ChangePoint};

/// Points of one unbroken piece that are searched for changes: the newest.
const SEARCHED: usize = 400;

/// Runs since the last break without which nothing can be found, and nothing is called steady.
pub const LEAST_SEARCHED: usize = stats::change_points::LEAST_SEARCHED;

/// A shift that lasts: the level before it and the level after it differ.
#[derive(Clone, Debug, PartialEq)]
pub struct LastingChange {
    /// Index of the first point after it, of those of the series.
    pub at: usize,
    /// The first and the last index at which it may lie instead.
    pub range: [usize; 2],
    /// Level after / level before - 1, with its interval, nominally of 95 %.
    pub change: f64,
    pub low: f64,
    pub high: f64,
    /// Chance of one as clear, had nothing changed.
    pub p: f64,
}

/// A continuing slope, as opposed to a step.
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

/// The state of the newest part of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SeriesState {
    /// It was searched for changes.
    Searched,
    /// There are too few runs since the last break.
    #[default]
    TooFewRuns,
    /// A figure since the last break is zero or less, which has no share.
    NotPositive,
    /// The newest commit of its branch and machine has no figure of it.
    Ended,
}

/// All of one series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesTrend {
    pub breaks: Vec<V1Break>,
    pub changes: Vec<LastingChange>,
    /// Those of `changes` that the newest run brought, by index.
    pub new: Vec<usize>,
    /// Changes that the runs before the newest one showed, and the newest one takes back.
    pub withdrawn: Vec<LastingChange>,
    pub drift: Option<SeriesDrift>,
    /// Standard deviation of a run about its level, as a logarithm, robust; absent of fewer than 5 points.
    pub noise: Option<f64>,
    pub state: SeriesState,
}

/// True if a relative change is for the worse; `None` where no direction is better.
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
    let trend = |series| trend_of(series, breaks.of(series));
    table.series.iter().map(trend).collect()
}

fn trend_of(series: &TrendSeries, breaks: Vec<V1Break>) -> SeriesTrend {
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    let mut trend = SeriesTrend { breaks, ..SeriesTrend::default() };
    let starts: Vec<usize> = std::iter::once(0).chain(trend.breaks.iter().map(|it| it.at as usize)).collect();
    let mut residuals = Vec::new();
    for (piece, start) in starts.iter().enumerate() {
        let end = starts.get(piece + 1).copied().unwrap_or(values.len());
        let start = (*start).max(end.saturating_sub(SEARCHED));
        let values = &values[start..end];
        let is_newest = end == series.points.len();
        let search = |values: &[f64]| stats::change_points(values, stats::change_points::LEVEL);
        // Without logarithms there is no share to speak of.
        let Some(found) = search(values) else {
            if is_newest {
                trend.state = SeriesState::NotPositive;
            }
            continue;
        };
        collect_residuals(values, &found, &mut residuals);
        if is_newest && values.len() >= LEAST_SEARCHED {
            trend.state = SeriesState::Searched;
            trend.drift = stats::drift(values, stats::drift::LEVEL).map(|found| SeriesDrift {
                from: start + found.from,
                per_run: found.per_run,
                total: found.total,
                p: found.p,
            });
        }
        // The last change of an ended series is not news.
        if is_newest && series.is_current {
            let before = search(&values[..values.len() - 1]).unwrap_or_default();
            let revision = stats::revise(&before, &found);
            trend.new = revision.new.iter().map(|at| trend.changes.len() + at).collect();
            trend.withdrawn = revision.withdrawn.iter().map(|at| placed(&before[*at], start)).collect();
        }
        trend.changes.extend(found.iter().map(|found| placed(found, start)));
    }
    if !series.is_current {
        trend.state = SeriesState::Ended;
    }
    trend.noise = (residuals.len() >= 5).then(|| 1.4826 * stats::median(&mut residuals).unwrap_or(0.0));
    trend
}

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
