//! The public document: series with what happened to them. Reports are made of it alone.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::analysis::{LastingChange, SeriesState, SeriesTrend, is_worse};
use super::breaks::V1Break;
use super::table::{TrendSeries, TrendTable};
use gbench_model::{Better, CaseId, RunId};

pub const SCHEMA_TRENDS: &str = "gbench-ci/trends/v1";

/// The output of `gbench-ci history --format json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrendsDocument {
    /// `gbench-ci/trends/v1`.
    pub schema: String,
    /// The store that the runs are from: `git:gbench-history`.
    pub store: String,
    /// In order of their starts.
    pub runs: Vec<V1TrendRun>,
    pub series: Vec<V1Series>,
    /// Cases of which the newest run of their branch and machine has no figure.
    pub unmeasured: Vec<V1Unmeasured>,
    /// Older runs of the store that were not looked at.
    pub left_out: u32,
    /// Runs that were passed over, and what else a reader should know.
    pub warnings: Vec<String>,
}

/// One run.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct V1TrendRun {
    pub run_id: RunId,
    /// UTC, RFC 3339.
    pub started: String,
    /// Full id; empty where the record has none.
    pub commit: String,
    pub branch: String,
    /// Which machine of a matrix; empty for the only one.
    pub label: String,
    /// The fact `host` of the machine: its name, or a digest of its GPUs' ids. Absent if the record does not have it.
    pub host: Option<String>,
    /// The event that started it: `schedule`, `push`, `none`.
    pub event: String,
    /// The gate's word for it.
    pub conclusion: Option<String>,
}

/// One case and metric over the runs of a branch on a machine.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct V1Series {
    pub case: CaseId,
    pub metric: String,
    pub unit: String,
    pub better: Option<Better>,
    pub branch: String,
    pub label: String,
    /// In order of their runs.
    pub points: Vec<V1Point>,
    pub breaks: Vec<V1Break>,
    pub changes: Vec<V1ChangePoint>,
    /// Changes that the runs before the newest one showed, and that the newest one takes back.
    pub withdrawn: Vec<V1ChangePoint>,
    pub drift: Option<V1Drift>,
    /// Standard deviation of a run about its level, relative, robust; absent of fewer than 5 points.
    pub noise: Option<f64>,
    /// The state of its newest part.
    pub state: SeriesState,
}

/// One figure.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct V1Point {
    /// Index in `runs`.
    pub run: u32,
    /// In the series' unit.
    pub value: f64,
    /// The 95 % interval by the processes of this run alone; absent of one process. Runs differ by more.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// A shift of level that lasts.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct V1ChangePoint {
    /// Index in `points` of the first one after it, and the range in which it may lie instead.
    pub at: u32,
    pub from: u32,
    pub to: u32,
    /// Commit of the last run that certainly lies before it; absent where none does. The same as `bad`: the code did not
    /// change.
    pub good: Option<String>,
    /// Commit of the first run that certainly lies after it.
    pub bad: Option<String>,
    /// Level after / level before - 1, with its interval, nominally of 95 %: it contains the truth less often
    /// (docs/trend-evaluation.md).
    pub change: f64,
    pub low: f64,
    pub high: f64,
    /// Chance of one as clear, had nothing changed.
    pub p: f64,
    /// True if it is for the worse; absent where the metric has no better direction.
    pub worse: Option<bool>,
    /// The newest run brought it.
    pub new: bool,
    /// The acceptance by a person, if there is one.
    pub accepted: Option<V1AcceptedChange>,
}

/// An acceptance that came to the branch with the commits of a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct V1AcceptedChange {
    /// Number of the pull request.
    pub pull: u64,
    /// Login of the person.
    pub by: String,
    pub reason: String,
}

/// A continuing slope.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct V1Drift {
    /// Index in `points` of the one at which it begins.
    pub from: u32,
    /// Relative change a run, and from its beginning to the newest point.
    pub per_run: f64,
    pub total: f64,
    pub p: f64,
    pub worse: Option<bool>,
}

/// A case without a figure in the newest run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct V1Unmeasured {
    pub case: CaseId,
    pub branch: String,
    pub label: String,
    /// `failed`, `timedout`, `skipped`.
    pub outcome: String,
}

impl TrendsDocument {
    /// `trends`: of every series of the table, in its order. Then the runs that were left out, and warnings.
    pub fn new(
        store: String,
        table: &TrendTable,
        trends: &[SeriesTrend],
        (left_out, warnings): (usize, Vec<String>),
    ) -> Self {
        let run = |(run, host): (&super::TrendRun, &Option<String>)| V1TrendRun {
            run_id: run.run_id.clone(),
            started: run.started.clone(),
            commit: run.commit.clone(),
            branch: run.branch.clone(),
            label: run.label.clone(),
            host: host.clone(),
            event: run.event.clone(),
            conclusion: run.conclusion.clone(),
        };
        let unmeasured = table.unmeasured.iter().map(|(id, outcome)| V1Unmeasured {
            case: id.case.clone(),
            branch: id.branch.clone(),
            label: id.label.clone(),
            outcome: outcome.clone(),
        });
        Self {
            schema: SCHEMA_TRENDS.into(),
            store,
            runs: table.runs.iter().zip(&table.run_hosts).map(run).collect(),
            series: table
                .series
                .iter()
                .zip(trends)
                .map(|(series, trend)| of_series(table, series, trend))
                .collect(),
            unmeasured: unmeasured.collect(),
            left_out: left_out as u32,
            warnings,
        }
    }

    /// Puts a run behind the others. `figure`: its figure of a series, in the series' unit; a series without one is left
    /// out.
    pub fn with_newest(mut self, run: V1TrendRun, figure: impl Fn(&V1Series) -> Option<f64>) -> Self {
        let number = self.runs.len() as u32;
        self.runs.push(run);
        self.series.retain_mut(|series| {
            let value = figure(series);
            series.points.extend(value.map(|value| V1Point { run: number, value, low: None, high: None }));
            value.is_some()
        });
        self
    }
}

impl V1Series {
    /// The change after which the newest points lie: none lies before a break.
    pub fn last_change(&self) -> Option<&V1ChangePoint> {
        let begins = self.breaks.last().map_or(0, |it| it.at);
        self.changes.last().filter(|change| change.at >= begins)
    }
}

impl V1ChangePoint {
    /// True if the same commit ran on both sides, so that the code did not change.
    pub fn is_of_one_commit(&self) -> bool {
        self.good.is_some() && self.good == self.bad
    }
}

fn of_series(table: &TrendTable, series: &TrendSeries, trend: &SeriesTrend) -> V1Series {
    let point = |point: &super::TrendPoint| {
        let factor = f64::from(point.half_width).exp();
        let end = |value: f64| Some(value).filter(|value| value.is_finite());
        V1Point {
            run: point.run,
            value: point.value,
            low: end(point.value / factor),
            high: end(point.value * factor),
        }
    };
    let commit = |at: Option<usize>| {
        let point = series.points.get(at?)?;
        Some(table.runs[point.run as usize].commit.clone()).filter(|commit| !commit.is_empty())
    };
    let change = |change: &LastingChange, new: bool| V1ChangePoint {
        at: change.at as u32,
        from: change.range[0] as u32,
        to: change.range[1] as u32,
        good: commit(change.range[0].checked_sub(1)),
        bad: commit(Some(change.range[1])),
        change: change.change,
        low: change.low,
        high: change.high,
        p: change.p,
        worse: is_worse(series.better, change.change),
        new,
        accepted: None,
    };
    V1Series {
        case: series.id.case.clone(),
        metric: series.id.metric.clone(),
        unit: series.id.unit.clone(),
        better: series.better,
        branch: series.id.branch.clone(),
        label: series.id.label.clone(),
        points: series.points.iter().map(point).collect(),
        breaks: trend.breaks.clone(),
        changes: trend
            .changes
            .iter()
            .enumerate()
            .map(|(at, it)| change(it, trend.new.contains(&at)))
            .collect(),
        withdrawn: trend.withdrawn.iter().map(|it| change(it, false)).collect(),
        drift: trend.drift.map(|drift| V1Drift {
            from: drift.from as u32,
            per_run: drift.per_run,
            total: drift.total,
            p: drift.p,
            worse: is_worse(series.better, drift.total),
        }),
        noise: trend.noise,
        state: trend.state,
    }
}
