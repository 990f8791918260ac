//! Splits a suite into shards for several jobs.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::balance::deal;
use super::shard_plan::ShardPlan;
use super::{case_id, case_ids};
use crate::suite::Suite;
use gbench_model::{CaseId, Params, Shard, sha256_hex};

/// How a suite was cut. The same in all jobs of a matrix, except for what is said to be of this shard.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardCut {
    /// The part of the suite's error rates that this shard may spend: its part of the cases that every suite has, where a
    /// shard without any counts as one with one case. The parts of all shards add up to 1.
    pub share: f64,
    /// The cases that every suite has in the shard with the fewest of them.
    pub least: usize,
    /// Covers all shards and their cases: two jobs with the same digest have cut the suite alike. 16 hexadecimal digits.
    pub digest: String,
    /// Cases of this shard, a case that several suites have once.
    pub cases: usize,
    /// Seconds that this shard is expected to take, and how many cases the plan does not know in all. `None` without a plan.
    pub expected: Option<(f64, usize)>,
}

/// Keeps one shard's cases in suites that are measured together. Each case is in exactly one shard, the same for all suites.
/// A baseline and its optimized variants stay together, and so do the kernels of a program. First the cases of every suite are
/// dealt out, so that each shard can compare something, then the rest: by `plan` so that all shards take about as long, else in
/// the order of their names, so that all have as many. All jobs agree, whatever their files' order. Benchmarks without cases
/// are removed.
///
/// Errors: the number of all cases (a pair is one), if it is smaller than the number of shards.
pub fn keep_shard(
    suites: &mut [&mut Suite],
    shard: Shard,
    plan: Option<&ShardPlan>,
) -> Result<ShardCut, usize> {
    let cases: Vec<HashSet<CaseId>> =
        suites.iter().map(|suite| suite.benchmarks.iter().flat_map(case_ids).collect()).collect();
    let in_all = |case: &CaseId| cases.iter().all(|others| others.contains(case));
    let mut wholes: BTreeMap<(bool, String, CaseId), BTreeSet<&CaseId>> = BTreeMap::new();
    let traced: HashSet<_> = suites
        .iter()
        .flat_map(|suite| &suite.benchmarks)
        .filter(|it| it.is_traced())
        .map(|it| it.id.clone())
        .collect();
    for case in cases.iter().flatten() {
        let whole = match case.pair() {
            // The kernels of a program stay with the whole.
            _ if traced.contains(&case.benchmark) => CaseId { params: Params::new(), ..case.clone() },
            pair => pair.unwrap_or_else(|| case.clone()),
        };
        wholes.entry((!in_all(case), whole.to_string(), whole)).or_default().insert(case);
    }
    if wholes.len() < shard.of as usize {
        return Err(wholes.len());
    }
    let (places, expected) = match plan {
        Some(plan) => by_cost(&wholes, shard, plan),
        None => ((0..wholes.len()).map(|place| place % shard.of as usize).collect(), None),
    };
    let mut common = vec![0; shard.of as usize];
    let mut cut = String::new();
    let mut here: HashSet<CaseId> = HashSet::new();
    for (((one_sided, name, _), cases), place) in wholes.iter().zip(places) {
        cut += &format!("{place} {one_sided} {} {name}\n", cases.len());
        if !one_sided {
            common[place] += cases.len();
        }
        if place == shard.index as usize - 1 {
            here.extend(cases.iter().map(|case| (*case).clone()));
        }
    }
    for suite in suites {
        for benchmark in &mut suite.benchmarks {
            let mut points = std::mem::take(&mut benchmark.points);
            points.retain(|point| here.contains(&case_id(benchmark, point)));
            benchmark.points = points;
        }
        suite.benchmarks.retain(|benchmark| !benchmark.points.is_empty());
    }
    let weight = |common: &usize| (*common).max(1) as f64;
    Ok(ShardCut {
        share: weight(&common[shard.index as usize - 1]) / common.iter().map(weight).sum::<f64>(),
        least: common.iter().min().copied().unwrap_or_default(),
        digest: sha256_hex(cut.as_bytes())[..16].to_owned(),
        cases: here.len(),
        expected,
    })
}

/// The place of each whole, in order, and what this shard is expected to take. Those that are not in every suite come after
/// the others, however dear they are.
fn by_cost(
    wholes: &BTreeMap<(bool, String, CaseId), BTreeSet<&CaseId>>,
    shard: Shard,
    plan: &ShardPlan,
) -> (Vec<usize>, Option<(f64, usize)>) {
    let (expected, unknown) = plan.expected(wholes.values().flatten().copied());
    let cost = |cases: &BTreeSet<&CaseId>| cases.iter().filter_map(|case| expected.get(case)).sum();
    let costs: Vec<u64> = wholes.values().map(cost).collect();
    let (common, rest) = costs.split_at(wholes.keys().filter(|(one_sided, ..)| !one_sided).count());
    let mut loads = vec![0; shard.of as usize];
    let mut places = deal(common, &mut loads);
    places.extend(deal(rest, &mut loads));
    let seconds = plan.start() + loads[shard.index as usize - 1] as f64 / 1000.0;
    (places, Some((seconds, unknown.len())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::benchmark::definition::Benchmark;
    use crate::benchmark::launch::Action;
    use crate::suite::Source;
    use gbench_model::{ParamValue, Params};

    fn cases_of(suite: &Suite) -> HashSet<CaseId> {
        suite.benchmarks.iter().flat_map(case_ids).collect()
    }

    fn suite(benchmarks: &[(String, i64)]) -> Suite {
        let benchmark = |(name, points): &(String, i64)| {
            let action = Action::Command(vec!["true".into()]);
            let mut benchmark = Benchmark::new(format!("s/{name}").parse().unwrap(), action, "/".into());
            let point = |n: i64| Params::from([("n".to_owned(), ParamValue::Int(n))]);
            benchmark.points = (0..*points).map(point).collect();
            benchmark
        };
        Suite::new("s", Source::Builtin, benchmarks.iter().map(benchmark).collect())
    }

    fn named(names: &[&str]) -> Suite {
        suite(&names.iter().map(|name| ((*name).to_owned(), 1)).collect::<Vec<_>>())
    }

    #[test]
    fn what_both_sides_have_is_dealt_out_first() {
        let (base, head) = (named(&["a", "d", "gone"]), named(&["d", "b", "c", "a"]));
        let parts = [1, 2].map(|index| {
            let (mut base, mut head) = (base.clone(), head.clone());
            let cut = keep_shard(&mut [&mut base, &mut head], Shard { index, of: 2 }, None).unwrap();
            assert_eq!((cut.least, cut.share), (1, 0.5));
            let names = |suite: &Suite| -> Vec<String> {
                suite.benchmarks.iter().map(|benchmark| benchmark.id.name().to_owned()).collect()
            };
            (names(&base), names(&head))
        });
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(parts[0], (words(&["a", "gone"]), words(&["b", "a"])));
        assert_eq!(parts[1], (words(&["d"]), words(&["d", "c"])));
    }

    #[test]
    fn s0_50_a_baseline_and_its_optimized_variants_are_dealt_out_together() {
        let mut whole = named(&["a", "book"]);
        let member = |case: &str, variant: &str, technique: &str| {
            let texts = [("case", case), ("variant", variant), ("technique", technique)];
            let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
            texts.map(|(name, text)| (name.to_owned(), ParamValue::Text(text.into()))).collect::<Params>()
        };
        whole.benchmarks[1].points = vec![
            member("x", "baseline", ""),
            member("y", "optimized", ""),
            member("x", "optimized", "fused"),
            member("y", "baseline", ""),
            member("x", "optimized", ""),
        ];
        let sizes = [1, 2, 3].map(|index| {
            let mut part = whole.clone();
            assert_eq!(keep_shard(&mut [&mut part], Shard { index, of: 3 }, None).unwrap().least, 1);
            cases_of(&part).len()
        });
        assert_eq!(sizes, [1, 3, 2]);
    }

    #[test]
    fn more_shards_than_cases_are_refused() {
        let (mut base, mut head) = (named(&["a", "b"]), named(&["b", "c"]));
        assert_eq!(keep_shard(&mut [&mut base, &mut head], Shard { index: 1, of: 4 }, None), Err(3));
        let cut = keep_shard(&mut [&mut base, &mut head], Shard { index: 1, of: 3 }, None).unwrap();
        // Two shards have nothing to compare, and count as if they had one case.
        assert_eq!((cut.least, cut.share), (0, 1.0 / 3.0));
    }

    #[test]
    fn shards_that_take_as_long_have_error_rates_by_their_cases() {
        let whole = suite(&[("long".into(), 2), ("short".into(), 8)]);
        let cases: Vec<CaseId> = whole.benchmarks.iter().flat_map(case_ids).collect();
        let seconds = |case: &CaseId| if case.benchmark.name() == "long" { 80.0 } else { 10.0 };
        let plan = ShardPlan::new(5.0, cases.iter().map(|case| (case, seconds(case))));
        let cuts = [1, 2, 3].map(|index| {
            let mut part = whole.clone();
            keep_shard(&mut [&mut part], Shard { index, of: 3 }, Some(&plan)).unwrap()
        });
        assert_eq!(cuts.each_ref().map(|cut| cut.cases), [1, 1, 8]);
        assert_eq!(cuts.each_ref().map(|cut| cut.share), [0.1, 0.1, 0.8]);
        assert_eq!(cuts.each_ref().map(|cut| cut.expected), [Some((85.0, 0)); 3]);
        assert!(cuts.iter().all(|cut| cut.least == 1 && cut.digest == cuts[0].digest));
    }

    #[test]
    fn jobs_that_cut_a_suite_otherwise_have_another_digest() {
        let whole = suite(&[("a".into(), 4), ("b".into(), 4)]);
        let cases: Vec<CaseId> = whole.benchmarks.iter().flat_map(case_ids).collect();
        let plan = |dear: usize| {
            let seconds = |at| if at == dear { 90.0 } else { 10.0 };
            ShardPlan::new(0.0, cases.iter().enumerate().map(|(at, case)| (case, seconds(at))))
        };
        let digest = |suite: &Suite, plan: Option<&ShardPlan>| {
            keep_shard(&mut [&mut suite.clone()], Shard { index: 1, of: 2 }, plan).unwrap().digest
        };
        let (one, other) = (plan(0), plan(1));
        let fewer = suite(&[("a".into(), 4), ("b".into(), 3)]);
        let all = [
            digest(&whole, None),
            digest(&fewer, None),
            digest(&whole, Some(&one)),
            digest(&whole, Some(&other)),
        ];
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 4, "{all:?}");
        let reordered = suite(&[("b".into(), 4), ("a".into(), 4)]);
        assert_eq!(digest(&reordered, Some(&one)), all[2]);
    }

    proptest! {
        #[test]
        fn every_case_of_either_side_is_in_exactly_one_shard(
            base in prop::collection::btree_map("[a-e]", 1..4_i64, 1..5),
            head in prop::collection::btree_map("[a-e]", 1..4_i64, 1..5),
            of in 1..12_u32,
            costs in prop::collection::vec(0.0..100.0_f64, 0..8),
        ) {
            let [base, head] = [base, head].map(|side| suite(&side.into_iter().collect::<Vec<_>>()));
            let whole: HashSet<CaseId> = cases_of(&base).union(&cases_of(&head)).cloned().collect();
            let mut sorted: Vec<&CaseId> = whole.iter().collect();
            sorted.sort();
            // Some cases have no cost, and without any the suite is cut by count.
            let plan = (!costs.is_empty()).then(|| ShardPlan::new(1.0, sorted.into_iter().zip(costs)));
            let (mut seen, mut shares, mut digests) = (Vec::new(), 0.0, HashSet::new());
            for index in 1..=of {
                let (mut one, mut two) = (base.clone(), head.clone());
                match keep_shard(&mut [&mut one, &mut two], Shard { index, of }, plan.as_ref()) {
                    Err(cases) => {
                        prop_assert_eq!(cases, whole.len());
                        prop_assert!(cases < of as usize);
                        return Ok(());
                    }
                    Ok(cut) => {
                        let here: Vec<CaseId> = cases_of(&one).union(&cases_of(&two)).cloned().collect();
                        prop_assert_eq!(here.len(), cut.cases);
                        prop_assert!(!here.is_empty() && cut.share > 0.0);
                        shares += cut.share;
                        digests.insert(cut.digest);
                        seen.extend(here);
                    }
                }
            }
            prop_assert!((shares - 1.0_f64).abs() < 1e-12 && digests.len() == 1);
            prop_assert_eq!(seen.len(), whole.len());
            prop_assert_eq!(seen.into_iter().collect::<HashSet<_>>(), whole);
        }
    }
}
