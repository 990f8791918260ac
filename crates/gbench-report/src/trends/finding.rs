//! What a series is found to be, for the page's sections.

use gbench_compare::trend::{SeriesState, V1ChangePoint, V1Series};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrendFinding {
    /// Its newest level differs from the one before.
    Worse,
    Better,
    /// No direction is better.
    Changed,
    /// Its newest level is worse, and a person accepted that.
    Accepted,
    /// Both sides of the change ran the same commit, so that something else changed.
    SameCommit,
    Steady,
    /// Nothing was, or could be, found out about its newest part.
    NotJudged,
}

impl TrendFinding {
    pub(super) fn of(series: &V1Series) -> Self {
        let change = series.last_change();
        match (series.state, change.map(|change| change.worse)) {
            (SeriesState::TooFewRuns | SeriesState::NotPositive | SeriesState::Ended, _) => Self::NotJudged,
            (SeriesState::Searched, None) => Self::Steady,
            (SeriesState::Searched, Some(_)) if change.is_some_and(V1ChangePoint::is_of_one_commit) => {
                Self::SameCommit
            }
            (SeriesState::Searched, Some(Some(true))) if change.is_some_and(|it| it.accepted.is_some()) => {
                Self::Accepted
            }
            (SeriesState::Searched, Some(None)) => Self::Changed,
            (SeriesState::Searched, Some(Some(true))) => Self::Worse,
            (SeriesState::Searched, Some(Some(false))) => Self::Better,
        }
    }
}

/// Whether it drifts for the worse, and still does.
pub(crate) fn is_drifting_worse(series: &V1Series) -> bool {
    is_drifting(series) && series.drift.as_ref().is_some_and(|drift| drift.worse == Some(true))
}

pub(crate) fn is_drifting(series: &V1Series) -> bool {
    series.state == SeriesState::Searched && series.drift.is_some()
}
