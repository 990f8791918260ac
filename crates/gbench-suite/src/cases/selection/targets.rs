//! `--target ch1:moe`: selects cases by the name of a pair or kernel in a folder.

use crate::benchmark::definition::Benchmark;
use crate::words::listed;
use gbench_formats::adapters::CaseName;
use gbench_formats::adapters::layouts::{CallWay, PythonCall, PythonCase, TargetError, targets};
use gbench_model::{Fault, ParamValue, Params, Result};

/// Keeps the cases that a word matches. Errors: a word that matches nothing, or several things.
pub(super) fn filter_targets(benchmarks: &mut Vec<Benchmark>, words: &[String]) -> Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    let mut kept: Vec<Vec<Params>> = vec![Vec::new(); benchmarks.len()];
    for word in words {
        let (mut found, mut close) = (false, Vec::new());
        for (benchmark, kept) in benchmarks.iter().zip(&mut kept) {
            let cases: Vec<PythonCase> = benchmark.points.iter().filter_map(named).collect();
            match targets(&cases, word) {
                Ok(meant) => {
                    found = true;
                    kept.extend(meant.into_iter().map(|case| point(&case.name)));
                }
                Err(TargetError::Unknown { near, .. }) => close.extend(near),
                Err(TargetError::Ambiguous { names, .. }) => {
                    let next = format!("write one of {}", listed(&names));
                    return Err(Fault::at_flag(format!("--target {word}"), "this is ambiguous", next));
                }
            }
        }
        if !found {
            let next = match close.as_slice() {
                [] => "`gbench-ci list --cases` shows all names".to_owned(),
                close => {
                    format!("did you mean {}? `gbench-ci list --cases` shows all names", listed(close))
                }
            };
            return Err(Fault::at_flag(format!("--target {word}"), "no pair or kernel has this name", next));
        }
    }
    for (benchmark, kept) in benchmarks.iter_mut().zip(kept) {
        benchmark.points.retain(|point| kept.contains(point));
    }
    benchmarks.retain(|benchmark| !benchmark.points.is_empty());
    Ok(())
}

fn named(point: &Params) -> Option<PythonCase> {
    let ParamValue::Text(case) = point.get("case")? else { return None };
    let name = CaseName { params: point.clone(), ..CaseName::plain(case.clone()) };
    Some(PythonCase { name, call: PythonCall::new(CallWay::Class, "") })
}

fn point(name: &CaseName) -> Params {
    name.params.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::launch::Action;

    fn benchmarks() -> Vec<Benchmark> {
        let point = |chapter: &str, case: &str, more: &[(&str, &str)]| {
            let own = [("chapter", chapter), ("case", case)];
            let text = |(name, text): (&str, &str)| (name.to_owned(), ParamValue::Text(text.to_owned()));
            own.into_iter().chain(more.iter().copied()).map(text).collect::<Params>()
        };
        let mut it = Benchmark::new("s/book".parse().unwrap(), Action::Command(Vec::new()), "/".into());
        it.points = vec![
            point("ch1", "moe", &[("variant", "baseline")]),
            point("ch1", "moe", &[("variant", "optimized"), ("technique", "sparse")]),
            point("ch1", "moe", &[("variant", "optimized"), ("technique", "dense")]),
            point("ch13", "gemm", &[("variant", "baseline")]),
        ];
        vec![it]
    }

    fn left(words: &[&str]) -> std::result::Result<usize, Fault> {
        let mut all = benchmarks();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        filter_targets(&mut all, &words)?;
        Ok(all.iter().map(|benchmark| benchmark.points.len()).sum())
    }

    #[test]
    fn s0_3_s0_72_a_folder_a_pair_and_a_variant_are_targets() {
        assert_eq!(left(&["ch1"]).unwrap(), 3);
        assert_eq!(left(&["ch1:moe"]).unwrap(), 3);
        assert_eq!(left(&["ch1:moe_sparse"]).unwrap(), 2);
        assert_eq!(left(&["moe_dense", "ch13:gemm"]).unwrap(), 3);
        let fault = left(&["ch1:mo"]).unwrap_err();
        assert!(fault.next.contains("ch1:moe"), "{}", fault.next);
    }
}
