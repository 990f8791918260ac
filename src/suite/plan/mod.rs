//! Plans what is measured, in which order. Pure: the same suites and seed give the same plan.
//!
//! An ordinary run has a [`Plan`]: one case after the other, so that a run that is cut short holds whole cases. A
//! comparison of two commits has a [`RoundsPlan`]: base and head in rounds, in an order that is random, with a recorded
//! seed, so that whatever drifts on the machine meets both sides alike.

mod claims;
mod order;
mod rounds;
mod shard;

use std::sync::Arc;

use crate::model::{CaseId, Params, Side};
use crate::suite::{Benchmark, Suite};

pub use claims::check_claims;
pub use order::{RunOrder, order};
pub use rounds::{PlannedPair, RoundsPlan, choose_controls, common_cases};
pub use shard::keep_shard;

/// Everything that a session carries out.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One; a [`RoundsPlan`] has more.
    pub arms: Vec<Arm>,
    pub steps: Vec<PlanStep>,
}

/// One record's worth of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Absent in an ordinary run.
    pub side: Option<Side>,
    /// Every selected benchmark, for what happens once a benchmark: requirements and builds.
    pub benchmarks: Vec<Arc<Benchmark>>,
}

/// One case, on each arm that has it.
#[derive(Clone, Debug)]
pub struct PlanStep {
    pub cases: Vec<PlannedCase>,
    /// Processes in the order in which they are started.
    pub turns: Vec<PlannedProcess>,
}

/// A case as planned; the device is not known before it has run.
#[derive(Clone, Debug)]
pub struct PlannedCase {
    /// Index into [`Plan::arms`].
    pub arm: usize,
    pub benchmark: Arc<Benchmark>,
    pub id: CaseId,
}

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedProcess {
    /// Index into [`PlanStep::cases`].
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
        let arm = Arm::new(None, suite);
        let steps = arm.cases(0).into_iter().map(PlanStep::new).collect();
        Self { arms: vec![arm], steps }
    }

    /// Processes in the whole plan.
    pub fn processes(&self) -> usize {
        self.steps.iter().map(|step| step.turns.len()).sum()
    }
}

impl Arm {
    fn new(side: Option<Side>, suite: &Suite) -> Self {
        Self { side, benchmarks: suite.benchmarks.iter().cloned().map(Arc::new).collect() }
    }

    fn cases(&self, arm: usize) -> Vec<PlannedCase> {
        let points = |benchmark: &Arc<Benchmark>| {
            let benchmark = benchmark.clone();
            let cases: Vec<_> = benchmark
                .points
                .iter()
                .map(|point| PlannedCase {
                    arm,
                    benchmark: benchmark.clone(),
                    id: case_id(&benchmark, point),
                })
                .collect();
            cases
        };
        self.benchmarks.iter().flat_map(points).collect()
    }
}

impl PlanStep {
    fn new(case: PlannedCase) -> Self {
        let processes = case.benchmark.settings.processes.value;
        let turn = |process| PlannedProcess { case: 0, process, round: process, slot: 0 };
        Self { cases: vec![case], turns: (0..processes).map(turn).collect() }
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
}
