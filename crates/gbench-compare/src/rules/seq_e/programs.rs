//! Programs whose cases share processes. Where nothing has changed, rounds of shared processes are evidence like any
//! other: order and coin are random, so that every row's bets are fair, whatever the rows share. They can therefore make
//! a program red, by Holm's rule over its rows. They cannot name a row for certain, because one case can slow the next
//! one: that takes separate processes.

use std::collections::{BTreeMap, BTreeSet};

use gbench_model::BenchmarkId;
use gbench_stats::seq_e::{self, SequentialLimits, SequentialResult, Status};

use super::state::{RowState, Taken};
use crate::rules::rule::RowDecision;
use crate::verdict::outcome::Verdict;

/// A program that regressed though none of its rows is red by its own processes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RedProgram {
    /// The row that changed most clearly, by its place among the evidence.
    pub likeliest: usize,
    /// Cases that share its processes.
    pub cases: u32,
    /// As decided by all rounds of the likeliest row, shared ones and its own.
    pub result: SequentialResult,
    /// In the scale of the likeliest row, as a difference.
    pub at_least: Option<f64>,
}

/// The results of all rounds, shared and own, of the rows that screen in shared processes.
pub(super) struct OfPrograms {
    pub limits: SequentialLimits,
    screen: seq_e::Screen,
    results: Vec<Option<SequentialResult>>,
}

impl OfPrograms {
    /// `taken`: of each row. `None` where programs have no share of alpha, or no row screens in shared processes.
    pub(super) fn of(
        states: &[RowState],
        taken: &[Taken],
        limits: &SequentialLimits,
        alpha: f64,
    ) -> Option<Self> {
        // A case that is alone in its process is its program.
        let shares = |state: &RowState| {
            let in_company = state.rounds.shared > 0 && state.cluster.is_some();
            in_company && state.exact.is_none() && !state.evidence.of_pair
        };
        if alpha <= 0.0 || !states.iter().any(shares) {
            return None;
        }
        let rows = states.iter().zip(taken).filter(|(state, _)| shares(state));
        let series: Vec<_> =
            rows.map(|(state, taken)| seq_e::Series { shared: 0, ..state.series(taken) }).collect();
        let limits = SequentialLimits { alpha, beside: 0, ..*limits };
        let (screen, decided) = seq_e::decide(&series, &limits);
        let mut decided = decided.into_iter();
        let results = states.iter().map(|state| if shares(state) { decided.next() } else { None }).collect();
        Some(Self { limits, screen, results })
    }

    pub(super) fn result(&self, row: usize) -> Option<&SequentialResult> {
        self.results[row].as_ref()
    }

    /// Programs with a red row, each with the row that was red first, and by most where several were. `decisions`: of the
    /// rows; `calm`: the same as `self` without disturbed rounds; `usable`: the rows whose figures are beyond doubt.
    pub(super) fn red(
        &self,
        states: &[RowState],
        decisions: &[RowDecision],
        calm: Option<&Self>,
        usable: impl Fn(&RowState) -> bool,
    ) -> Vec<RedProgram> {
        let is_red =
            |of: &Self, row: usize| of.result(row).is_some_and(|result| result.status == Status::Regressed);
        let mut programs: BTreeMap<&BenchmarkId, Vec<usize>> = BTreeMap::new();
        for (row, state) in states.iter().enumerate() {
            programs.entry(&state.evidence.case.benchmark).or_default().push(row);
        }
        // Whatever is red by its own processes says more, and what these show to be unchanged is not the likeliest.
        programs.retain(|_, rows| rows.iter().all(|row| decisions[*row].verdict != Verdict::Regressed));
        let red = |rows: &Vec<usize>| {
            let red = rows.iter().copied().filter(|row| {
                let is_suspect = decisions[*row].verdict == Verdict::Inconclusive && usable(&states[*row]);
                is_suspect && is_red(self, *row) && calm.is_none_or(|calm| is_red(calm, *row))
            });
            let red = red.filter_map(|row| Some((row, self.result(row)?)));
            let (likeliest, result) = red.min_by(|(_, one), (_, other)| {
                one.rounds.cmp(&other.rounds).then(other.ln_worse.total_cmp(&one.ln_worse))
            })?;
            let series =
                seq_e::Series { shared: 0, ..states[likeliest].series(&states[likeliest].all_rounds()) };
            let sharing = rows.iter().filter(|row| self.result(**row).is_some());
            let cases: BTreeSet<_> = sharing.map(|row| states[*row].evidence.case).collect();
            Some(RedProgram {
                likeliest,
                cases: cases.len() as u32,
                at_least: seq_e::at_least(&series, result, &self.screen, &self.limits),
                result: result.clone(),
            })
        };
        programs.values().filter_map(red).collect()
    }
}
