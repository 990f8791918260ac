//! One row on its way to a decision by rounds.

use crate::known::known;
use crate::{Evidence, RoundDifferences, RoundScale, RowDecision};
use gbench_stats::seq_e::{self, Screen, SequentialLimits, SequentialResult, Series, Version};

/// One row on its way to a decision.
pub(crate) struct RowState<'a, 'e> {
    pub evidence: &'e Evidence<'a>,
    pub rounds: RoundDifferences,
    pub target: f64,
    pub min_effect: f64,
    pub family: usize,
    /// Both sides gave exact values that never vary, or counts that hardly do: nothing is left to chance, and the row is none of the candidates.
    pub exact: Option<RowDecision>,
}

impl RowState<'_, '_> {
    /// `shared`: how many of the differences are of shared processes.
    pub(crate) fn series<'d>(&'d self, differences: &'d [f64], shared: usize) -> Series<'d> {
        Series {
            differences,
            target: self.target,
            min_effect: self.min_effect,
            family: self.family,
            unresolved: &self.rounds.unresolved,
            shared,
        }
    }
}

/// The states of a suite; each piece of evidence gives one.
pub(crate) fn row_states<'a, 'e>(
    evidence: &'e [Evidence<'a>],
    limits: &SequentialLimits,
) -> Vec<RowState<'a, 'e>> {
    let screen_rounds = limits.screen_rounds;
    let mut families: Vec<&str> = Vec::new();
    let mut scratch = Vec::new();
    let state = |evidence: &'e Evidence<'a>| {
        let family = families.iter().position(|name| *name == evidence.metric).unwrap_or_else(|| {
            families.push(evidence.metric);
            families.len() - 1
        });
        let rounds = RoundDifferences::of(evidence, screen_rounds, &mut scratch);
        let (target, min_effect) = match rounds.scale {
            // Shares of nothing mean nothing: there the margin alone says what matters.
            RoundScale::Absolute { .. } => (rounds.margin, rounds.margin),
            _ => (evidence.limits.target.max(rounds.margin), evidence.limits.min_effect.max(rounds.margin)),
        };
        let exact = known(evidence, screen_rounds);
        let rounds = match limits.version {
            // An error that is always the same is no coarse one.
            Version::Two if exact.is_none() && !evidence.exact && !evidence.limits.absolute => {
                rounds.resolved(evidence, target)
            }
            _ => rounds,
        };
        RowState { evidence, rounds, target, min_effect, family, exact }
    };
    evidence.iter().map(state).collect()
}

/// What the rule says of the rows that are left to chance, none for the others.
pub(crate) fn results(
    states: &[RowState],
    limits: &SequentialLimits,
) -> (Screen, Vec<Option<SequentialResult>>) {
    let differences = |state: &RowState| (state.rounds.differences.clone(), state.rounds.shared);
    results_of(states, &states.iter().map(differences).collect::<Vec<_>>(), limits)
}

/// `differences`: of each row, and how many of them are of shared processes.
pub(super) fn results_of(
    states: &[RowState],
    differences: &[(Vec<f64>, usize)],
    limits: &SequentialLimits,
) -> (Screen, Vec<Option<SequentialResult>>) {
    let by_chance = states.iter().zip(differences).filter(|(state, _)| state.exact.is_none());
    let series: Vec<Series> =
        by_chance.map(|(state, (differences, shared))| state.series(differences, *shared)).collect();
    let (screen, results) = seq_e::decide(&series, limits);
    let mut results = results.into_iter();
    let results = states.iter().map(|state| if state.exact.is_none() { results.next() } else { None });
    (screen, results.collect())
}
