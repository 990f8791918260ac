//! A selection narrows both sides of a comparison: what the user left out is neither measured nor missed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use super::compare::quoted;
use super::selection::SelectionArgs;
use crate::model::{BenchmarkId, CaseRecord, Params, Result, RunRecord};
use crate::suite::{Action, Benchmark, Registry, Selection, Source, Suite};

/// Which cases the selection flags leave out of a comparison.
pub struct Narrow {
    left_out: HashSet<(BenchmarkId, Params)>,
}

impl Narrow {
    /// Without flags nothing is left out. Errors: flags that select nothing.
    ///
    /// A case that the suite no longer has is no matter of selection: it stays, and is missed.
    pub fn new(registry: &Registry, selection: &Selection) -> Result<Self> {
        if *selection == Selection::default() {
            return Ok(Self { left_out: HashSet::new() });
        }
        let chosen = registry.select(selection)?;
        let chosen: HashSet<_> = points(chosen.benchmarks.iter()).collect();
        Ok(Self { left_out: points(registry.all()).filter(|point| !chosen.contains(point)).collect() })
    }

    /// Takes the cases that are left out from a record, which then says so.
    pub fn apply(&self, record: &mut RunRecord) {
        let before = record.cases.len();
        let stays =
            |case: &CaseRecord| !self.left_out.contains(&(case.id.benchmark.clone(), case.id.params.clone()));
        record.cases.retain(stays);
        let count = before - record.cases.len();
        if count > 0 {
            let what = format!("{count} of its {before} cases are outside the selection, and not compared");
            record.warnings.push(what);
        }
    }
}

/// The cases of records as a suite to select from: records can be compared where their suite file is not.
pub fn of_records<'r>(records: impl Iterator<Item = &'r RunRecord>) -> Registry {
    let mut found: BTreeMap<&BenchmarkId, (&CaseRecord, BTreeSet<&Params>)> = BTreeMap::new();
    for case in records.flat_map(|record| &record.cases) {
        found.entry(&case.id.benchmark).or_insert((case, BTreeSet::new())).1.insert(&case.id.params);
    }
    let benchmarks = found.into_iter().map(|(id, (case, points))| {
        let mut benchmark = Benchmark::new(id.clone(), Action::Command(Vec::new()), PathBuf::new());
        benchmark.components = case.components.clone();
        benchmark.tags = case.tags.clone();
        benchmark.points = points.into_iter().cloned().collect();
        benchmark
    });
    Registry::new(Some(Suite::new("records", Source::Builtin, benchmarks.collect())), &[])
}

fn points<'a>(
    benchmarks: impl Iterator<Item = &'a Benchmark>,
) -> impl Iterator<Item = (BenchmarkId, Params)> {
    benchmarks
        .flat_map(|benchmark| benchmark.points.iter().map(|point| (benchmark.id.clone(), point.clone())))
}

/// The selection as flags for a shell, with a blank before each.
pub fn flags(args: &SelectionArgs) -> String {
    let config = args.config.iter().map(|path| path.display().to_string()).collect();
    let given = [
        ("--config", &config),
        ("--benchmark", &args.benchmarks),
        ("--suite", &args.suites),
        ("--component", &args.components),
        ("--tag", &args.tags),
        ("--exclude", &args.exclude),
        ("--param", &args.params),
    ];
    let each = |(flag, values): (&str, &Vec<String>)| {
        values.iter().map(|value| format!(" {flag} {}", quoted(value))).collect::<String>()
    };
    let shard = args.shard.map_or(String::new(), |shard| format!(" --shard {shard}"));
    given.into_iter().map(each).collect::<String>() + &shard
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_can_be_pasted() {
        let args = SelectionArgs {
            benchmarks: vec!["k/*".into(), "a".into()],
            params: vec!["n=1,2".into()],
            shard: Some(crate::model::Shard { index: 2, of: 3 }),
            ..SelectionArgs::default()
        };
        assert_eq!(flags(&args), " --benchmark 'k/*' --benchmark a --param 'n=1,2' --shard 2/3");
        assert_eq!(flags(&SelectionArgs::default()), "");
    }
}
