//! How long cases took, out of records: the seconds of all their processes, times the sides of a comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::app::store::stores::{Stored, Stores};
use crate::history::HistoryEntry;
use crate::model::text::count;
use crate::model::{
    BenchmarkId, CaseId, CaseRecord, Exit, Fault, Params, Result, RunRecord, SequentialRule, Side,
};
use crate::store::{ComparisonFolder, comparison_of, comparisons_below, read_record};
use crate::suite::plan::ShardPlan;

/// A record has the processes of one side, and the other side's take about as long.
const SIDES: f64 = 2.0;

/// Runs of a history that are read at most: a night of several machines and shards.
const MOST_RUNS: usize = 64;

/// The seconds of cases in a comparison, from the records that were read.
#[derive(Debug, Default)]
pub(crate) struct MeasuredCosts {
    /// Building and listing, before the first process of a case, in the record where it took longest.
    start: f64,
    /// By case; on the slowest of several machines.
    cases: BTreeMap<CaseId, f64>,
    /// Benchmarks whose cases are parts of one program.
    whole: BTreeSet<BenchmarkId>,
    records: usize,
}

impl MeasuredCosts {
    fn add(&mut self, record: &RunRecord) {
        let in_rounds = record.comparison.is_some();
        let screen = f64::from(SequentialRule::for_cases(record.cases.len()).screen_rounds);
        for case in &record.cases {
            let seconds = seconds_of(case);
            let Some(processes) = Some(case.processes.len()).filter(|processes| *processes > 0) else {
                continue;
            };
            // An ordinary run has no rounds: the fewest are expected.
            let one_side = if in_rounds { seconds } else { seconds / processes as f64 * screen };
            let id = CaseId { device: "host".into(), ..case.id.clone() };
            let known = self.cases.entry(id).or_default();
            *known = known.max(SIDES * one_side);
            if case.part_of_whole {
                self.whole.insert(case.id.benchmark.clone());
            }
        }
        self.start = self.start.max(seconds_before_cases(record).unwrap_or_default());
        self.records += 1;
    }

    /// True if each of so many shards gets a case.
    pub(crate) fn fits(&self, shards: u32) -> bool {
        self.wholes().len() >= shards as usize
    }

    pub(super) fn cases(&self) -> usize {
        self.cases.len()
    }

    /// `the costs in 3 records`.
    pub(super) fn sources(&self) -> String {
        format!("the costs in {}", count(self.records, "record"))
    }

    pub(super) fn plan(&self) -> ShardPlan {
        ShardPlan::new(self.start, self.cases.iter().map(|(case, seconds)| (case, *seconds)))
    }

    /// The cases that stay together, as `keep_shard` keeps them.
    pub(super) fn wholes(&self) -> Vec<Vec<&CaseId>> {
        let mut wholes: BTreeMap<CaseId, Vec<&CaseId>> = BTreeMap::new();
        for case in self.cases.keys() {
            wholes.entry(self.whole_of(case)).or_default().push(case);
        }
        wholes.into_values().collect()
    }

    fn whole_of(&self, case: &CaseId) -> CaseId {
        if self.whole.contains(&case.benchmark) {
            return CaseId { params: Params::new(), ..case.clone() };
        }
        case.pair().unwrap_or_else(|| case.clone())
    }

    /// The name and seconds of what takes longest among the cases that stay together.
    pub(super) fn dearest(&self) -> (String, f64) {
        let mut wholes: BTreeMap<CaseId, f64> = BTreeMap::new();
        for (case, seconds) in &self.cases {
            *wholes.entry(self.whole_of(case)).or_default() += seconds;
        }
        let dearest = wholes.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
        dearest.map_or_else(Default::default, |(case, seconds)| (case.to_string(), seconds))
    }
}

fn seconds_of(case: &CaseRecord) -> f64 {
    case.processes.iter().map(|process| process.seconds).sum()
}

/// Both sides are built before the first process, which may be that of the other side: by less than a process too many.
fn seconds_before_cases(record: &RunRecord) -> Option<f64> {
    let time = |text: &str| -> Option<SystemTime> { humantime::parse_rfc3339(text).ok() };
    let processes = record.cases.iter().flat_map(|case| &case.processes);
    let first = processes.filter_map(|process| time(&process.started)).min()?;
    first.duration_since(time(&record.started)?).ok().map(|before| before.as_secs_f64())
}

/// The costs in records, folders and stores that a user names.
///
/// Errors: something that cannot be read, or contains no run.
pub(crate) fn named(sources: &[String]) -> Result<MeasuredCosts> {
    let mut costs = MeasuredCosts::default();
    for source in sources {
        let path = Path::new(source);
        if path.exists() {
            for record in records_at(path)? {
                costs.add(&read_record(&record)?);
            }
        } else {
            let stores = Stores::new(Some(source));
            add_stored(&*stores.of(None)?, &mut costs)?;
        }
    }
    if costs.cases.is_empty() {
        let what = "nothing in it was measured";
        let next = "name a record, the folder of a run or of comparisons, or a store: git:BRANCH, github:OWNER/REPO@BRANCH";
        return Err(Fault::at_flag(format!("--costs {}", sources.join(" ")), what, next));
    }
    Ok(costs)
}

/// The costs in a store; `None` where it has no run. Errors: it cannot be read.
pub(crate) fn of_store(stored: &Stored) -> Result<Option<MeasuredCosts>> {
    let mut costs = MeasuredCosts::default();
    add_stored(stored, &mut costs)?;
    Ok(Some(costs).filter(|costs| !costs.cases.is_empty()))
}

/// A record or run as it is; of comparisons, also of several in folders below, the heads.
fn records_at(path: &Path) -> Result<Vec<PathBuf>> {
    let below = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir()).flat_map(|folder| comparisons_below(&folder)).collect::<Vec<_>>()
    };
    let comparisons = match comparison_of(path).filter(|_| path.is_dir()) {
        Some(comparison) => vec![comparison],
        None if path.is_dir() => comparisons_below(path).into_iter().chain(below(path)).collect(),
        None => Vec::new(),
    };
    let heads = comparisons.iter().map(|it| Ok(ComparisonFolder::open(it)?.side(Side::Head)));
    let heads: Vec<PathBuf> = heads.collect::<Result<_>>()?;
    Ok(if heads.is_empty() { vec![path.to_owned()] } else { heads })
}

/// The newest run of each machine and shard; of a folder, which knows neither, the newest.
fn add_stored(stored: &Stored, costs: &mut MeasuredCosts) -> Result<()> {
    match stored {
        Stored::Folder(store) => {
            let newest = store.list().into_iter().max_by(|one, other| one.run_id.cmp(&other.run_id));
            newest.map_or(Ok(()), |entry| read_record(&entry.path).map(|record| costs.add(&record)))
        }
        Stored::Branch(branch) => {
            let history = branch.history()?;
            let mut seen = SeenShards::default();
            for listed in branch.listed()?.iter().rev().take(MOST_RUNS) {
                match history.read(listed) {
                    Ok(entry) => match seen.see(&entry) {
                        Seen::Newest => costs.add(&entry.record),
                        Seen::Older => {}
                        Seen::AllAreKnown => break,
                    },
                    // A file that is not a run decides nothing.
                    Err(fault) if fault.exit == Exit::Usage => {}
                    Err(fault) => return Err(fault),
                }
            }
            Ok(())
        }
    }
}

/// The machines and shards whose newest run was seen.
#[derive(Default)]
struct SeenShards(BTreeMap<String, (u32, BTreeSet<u32>)>);

enum Seen {
    Newest,
    Older,
    /// An older run of a machine, and every machine is known in all its shards.
    AllAreKnown,
}

impl SeenShards {
    fn see(&mut self, entry: &HistoryEntry) -> Seen {
        let (index, of) = entry.shard.map_or((1, 1), |shard| (shard.index, shard.of));
        let (known_of, shards) = self.0.entry(entry.label.clone()).or_insert((of, BTreeSet::new()));
        // A suite that was cut otherwise before then is an older one.
        if *known_of == of && shards.insert(index) {
            return Seen::Newest;
        }
        let all = self.0.values().all(|(of, shards)| shards.len() == *of as usize);
        if all { Seen::AllAreKnown } else { Seen::Older }
    }
}

#[cfg(test)]
impl MeasuredCosts {
    /// Cases `s/c0`, `s/c1`, ... of so many seconds.
    pub(super) fn made_up(start: f64, seconds: &[f64]) -> Self {
        let case = |(at, seconds): (usize, &f64)| {
            (gbench_model::test_support::case_id(&format!("s/c{at}")), *seconds)
        };
        Self { start, cases: seconds.iter().enumerate().map(case).collect(), records: 1, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use gbench_model::test_support::{case, case_id, record};

    use super::*;
    use crate::model::{ProcessRecord, Shard};

    fn processes(seconds: &[f64]) -> Vec<ProcessRecord> {
        let process = |seconds: &f64| ProcessRecord {
            seconds: *seconds,
            started: "2026-11-21T11:01:32.345Z".into(),
            ..ProcessRecord::default()
        };
        seconds.iter().map(process).collect()
    }

    #[test]
    fn an_ordinary_run_is_expected_to_be_screened_and_the_time_before_its_first_process_is_the_start() {
        let cases = vec![
            case(CaseId { device: "cuda:0".into(), ..case_id("s/a") }, processes(&[4.0, 6.0]), vec![]),
            case(case_id("s/b"), processes(&[1.0; 3]), vec![]),
            case(case_id("s/skipped"), vec![], vec![]),
        ];
        let mut costs = MeasuredCosts::default();
        costs.add(&record(cases));
        // Four rounds of both sides, because the suite is so small.
        assert_eq!(costs.cases, BTreeMap::from([(case_id("s/a"), 40.0), (case_id("s/b"), 8.0)]));
        assert_eq!(costs.start, 30.0);
        assert_eq!(costs.dearest(), ("s/a".into(), 40.0));
        // The slower one of two machines decides.
        costs.add(&record(vec![case(case_id("s/b"), processes(&[2.0]), vec![])]));
        assert_eq!((costs.cases[&case_id("s/b")], costs.records), (16.0, 2));
    }

    #[test]
    fn the_newest_run_of_each_machine_and_shard_is_taken_and_older_ones_are_not() {
        let mut seen = SeenShards::default();
        let mut taken = |label: &str, shard: Option<[u32; 2]>| {
            let entry = HistoryEntry {
                label: label.into(),
                shard: shard.map(|[index, of]| Shard { index, of }),
                ..HistoryEntry::of_record(record(vec![]), "main", String::new(), "none")
            };
            match seen.see(&entry) {
                Seen::Newest => "newest",
                Seen::Older => "older",
                Seen::AllAreKnown => "all",
            }
        };
        assert_eq!(taken("h100", Some([2, 2])), "newest");
        assert_eq!(taken("a100", None), "newest");
        assert_eq!(taken("h100", Some([2, 2])), "older");
        assert_eq!(taken("h100", Some([1, 3])), "older", "cut otherwise");
        assert_eq!(taken("h100", Some([1, 2])), "newest");
        assert_eq!(taken("a100", None), "all");
    }
}
