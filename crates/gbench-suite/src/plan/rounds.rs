//! A comparison in rounds: the compared cases. Their order in time is decided during the run.

use std::collections::{HashMap, HashSet};

use rand::{RngExt, SeedableRng};

use super::order::RunOrder;
use super::{Arm, PlannedCase, case_ids};
use crate::suite::Suite;
use gbench_model::{CaseId, Counting, Side};

/// Everything that a comparison in rounds may measure.
#[derive(Clone, Debug)]
pub struct RoundsPlan {
    /// Base, head and, if any case is a control, the base again: same tree, same build, only those cases.
    pub arms: Vec<Arm>,
    /// The base's cases in its order, then those of the head alone.
    pub pairs: Vec<PlannedPair>,
    pub order: RunOrder,
}

#[derive(Clone, Debug)]
pub struct PlannedPair {
    /// In the order of the arms.
    pub cases: Vec<PlannedCase>,
}

impl PlannedPair {
    /// The same on every arm.
    pub fn id(&self) -> &CaseId {
        &self.cases[0].id
    }

    /// True if both sides have it. A case of one side is measured once, to know that it works.
    pub fn is_comparable(&self) -> bool {
        self.cases.iter().filter(|case| case.arm < 2).count() == 2
    }

    /// True if the suite lets its processes be shared on every side. `screening`: see [`crate::Benchmark::shares`].
    pub fn shares(&self, screening: bool) -> bool {
        self.cases.iter().all(|case| case.benchmark.shares(screening))
    }
}

impl RoundsPlan {
    /// `controls`: cases that a third arm also measures, the base against itself; cases of one side are dropped. See
    /// [`choose_controls`].
    pub fn new(base: &Suite, head: &Suite, controls: &[CaseId], order: impl Into<RunOrder>) -> Self {
        let mut arms = vec![Arm::new(Some(Side::Base), base), Arm::new(Some(Side::Head), head)];
        let heads = arms[1].cases(1);
        let mut unpaired: HashMap<&CaseId, &PlannedCase> =
            heads.iter().map(|case| (&case.id, case)).collect();
        let controls: HashSet<&CaseId> = controls.iter().collect();
        let mut pairs = Vec::new();
        for case in arms[0].cases(0) {
            let head = unpaired.remove(&case.id).cloned();
            let control = (head.is_some() && controls.contains(&case.id))
                .then(|| PlannedCase { arm: 2, ..case.clone() });
            pairs.push(PlannedPair { cases: [Some(case), head, control].into_iter().flatten().collect() });
        }
        let of_head_alone = heads.iter().filter(|case| unpaired.contains_key(&case.id));
        pairs.extend(of_head_alone.map(|case| PlannedPair { cases: vec![case.clone()] }));
        let on_control = |id: &str| {
            let mut cases = pairs.iter().flat_map(|pair| &pair.cases).filter(|case| case.arm == 2);
            cases.any(|case| case.benchmark.id.as_str() == id)
        };
        let benchmarks = arms[0].benchmarks.iter().filter(|benchmark| on_control(benchmark.id.as_str()));
        let control = Arm { side: Some(Side::Control), benchmarks: benchmarks.cloned().collect() };
        if !control.benchmarks.is_empty() {
            arms.push(control);
        }
        Self { arms, pairs, order: order.into() }
    }

    pub fn comparable(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.is_comparable()).count()
    }

    /// The number of processes in a round in which every comparable case screens, as far as the suite knows. Without those that
    /// count instructions.
    pub fn screening_processes(&self) -> usize {
        let (mut alone, mut shared) = (0, HashSet::new());
        for pair in self.pairs.iter().filter(|pair| pair.is_comparable()) {
            if pair.shares(true) {
                shared.extend(pair.cases.iter().map(|case| (&pair.id().benchmark, case.arm)));
            } else {
                alone += pair.cases.len();
            }
        }
        alone + shared.len()
    }

    /// True if cases share processes until one of them is a candidate.
    pub fn screens_in_shared_processes(&self) -> bool {
        let screens = |pair: &&PlannedPair| pair.is_comparable() && pair.shares(true) && !pair.shares(false);
        let mut seen = HashSet::new();
        self.pairs.iter().filter(screens).any(|pair| !seen.insert(&pair.id().benchmark))
    }

    /// The maximum number of processes in a round that count instructions: two for each side of a case with `count`.
    pub fn counting_processes(&self) -> usize {
        let sides = self.pairs.iter().filter(|pair| pair.is_comparable()).flat_map(|pair| &pair.cases);
        let counts = |case: &&PlannedCase| case.benchmark.settings.count.value != Counting::Off;
        2 * sides.filter(|case| case.arm < 2).filter(counts).count()
    }

    pub fn of_arm(&self, arm: usize) -> impl Iterator<Item = &PlannedCase> {
        self.pairs.iter().flat_map(|pair| &pair.cases).filter(move |case| case.arm == arm)
    }
}

/// The cases of both suites, in the base's order, before harnesses list theirs.
pub fn common_cases(base: &Suite, head: &Suite) -> Vec<CaseId> {
    let head: HashSet<CaseId> = head.benchmarks.iter().flat_map(case_ids).collect();
    base.benchmarks.iter().flat_map(case_ids).filter(|id| head.contains(id)).collect()
}

/// Up to `most` of the cases, spread over the suite: a random one from each of `most` stretches of equal length. Deterministic
/// by seed.
pub fn choose_controls(cases: &[CaseId], most: usize, seed: u64) -> Vec<CaseId> {
    let most = most.min(cases.len());
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed ^ 0x636f_6e74_726f_6c73);
    let pick = |stretch: usize| {
        let (from, to) = (stretch * cases.len() / most, (stretch + 1) * cases.len() / most);
        cases[random.random_range(from..to)].clone()
    };
    (0..most).map(pick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::definition::Benchmark;
    use crate::benchmark::launch::Action;
    use crate::plan::case_id;
    use crate::suite::Source;
    use gbench_model::{ParamValue, Params};

    fn suite(names: &[&str]) -> Suite {
        let benchmark = |name: &&str| {
            let action = Action::Command(vec!["true".into()]);
            Benchmark::new(name.parse().unwrap(), action, "/".into())
        };
        Suite::new("s", Source::Builtin, names.iter().map(benchmark).collect())
    }

    fn arms(plan: &RoundsPlan) -> Vec<Vec<usize>> {
        plan.pairs.iter().map(|pair| pair.cases.iter().map(|case| case.arm).collect()).collect()
    }

    #[test]
    fn controls_are_measured_on_a_third_arm_and_only_where_both_sides_have_the_case() {
        let (base, head) = (suite(&["s/a", "s/gone", "s/b"]), suite(&["s/new", "s/b", "s/a"]));
        let common = common_cases(&base, &head);
        let names: Vec<_> = common.iter().map(|id| id.benchmark.as_str()).collect();
        assert_eq!(names, ["s/a", "s/b"]);
        let gone = case_id(&base.benchmarks[1], &Default::default());
        let plan = RoundsPlan::new(&base, &head, &[common[1].clone(), gone], 1);
        assert_eq!(arms(&plan), [vec![0, 1], vec![0], vec![0, 1, 2], vec![1]]);
        assert_eq!(plan.comparable(), 2);
        let sides: Vec<_> = plan.arms.iter().map(|arm| arm.side).collect();
        assert_eq!(sides, [Some(Side::Base), Some(Side::Head), Some(Side::Control)]);
        assert_eq!(plan.arms[2].benchmarks.len(), 1);
        assert_eq!(
            plan.of_arm(1).map(|case| case.id.benchmark.name()).collect::<Vec<_>>(),
            ["a", "b", "new"]
        );
    }

    #[test]
    fn cases_that_share_a_process_are_one_of_a_side_and_round() {
        let with = |share: bool| {
            let mut suite = suite(&["s/a", "s/b"]);
            suite.benchmarks[0].settings.share.value = share;
            suite.benchmarks[0].points =
                (0..3).map(|n| Params::from([("n".into(), ParamValue::Int(n))])).collect();
            let control = choose_controls(&common_cases(&suite, &suite)[..3], 1, 7);
            RoundsPlan::new(&suite, &suite, &control, 1).screening_processes()
        };
        assert_eq!((with(true), with(false)), (3 + 2, 7 + 2));
    }

    #[test]
    fn without_controls_there_are_two_arms() {
        let plan = RoundsPlan::new(&suite(&["s/a"]), &suite(&["s/a"]), &[], 1);
        assert_eq!((plan.arms.len(), arms(&plan)), (2, vec![vec![0, 1]]));
    }

    #[test]
    fn controls_are_spread_over_the_suite() {
        let names: Vec<String> = (0..100).map(|n| format!("s/{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let cases = common_cases(&suite(&names), &suite(&names));
        let chosen = |seed| -> Vec<usize> {
            let chosen = choose_controls(&cases, 5, seed);
            chosen.iter().map(|id| id.benchmark.name().parse().unwrap()).collect()
        };
        assert_eq!(chosen(1), chosen(1));
        assert_ne!(chosen(1), chosen(2));
        let stretches: Vec<usize> = chosen(1).iter().map(|n| n / 20).collect();
        assert_eq!(stretches, [0, 1, 2, 3, 4]);
        assert_eq!(choose_controls(&cases[..2], 5, 1).len(), 2);
        assert!(choose_controls(&[], 5, 1).is_empty());
    }
}
