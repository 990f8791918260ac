//! Groups the pairs of a round that share their processes, and orders the processes.

use super::round::{Point, ProcessStart};
use gbench_model::{CaseId, Params};
use gbench_suite::plan::RoundsPlan;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct GroupMember {
    pub pair: usize,
    pub round: u32,
    /// By arm: the index of the process that its case gets, if it gets one.
    pub processes: [Option<u32>; 3],
    pub shared: bool,
}

/// Groups the pairs that share their processes: points of one benchmark in the same round, if the same sides of them take part.
/// Base and head are then asked for the same points. Other pairs stay alone. Each group takes the place of its first pair.
pub(super) fn group(plan: &RoundsPlan, members: Vec<GroupMember>) -> Vec<Vec<GroupMember>> {
    let mut groups: Vec<Vec<GroupMember>> = Vec::new();
    for member in members {
        let pair = &plan.pairs[member.pair];
        let fits = |group: &&mut Vec<GroupMember>| {
            let first = &group[0];
            first.shared
                && plan.pairs[first.pair].id().benchmark == pair.id().benchmark
                && first.round == member.round
                && (0..2).all(|arm| first.processes[arm].is_some() == member.processes[arm].is_some())
                && group.iter().all(|other| other.pair != member.pair)
        };
        let group = if member.shared { groups.iter_mut().find(fits) } else { None };
        match group {
            Some(group) => group.push(member),
            None => groups.push(vec![member]),
        }
    }
    groups
}

/// The processes of one group, in the random order of the round.
///
/// With shared processes, the order is drawn for the benchmark, not for each of its points. It depends on whether any point
/// has a control, not on which points are still open, so it is the same whatever is decided or resumed meanwhile. A shared
/// control measures everything that base measures, including points without a control, so that the two are alike.
pub(super) fn starts(plan: &RoundsPlan, group: &[GroupMember]) -> Vec<ProcessStart> {
    let first = &plan.pairs[group[0].pair];
    let round = group[0].round;
    let arms: Vec<usize> = if group[0].shared {
        let id = CaseId { params: Params::new(), ..first.id().clone() };
        let of_benchmark = plan.pairs.iter().filter(|pair| pair.id().benchmark == id.benchmark);
        let controlled = of_benchmark.flat_map(|pair| &pair.cases).any(|case| case.arm == 2);
        plan.order.in_round(&id, round, if controlled { 3 } else { 2 })
    } else {
        let order = plan.order.in_round(first.id(), round, first.cases.len());
        order.into_iter().map(|case| first.cases[case].arm).collect()
    };
    let mut members: Vec<&GroupMember> = group.iter().collect();
    if group[0].shared && first.cases[0].benchmark.harness.is_some() {
        // The order of the points is random, too, and the same on every side.
        members.sort_by_cached_key(|member| plan.order.place(plan.pairs[member.pair].id(), round));
    }
    arms.into_iter().filter_map(|arm| start(plan, &members, arm)).collect()
}

fn start(plan: &RoundsPlan, group: &[&GroupMember], arm: usize) -> Option<ProcessStart> {
    let place = |pair: usize, arm: usize| plan.pairs[pair].cases.iter().position(|case| case.arm == arm);
    let point = |member: &&GroupMember| {
        let GroupMember { pair, processes, .. } = **member;
        if let Some(process) = processes[arm] {
            return Some(Point { pair, case: place(pair, arm)?, process, discarded: false });
        }
        let process = processes[0].filter(|_| arm == 2)?;
        Some(Point { pair, case: place(pair, 0)?, process, discarded: true })
    };
    let points: Vec<Point> = group.iter().filter_map(point).collect();
    let shared = group.iter().any(|member| member.shared);
    points.iter().any(|point| !point.discarded).then_some(ProcessStart { arm, points, shared })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::ParamValue;
    use gbench_suite::plan::{choose_controls, common_cases};
    use gbench_suite::{Action, Benchmark, Source, Suite};

    /// `s/shared` has the points n = 0, 1, 2; `s/own` has n = 0, 1, each with its own process.
    fn plan(controls: usize) -> RoundsPlan {
        let benchmark = |name: &str, share: bool, points: i64| {
            let action = Action::Command(vec!["true".into()]);
            let mut it = Benchmark::new(name.parse().unwrap(), action, "/".into());
            it.settings.share.value = share;
            it.points = (0..points).map(|n| Params::from([("n".into(), ParamValue::Int(n))])).collect();
            it
        };
        let benchmarks = vec![benchmark("s/shared", true, 3), benchmark("s/own", false, 2)];
        let suite = Suite::new("s", Source::Builtin, benchmarks);
        let common = common_cases(&suite, &suite);
        RoundsPlan::new(&suite, &suite, &choose_controls(&common[..3], controls, 1), 7)
    }

    fn members(plan: &RoundsPlan, rounds: &[u32]) -> Vec<GroupMember> {
        let member = |(pair, round): (usize, &u32)| {
            let on = |arm| plan.pairs[pair].cases.iter().any(|case| case.arm == arm).then_some(*round);
            let shared = plan.pairs[pair].shares(true);
            GroupMember { pair, round: *round, processes: [on(0), on(1), on(2)], shared }
        };
        rounds.iter().enumerate().map(member).collect()
    }

    fn pairs(groups: &[Vec<GroupMember>]) -> Vec<Vec<usize>> {
        groups.iter().map(|group| group.iter().map(|member| member.pair).collect()).collect()
    }

    #[test]
    fn points_share_a_process_where_the_suite_says_so_and_the_round_is_the_same() {
        let plan = plan(0);
        assert_eq!(pairs(&group(&plan, members(&plan, &[0; 5]))), [vec![0, 1, 2], vec![3], vec![4]]);
        assert_eq!(
            pairs(&group(&plan, members(&plan, &[1, 2, 1, 0, 0]))),
            [vec![0, 2], vec![1], vec![3], vec![4]]
        );
        let mut one_sided = members(&plan, &[0; 5]);
        one_sided[1].processes[0] = None;
        assert_eq!(pairs(&group(&plan, one_sided)), [vec![0, 2], vec![1], vec![3], vec![4]]);
        let mut twice = members(&plan, &[0; 1]);
        twice.push(twice[0].clone());
        assert_eq!(pairs(&group(&plan, twice)), [vec![0], vec![0]]);
    }

    #[test]
    fn the_coin_of_a_shared_process_does_not_ask_which_points_are_left() {
        let plan = plan(1);
        let mut orders = std::collections::HashSet::new();
        for round in 0..40 {
            let arms = |members: &[GroupMember]| -> Vec<usize> {
                starts(&plan, members).iter().map(|start| start.arm).filter(|arm| *arm < 2).collect()
            };
            let all = members(&plan, &[round; 3]);
            let whole = arms(&all);
            for member in all {
                assert_eq!(arms(&[member]), whole);
            }
            orders.insert(whole);
        }
        assert_eq!(orders.len(), 2);
    }

    #[test]
    fn a_shared_control_measures_what_the_base_measures_and_keeps_its_own() {
        let plan = plan(1);
        let starts = starts(&plan, &members(&plan, &[0; 3]));
        let control = starts.iter().find(|start| start.arm == 2).unwrap();
        assert_eq!(control.points.iter().map(|point| point.pair).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(control.points.iter().filter(|point| !point.discarded).count(), 1);
        let others = starts.iter().filter(|start| start.arm < 2);
        assert!(others.flat_map(|start| &start.points).all(|point| !point.discarded));
    }
}
