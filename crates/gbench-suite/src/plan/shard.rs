//! Splits a suite into shards for several jobs.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{case_id, case_ids};
use crate::suite::Suite;
use gbench_model::{CaseId, Params, Shard};

/// Keeps one shard's cases in suites that are measured together. Each case is in exactly one shard, the same for all suites.
/// Cases are dealt out in the order of their names, so that all jobs agree whatever their files' order: first the cases of
/// every suite, so that each shard can compare something, then the rest. A baseline and its optimized variants stay together, and so do the kernels of a program.
/// Benchmarks without cases are removed.
///
/// Returns the number of cases that every suite has, before the split. Errors: the number of all cases (a pair is one), if it
/// is smaller than the number of shards.
pub fn keep_shard(suites: &mut [&mut Suite], shard: Shard) -> Result<usize, usize> {
    let cases: Vec<HashSet<CaseId>> =
        suites.iter().map(|suite| suite.benchmarks.iter().flat_map(case_ids).collect()).collect();
    let in_all = |case: &CaseId| cases.iter().all(|others| others.contains(case));
    let mut dealt: BTreeMap<(bool, String, CaseId), BTreeSet<&CaseId>> = BTreeMap::new();
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
        dealt.entry((!in_all(case), whole.to_string(), whole)).or_default().insert(case);
    }
    if dealt.len() < shard.of as usize {
        return Err(dealt.len());
    }
    let common = dealt.iter().filter(|((one_sided, ..), _)| !one_sided).map(|(_, cases)| cases.len()).sum();
    let mine = |place: usize| place % shard.of as usize == shard.index as usize - 1;
    let here = dealt.values().enumerate().filter(|(place, _)| mine(*place));
    let dealt_here: HashSet<CaseId> = here.flat_map(|(_, cases)| cases.iter().copied().cloned()).collect();
    for suite in suites {
        for benchmark in &mut suite.benchmarks {
            let mut points = std::mem::take(&mut benchmark.points);
            points.retain(|point| dealt_here.contains(&case_id(benchmark, point)));
            benchmark.points = points;
        }
        suite.benchmarks.retain(|benchmark| !benchmark.points.is_empty());
    }
    Ok(common)
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
            assert_eq!(keep_shard(&mut [&mut base, &mut head], Shard { index, of: 2 }), Ok(2));
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
            assert_eq!(keep_shard(&mut [&mut part], Shard { index, of: 3 }), Ok(6));
            cases_of(&part).len()
        });
        assert_eq!(sizes, [1, 3, 2]);
    }

    #[test]
    fn more_shards_than_cases_are_refused() {
        let (mut base, mut head) = (named(&["a", "b"]), named(&["b", "c"]));
        assert_eq!(keep_shard(&mut [&mut base, &mut head], Shard { index: 1, of: 4 }), Err(3));
        assert_eq!(keep_shard(&mut [&mut base, &mut head], Shard { index: 1, of: 3 }), Ok(1));
    }

    proptest! {
        #[test]
        fn every_case_of_either_side_is_in_exactly_one_shard(
            base in prop::collection::btree_map("[a-e]", 1..4_i64, 1..5),
            head in prop::collection::btree_map("[a-e]", 1..4_i64, 1..5),
            of in 1..12_u32,
        ) {
            let [base, head] = [base, head].map(|side| suite(&side.into_iter().collect::<Vec<_>>()));
            let whole: HashSet<CaseId> = cases_of(&base).union(&cases_of(&head)).cloned().collect();
            let mut seen = Vec::new();
            for index in 1..=of {
                let (mut one, mut two) = (base.clone(), head.clone());
                match keep_shard(&mut [&mut one, &mut two], Shard { index, of }) {
                    Err(cases) => {
                        prop_assert_eq!(cases, whole.len());
                        prop_assert!(cases < of as usize);
                        return Ok(());
                    }
                    Ok(_) => seen.extend(cases_of(&one).union(&cases_of(&two)).cloned()),
                }
            }
            prop_assert_eq!(seen.len(), whole.len());
            prop_assert_eq!(seen.into_iter().collect::<HashSet<_>>(), whole);
        }
    }
}
