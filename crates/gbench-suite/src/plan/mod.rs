//! Plans what is measured, in which order. Pure: the same suites and seed give the same plan.
//!
//! An ordinary run has a [`Plan`]: case after case, so that an interrupted run has whole cases. A comparison of two commits has
//! a [`RoundsPlan`]: base and head in rounds, in a random order with a recorded seed, so that drift of the machine affects both
//! sides alike.

mod balance;
mod case_id;
mod claims;
mod order;
mod rounds;
mod shard;
mod shard_plan;

use std::sync::Arc;

use crate::benchmark::definition::Benchmark;
use crate::suite::Suite;
use gbench_model::{CaseId, Side};

use case_id::case_ids;

pub use case_id::case_id;
pub use claims::check_claims;
pub use order::RunOrder;
pub use rounds::{PlannedPair, RoundsPlan, choose_controls, common_cases};
pub use shard::{ShardCut, keep_shard};
pub use shard_plan::{ShardEstimate, ShardPlan};

/// An ordinary run: case after case, each with the processes that its settings ask for.
#[derive(Clone, Debug)]
pub struct Plan {
    pub arm: Arm,
    pub cases: Vec<PlannedCase>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// `None` in an ordinary run.
    pub side: Option<Side>,
    pub benchmarks: Vec<Arc<Benchmark>>,
}

/// A planned case; the device is known only after it has run.
#[derive(Clone, Debug)]
pub struct PlannedCase {
    /// Index into [`RoundsPlan::arms`]; 0 in a [`Plan`].
    pub arm: usize,
    pub benchmark: Arc<Benchmark>,
    pub id: CaseId,
}

impl Plan {
    pub fn single(suite: &Suite) -> Self {
        let arm = Arm::new(None, suite);
        Self { cases: arm.cases(0), arm }
    }

    pub fn processes(&self) -> usize {
        self.cases.iter().map(|case| case.benchmark.settings.processes.value as usize).sum()
    }
}

impl Arm {
    fn new(side: Option<Side>, suite: &Suite) -> Self {
        Self { side, benchmarks: suite.benchmarks.iter().cloned().map(Arc::new).collect() }
    }

    fn cases(&self, arm: usize) -> Vec<PlannedCase> {
        let of_benchmark = |benchmark: &Arc<Benchmark>| -> Vec<PlannedCase> {
            let planned = |id| PlannedCase { arm, benchmark: benchmark.clone(), id };
            case_ids(benchmark).map(planned).collect()
        };
        self.benchmarks.iter().flat_map(of_benchmark).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::launch::Action;
    use crate::suite::Source;

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
        let names: Vec<_> = plan.cases.iter().map(|case| case.id.benchmark.as_str()).collect();
        assert_eq!(names, ["s/a", "s/b"]);
    }
}
