//! One row on its way to a decision by rounds.

use crate::evidence::rounds::{RoundDifferences, RoundScale};
use crate::evidence::samples::Evidence;
use crate::rules::known::{Needed, known};
use crate::rules::rule::RowDecision;
use crate::rules::two_states::least_that_differ;
use crate::verdict::outcome::Verdict;
use gbench_model::CaseId;
use gbench_stats::seq_e::{self, PowerContext, Screen, SequentialLimits, SequentialResult, Series, Version};

pub(crate) struct RowState<'a, 'e> {
    pub evidence: &'e Evidence<'a>,
    pub rounds: RoundDifferences,
    pub target: f64,
    pub min_effect: f64,
    pub family: usize,
    /// Which of the shared processes it was measured in at first.
    pub cluster: Option<usize>,
    /// Both sides gave exact values that never vary, or counts that hardly do: nothing is left to chance, and the row is
    /// not a candidate.
    pub exact: Option<RowDecision>,
}

/// The source of a row's noise: metrics of one case share it, and so do cases that share a process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Processes<'e> {
    Of(&'e CaseId),
    /// By [`RowState::cluster`].
    Shared(usize),
}

pub(crate) struct Taken<'d> {
    pub differences: &'d [f64],
    pub head_second: &'d [bool],
    pub shared: usize,
}

impl RowState<'_, '_> {
    pub(crate) fn processes(&self, from: usize) -> Processes<'_> {
        let shared = self.cluster.filter(|_| from == 0);
        shared.map_or(Processes::Of(self.evidence.case), Processes::Shared)
    }

    pub(crate) fn all_rounds(&self) -> Taken<'_> {
        let RoundDifferences { differences, head_second, shared, .. } = &self.rounds;
        Taken { differences, head_second, shared: *shared }
    }

    pub(crate) fn series<'d>(&'d self, taken: &Taken<'d>) -> Series<'d> {
        Series {
            differences: taken.differences,
            target: self.target,
            min_effect: self.min_effect,
            family: self.family,
            cluster: self.cluster,
            unresolved: &self.rounds.unresolved,
            shared: taken.shared,
            head_second: taken.head_second,
        }
    }

    pub(crate) fn power(&self, noise: f64) -> PowerContext {
        PowerContext { noise, min_effect: self.min_effect, target: self.target }
    }

    /// Target and least effect as a reader has them: as they were asked for, where no margin has widened them.
    pub(crate) fn shown(&self) -> [f64; 2] {
        let asked = self.evidence.limits;
        [(self.target, asked.target), (self.min_effect, asked.min_effect)]
            .map(|(used, asked)| if used == asked.ln_1p() { asked } else { used })
    }

    fn is_known_to_differ(&self) -> bool {
        self.exact.is_some() && !self.is_known_unchanged()
    }

    fn is_known_unchanged(&self) -> bool {
        self.exact.as_ref().is_some_and(|decision| decision.verdict == Verdict::Unchanged)
    }
}

pub(crate) fn row_states<'a, 'e>(
    evidence: &'e [Evidence<'a>],
    limits: &SequentialLimits,
) -> Vec<RowState<'a, 'e>> {
    let screen_rounds = limits.screen_rounds;
    let needed = Needed::before_seq_e_3(screen_rounds);
    let mut families: Vec<&str> = Vec::new();
    let mut scratch = Vec::new();
    let state = |evidence: &'e Evidence<'a>| {
        let family = families.iter().position(|name| *name == evidence.metric).unwrap_or_else(|| {
            families.push(evidence.metric);
            families.len() - 1
        });
        let rounds = RoundDifferences::of(evidence, screen_rounds, &mut scratch);
        let asked = evidence.limits;
        let (target, min_effect) = match rounds.scale {
            // Shares of nothing mean nothing: there the margin alone says what matters.
            RoundScale::Absolute { .. } => (rounds.margin, rounds.margin),
            // Shares of 2 % are differences of ln 1.02; the rules before took them for logarithms.
            RoundScale::Log { .. } if limits.version == Version::Three => {
                (asked.target.ln_1p().max(rounds.margin), asked.min_effect.ln_1p().max(rounds.margin))
            }
            _ => (asked.target.max(rounds.margin), asked.min_effect.max(rounds.margin)),
        };
        let exact = known(evidence, &needed);
        let rounds = match limits.version {
            // An error of a result that is always the same is not a coarse figure.
            Version::Two | Version::Three
                if exact.is_none() && !evidence.exact && !evidence.limits.absolute =>
            {
                rounds.resolved(evidence, target)
            }
            _ => rounds,
        };
        RowState { evidence, rounds, target, min_effect, family, cluster: None, exact }
    };
    let mut states: Vec<RowState> = evidence.iter().map(state).collect();
    let mut shared: Vec<&str> = Vec::new();
    for state in &mut states {
        let since = state.evidence.base.processes.first().and_then(|process| process.shared_since);
        state.cluster = since.map(|since| {
            shared.iter().position(|other| *other == since).unwrap_or_else(|| {
                shared.push(since);
                shared.len() - 1
            })
        });
    }
    if limits.version == Version::Three {
        // Two states of a program explain a difference in at most 4^-n of comparisons, so these rows share alpha with
        // the others.
        let sharing = states.iter().filter(|state| !state.is_known_unchanged()).count();
        let processes = least_that_differ(sharing, limits.alpha);
        let needed = Needed { differing: processes, counts: processes, ..needed };
        for state in states.iter_mut().filter(|state| state.is_known_to_differ()) {
            state.exact = known(state.evidence, &needed);
        }
    }
    states
}

/// The rule's results of the rows that are left to chance, `None` for the others.
pub(crate) fn results(
    states: &[RowState],
    limits: &SequentialLimits,
) -> (Screen, Vec<Option<SequentialResult>>) {
    results_of(states, &states.iter().map(RowState::all_rounds).collect::<Vec<_>>(), limits)
}

pub(super) fn results_of(
    states: &[RowState],
    taken: &[Taken],
    limits: &SequentialLimits,
) -> (Screen, Vec<Option<SequentialResult>>) {
    let by_chance = states.iter().zip(taken).filter(|(state, _)| state.exact.is_none());
    let series: Vec<Series> = by_chance.map(|(state, taken)| state.series(taken)).collect();
    let beside = states.iter().filter(|state| state.is_known_to_differ()).count();
    let (screen, results) = seq_e::decide(&series, &SequentialLimits { beside, ..*limits });
    let mut results = results.into_iter();
    let results = states.iter().map(|state| if state.exact.is_none() { results.next() } else { None });
    (screen, results.collect())
}
