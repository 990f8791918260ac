//! The trait that decides what is measured next, and the state on which it decides.

use gbench_model::RunRecord;
use gbench_suite::plan::RoundsPlan;

/// Decides before each round what it measures (nvbench calls this a stopping criterion).
pub trait StoppingPolicy {
    /// Called before the first round and after each.
    fn next(&mut self, state: &RoundsState<'_>) -> NextRound;

    /// Called before each round: true if a pair whose screening rounds shared their processes with other cases gets its own
    /// processes from now on. The hook for candidates.
    fn is_candidate(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        let _ = (pair, state);
        false
    }

    /// Called before each round: true if the executions of a pair are still to be counted, if its suite asks for counts.
    /// Counting needs additional processes, and its figures are decided long before the time is.
    fn wants_counts(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        let _ = (pair, state);
        true
    }

    /// Called before each pair of a round: `false` ends the round, and the remaining pairs have one round less. The hook for a
    /// budget. Pairs that share their processes are measured if each of them may start.
    fn may_start(&mut self, pair: usize, state: &RoundsState<'_>) -> bool {
        let _ = (pair, state);
        true
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextRound {
    /// One round of these pairs, by index in the plan, in this order. Closed pairs are skipped, and a round without any
    /// measurement is the last.
    Measure(Vec<usize>),
    Stop,
}

#[derive(Clone, Debug)]
pub struct RoundsState<'a> {
    pub plan: &'a RoundsPlan,
    /// Base, head and, if there are controls, control, in their current state: a case with a whole round is measured, metrics
    /// have no summaries yet.
    pub records: Vec<&'a RunRecord>,
    /// By pair.
    pub pairs: &'a [PairState],
    /// Rounds begun and ended since this call began, whole or cut short.
    pub passes: u32,
    /// Seconds spent on rounds since this call began, without builds and without earlier calls.
    pub seconds: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairState {
    /// Index of its case in each record; base, head, control.
    pub cases: [Option<usize>; 3],
    /// Whole rounds of base and head, including those of earlier calls.
    pub rounds: u32,
    /// Both sides exist and neither broke, so it may be measured further.
    pub open: bool,
    /// Wall seconds of all its processes, including their start and end.
    pub seconds: f64,
}

impl PairState {
    /// Mean wall seconds of one round, all sides together; `None` before the first.
    pub fn seconds_per_round(&self) -> Option<f64> {
        (self.rounds > 0).then(|| self.seconds / f64::from(self.rounds))
    }
}

impl RoundsState<'_> {
    pub fn rounds(&self) -> u32 {
        self.pairs.iter().map(|pair| pair.rounds).max().unwrap_or(0)
    }

    /// Pairs that may be measured further, in the plan's order.
    pub fn open(&self) -> Vec<usize> {
        (0..self.pairs.len()).filter(|pair| self.pairs[*pair].open).collect()
    }
}
