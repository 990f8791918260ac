//! The trait that decides what is measured next, and what it decides by.

use gbench_model::RunRecord;
use gbench_suite::plan::RoundsPlan;

/// Decides before each round what it measures (nvbench calls this a stopping criterion).
pub trait StoppingPolicy {
    /// Called before the first round and after each.
    fn next(&mut self, state: &RoundsState<'_>) -> NextRound;

    /// Asked before each round: whether a pair whose screening rounds shared their processes with other cases gets processes
    /// of its own from now on. The hook for candidates.
    fn is_candidate(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        let _ = (pair, state);
        false
    }

    /// Asked before each round: whether the executions of a pair, where its suite has them counted, are still to be counted.
    /// Counting takes processes of its own, and its figures are decided long before the time is.
    fn wants_counts(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        let _ = (pair, state);
        true
    }

    /// Asked before each pair of a round: `false` ends the round there, and the pairs not reached have a round less.
    /// The hook for a budget. Pairs that share their processes are measured if it may of each of them.
    fn may_start(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        let _ = (pair, state);
        true
    }
}

/// The answer of a stopping policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextRound {
    /// One round of these pairs, by their index in the plan, in this order. Pairs that are closed are passed over, and
    /// a round in which nothing at all could be measured is the last.
    Measure(Vec<usize>),
    Stop,
}

/// Where a comparison stands. All rounds that it shows are whole.
#[derive(Clone, Debug)]
pub struct RoundsState<'a> {
    pub plan: &'a RoundsPlan,
    /// Base, head and, where there are controls, control, as they stand: a case with a whole round is measured, metrics
    /// have no summaries yet.
    pub records: Vec<&'a RunRecord>,
    /// By pair.
    pub pairs: &'a [PairState],
    /// Rounds begun and ended since this call began, whole or cut short.
    pub passes: u32,
    /// Seconds spent on rounds since this call began: without builds, and without what was spent before a resume.
    pub seconds: f64,
}

/// Where a pair stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairState {
    /// Index of its case in each record; base, head, control.
    pub cases: [Option<usize>; 3],
    /// Whole rounds of base and head, also those from before a resume.
    pub rounds: u32,
    /// Both sides are there and neither broke: it may be measured further.
    pub open: bool,
    /// Wall seconds of all its processes, with whatever was needed to start and end them.
    pub seconds: f64,
}

impl PairState {
    /// Mean wall seconds of one round, all sides together; absent before the first.
    pub fn seconds_per_round(&self) -> Option<f64> {
        (self.rounds > 0).then(|| self.seconds / f64::from(self.rounds))
    }
}

impl RoundsState<'_> {
    /// The most rounds that any pair has.
    pub fn rounds(&self) -> u32 {
        self.pairs.iter().map(|pair| pair.rounds).max().unwrap_or(0)
    }

    /// Pairs that may be measured further, in the plan's order.
    pub fn open(&self) -> Vec<usize> {
        (0..self.pairs.len()).filter(|pair| self.pairs[*pair].open).collect()
    }
}
