//! The finding about a series, for the page's sections.

use gbench_compare::trend::{SeriesState, V1ChangePoint, V1Series};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrendFinding {
    /// Its newest level differs from the one before.
    Worse,
    Better,
    /// Neither direction is better.
    Changed,
    /// Its newest level is worse, and a person accepted that.
    Accepted,
    /// Both sides of the change ran the same commit, so something else changed.
    SameCommit,
    Steady,
    /// Its newest part was not, or could not be, judged.
    NotJudged,
}

impl TrendFinding {
    pub(crate) fn of(series: &V1Series) -> Self {
        match (series.state, series.last_change()) {
            (SeriesState::Searched, Some(change)) => Self::of_change(change),
            (SeriesState::Searched, None) => Self::Steady,
            (SeriesState::TooFewRuns | SeriesState::NotPositive | SeriesState::Ended, _) => Self::NotJudged,
        }
    }

    pub(crate) fn of_change(change: &V1ChangePoint) -> Self {
        match change.worse {
            _ if change.is_of_one_commit() => Self::SameCommit,
            Some(true) if change.accepted.is_some() => Self::Accepted,
            Some(true) => Self::Worse,
            Some(false) => Self::Better,
            None => Self::Changed,
        }
    }
}

/// True if it drifts for the worse, and still does.
pub(crate) fn is_drifting_worse(series: &V1Series) -> bool {
    is_drifting(series) && series.drift.as_ref().is_some_and(|drift| drift.worse == Some(true))
}

pub(crate) fn is_drifting(series: &V1Series) -> bool {
    series.state == SeriesState::Searched && series.drift.is_some()
}
