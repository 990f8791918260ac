//! The selection of a comparison, applied to its records: what the user left out is neither measured nor missed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use crate::model::{BenchmarkId, CaseRecord, Params, Result, RunRecord};
use crate::suite::{Action, Benchmark, HarnessEntry, Registry, Selection, Source, Suite};

pub(crate) struct SelectionFilter {
    left_out: HashSet<(BenchmarkId, Params)>,
    /// Benchmarks of a harness, of whose cases the selection leaves some.
    narrowed: Vec<(BenchmarkId, HarnessEntry)>,
}

impl SelectionFilter {
    /// Without flags nothing is left out. Errors: flags that select nothing.
    ///
    /// A case that the suite no longer has is not a matter of selection: it stays, and is missed.
    pub(crate) fn new(registry: &Registry, selection: &Selection) -> Result<Self> {
        if *selection == Selection::default() {
            return Ok(Self { left_out: HashSet::new(), narrowed: Vec::new() });
        }
        let chosen = registry.select(selection)?;
        let entry = |benchmark: &Benchmark| Some((benchmark.id.clone(), benchmark.harness.clone()?));
        let narrowed = chosen.benchmarks.iter().filter_map(entry).collect();
        let chosen: HashSet<_> = points(chosen.benchmarks.iter()).collect();
        let left_out = points(registry.all()).filter(|point| !chosen.contains(point)).collect();
        Ok(Self { left_out, narrowed })
    }

    /// Takes the cases that are left out from a record, which then records that.
    pub(crate) fn apply(&self, record: &mut RunRecord) {
        let before = record.cases.len();
        let selects = |case: &CaseRecord| {
            let mut entries = self.narrowed.iter().filter(|(id, _)| *id == case.id.benchmark);
            entries.all(|(_, entry)| entry.selects(&case.id.params))
        };
        let stays = |case: &CaseRecord| {
            let point = (case.id.benchmark.clone(), case.id.params.clone());
            !self.left_out.contains(&point) && selects(case)
        };
        record.cases.retain(stays);
        let count = before - record.cases.len();
        if count > 0 {
            let what = format!("{count} of its {before} cases are outside the selection, and not compared");
            record.warnings.push(what);
        }
    }
}

/// The cases of records as a suite to select from: records can be compared where their suite file is not.
pub(crate) fn of_records<'r>(records: impl Iterator<Item = &'r RunRecord>) -> Registry {
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
