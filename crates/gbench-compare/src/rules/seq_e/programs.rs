//! Programs whose cases share processes. Where nothing has changed, rounds of shared processes are evidence like any other: order and
//! coin are random, so that every row's bets are fair, whatever the rows share. They can therefore make a program red, by Holm's
//! rule over its rows. They cannot name a row for certain, because one case can slow the next one: that takes processes of its own.

use gbench_stats::seq_e::{self, SequentialLimits, SequentialResult, Status};

use super::state::{RowState, Taken};

/// A program that regressed though none of its rows is red by its own processes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RedProgram {
    /// The row that changed most clearly, by its place among the evidence.
    pub likeliest: usize,
    /// Rows that share its processes.
    pub rows: u32,
    /// As decided by all rounds of the likeliest row, shared ones and its own.
    pub result: SequentialResult,
    /// In the scale of the likeliest row, as a difference.
    pub at_least: Option<f64>,
}

/// What all rounds of each row show, shared ones and its own: of the rows that screen in shared processes, by their place.
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
        let shares =
            |state: &RowState| state.exact.is_none() && state.rounds.shared > 0 && !state.evidence.of_pair;
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

    /// What all rounds of a row show.
    pub(super) fn result(&self, row: usize) -> Option<&SequentialResult> {
        self.results[row].as_ref()
    }

    /// Programs with a red row. `own`: what the rows' own processes show; `calm`: the same as `self` without disturbed rounds.
    pub(super) fn red(
        &self,
        states: &[RowState],
        own: &[Option<SequentialResult>],
        calm: Option<&Self>,
    ) -> Vec<RedProgram> {
        let status = |result: &Option<SequentialResult>| result.as_ref().map(|result| result.status);
        let mut programs: Vec<RedProgram> = Vec::new();
        for (row, state) in states.iter().enumerate() {
            let program = &state.evidence.case.benchmark;
            let of_program = |row: &usize| states[*row].evidence.case.benchmark == *program;
            if programs.iter().any(|red| of_program(&red.likeliest)) {
                continue;
            }
            let rows = || (0..states.len()).filter(of_program);
            let red = |row: &usize| {
                status(&self.results[*row]) == Some(Status::Regressed)
                    && calm.is_none_or(|calm| status(&calm.results[*row]) == Some(Status::Regressed))
            };
            // Whatever is red by its own processes says more.
            if self.results[row].is_none() || rows().any(|row| status(&own[row]) == Some(Status::Regressed)) {
                continue;
            }
            let evidence =
                |row: &usize| self.result(*row).map_or(f64::NEG_INFINITY, |result| result.ln_worse);
            let most = rows().filter(red).max_by(|one, other| evidence(one).total_cmp(&evidence(other)));
            let Some((likeliest, result)) = most.and_then(|row| Some((row, self.result(row)?))) else {
                continue;
            };
            let series =
                seq_e::Series { shared: 0, ..states[likeliest].series(&states[likeliest].all_rounds()) };
            programs.push(RedProgram {
                likeliest,
                rows: rows().filter(|row| self.results[*row].is_some()).count() as u32,
                at_least: seq_e::at_least(&series, result, &self.screen, &self.limits),
                result: result.clone(),
            });
        }
        programs
    }
}
