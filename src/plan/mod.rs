//! What will be measured, in which order. Pure: the same suites and seed give the same plan.
//!
//! A plan has one lane for an ordinary run, or two, base and head, for an interleaved comparison. Cases come
//! one after the other, so that a run that is cut short holds whole cases; inside a case the lanes take
//! turns in rounds, who goes first being decided by a fair, seeded, recorded coin: whatever drifts on the
//! machine then meets both sides alike. A comparison that measures until all is decided has a [`RoundsPlan`].

mod coin;
mod rounds;

use std::sync::Arc;

use rand::{RngExt, SeedableRng};

use crate::model::{CaseId, Params, Side};
use crate::suite::{Benchmark, Suite};

pub use coin::order;
pub use rounds::{Pair, RoundsPlan, choose_controls, common_cases};

/// Everything that a session carries out.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One, or two: base then head.
    pub lanes: Vec<Lane>,
    pub steps: Vec<Step>,
    /// Seed of the coin.
    pub seed: u64,
}

/// One record's worth of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Absent in an ordinary run.
    pub side: Option<Side>,
    /// Every selected benchmark, for what happens once a benchmark: requirements and builds.
    pub benchmarks: Vec<Arc<Benchmark>>,
}

/// One case, on each lane that has it.
#[derive(Clone, Debug)]
pub struct Step {
    pub cases: Vec<PlannedCase>,
    /// Processes in the order in which they are started.
    pub turns: Vec<Turn>,
}

/// A case as planned; the device is not known before it has run.
#[derive(Clone, Debug)]
pub struct PlannedCase {
    /// Index into [`Plan::lanes`].
    pub lane: usize,
    pub benchmark: Arc<Benchmark>,
    pub id: CaseId,
}

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Index into [`Step::cases`].
    pub case: usize,
    /// Index of the process within its case.
    pub process: u32,
    pub round: u32,
    /// 0 if it goes first in its round.
    pub slot: u8,
}

impl Plan {
    /// An ordinary run of one suite.
    pub fn single(suite: &Suite) -> Self {
        let lane = Lane::new(None, suite);
        let steps = lane.cases(0).into_iter().map(|case| Step::new(vec![case], &mut || false)).collect();
        Self { lanes: vec![lane], steps, seed: 0 }
    }

    /// Base and head in turns. Cases that only one side has are run on that side alone, in their place.
    pub fn interleaved(base: &Suite, head: &Suite, seed: u64) -> Self {
        let lanes = vec![Lane::new(Some(Side::Base), base), Lane::new(Some(Side::Head), head)];
        let mut coin_source = rand_pcg::Pcg64::seed_from_u64(seed);
        let mut coin = || coin_source.random::<bool>();
        let mut heads = lanes[1].cases(1);
        let mut steps = Vec::new();
        for case in lanes[0].cases(0) {
            let partner = heads.iter().position(|head| head.id == case.id);
            let mut cases = vec![case];
            cases.extend(partner.map(|index| heads.remove(index)));
            steps.push(Step::new(cases, &mut coin));
        }
        steps.extend(heads.into_iter().map(|case| Step::new(vec![case], &mut coin)));
        Self { lanes, steps, seed }
    }

    /// Processes in the whole plan.
    pub fn processes(&self) -> usize {
        self.steps.iter().map(|step| step.turns.len()).sum()
    }
}

impl Lane {
    fn new(side: Option<Side>, suite: &Suite) -> Self {
        Self { side, benchmarks: suite.benchmarks.iter().cloned().map(Arc::new).collect() }
    }

    fn cases(&self, lane: usize) -> Vec<PlannedCase> {
        let points = |benchmark: &Arc<Benchmark>| {
            let benchmark = benchmark.clone();
            let cases: Vec<_> = benchmark
                .points
                .iter()
                .map(|point| PlannedCase {
                    lane,
                    benchmark: benchmark.clone(),
                    id: case_id(&benchmark, point),
                })
                .collect();
            cases
        };
        self.benchmarks.iter().flat_map(points).collect()
    }
}

impl Step {
    /// `coin`: true lets the second lane go first in a round.
    fn new(cases: Vec<PlannedCase>, coin: &mut impl FnMut() -> bool) -> Self {
        let processes = |case: &PlannedCase| case.benchmark.settings.processes.value;
        let rounds = cases.iter().map(processes).max().unwrap_or(0);
        let mut turns = Vec::new();
        for round in 0..rounds {
            let mut order: Vec<usize> =
                (0..cases.len()).filter(|index| round < processes(&cases[*index])).collect();
            if order.len() == 2 && coin() {
                order.swap(0, 1);
            }
            turns.extend(order.into_iter().enumerate().map(|(slot, case)| Turn {
                case,
                process: round,
                round,
                slot: slot as u8,
            }));
        }
        Self { cases, turns }
    }
}

/// The identity of one point of a benchmark, before it has told its device.
pub fn case_id(benchmark: &Benchmark, point: &Params) -> CaseId {
    CaseId {
        benchmark: benchmark.id.clone(),
        variant: None,
        params: point.clone(),
        timing: benchmark.timing,
        thermal: benchmark.settings.thermal.value,
        device: "host".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Action, Source};

    fn suite(names: &[&str], processes: u32) -> Suite {
        let benchmark = |name: &&str| {
            let action = Action::Command(vec!["true".into()]);
            let mut benchmark = Benchmark::new(name.parse().unwrap(), action, "/".into());
            benchmark.settings.processes.value = processes;
            benchmark
        };
        Suite::new("s", Source::Builtin, names.iter().map(benchmark).collect())
    }

    #[test]
    fn a_single_run_takes_case_after_case() {
        let plan = Plan::single(&suite(&["s/a", "s/b"], 3));
        assert_eq!(plan.processes(), 6);
        let processes: Vec<_> = plan.steps[1].turns.iter().map(|turn| turn.process).collect();
        assert_eq!(processes, [0, 1, 2]);
    }

    #[test]
    fn every_round_gives_each_side_one_process_and_the_coin_is_fair() {
        let plan = Plan::interleaved(&suite(&["s/a"], 400), &suite(&["s/a"], 400), 7);
        let turns = &plan.steps[0].turns;
        assert_eq!(turns.len(), 800);
        for pair in turns.chunks(2) {
            assert_eq!((pair[0].round, pair[0].slot, pair[1].slot), (pair[1].round, 0, 1));
            assert_ne!(pair[0].case, pair[1].case);
        }
        let base_first = turns.iter().filter(|turn| turn.slot == 0 && turn.case == 0).count();
        assert!((140..=260).contains(&base_first), "{base_first} of 400");
    }

    #[test]
    fn the_coin_depends_on_the_seed_alone() {
        let order = |seed| {
            let plan = Plan::interleaved(&suite(&["s/a", "s/b"], 20), &suite(&["s/a", "s/b"], 20), seed);
            plan.steps.iter().flat_map(|step| step.turns.clone()).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn a_case_of_one_side_only_still_runs() {
        let plan = Plan::interleaved(&suite(&["s/a", "s/gone"], 2), &suite(&["s/a", "s/new"], 2), 1);
        let lanes: Vec<Vec<_>> =
            plan.steps.iter().map(|step| step.cases.iter().map(|case| case.lane).collect()).collect();
        assert_eq!(lanes, [vec![0, 1], vec![0], vec![1]]);
    }
}
