//! The calibration in the store: written by `calibrate`, read by comparisons for what they will cost.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::adapters::Harness;
use crate::app::paths::shown;
use crate::app::rounds::scheduler::rounded;
use crate::compare::{CalibratedRow, Calibration, Readiness, SCHEMA_CALIBRATION, count_it, machine_key};
use crate::machine;
use crate::model::text::count;
use crate::model::{CaseId, CounterState, Counting, Fact, Fault, HOST, Result, SequentialRule, Strictness};
use crate::store::{create_ignored_dir, write_atomically};
use crate::suite::Benchmark;
use crate::suite::plan::RoundsPlan;
use crate::supervise::instruction_counter;

const FILE: &str = "calibration.json";

/// Hopeless rows that a comparison names.
const MAX_NAMED: usize = 5;

/// Stores a calibration in the place of the one before. Returns its path.
pub(crate) fn replace(store: &Path, bytes: &[u8]) -> Result<PathBuf> {
    create_ignored_dir(store).map_err(|error| {
        Fault::at_path(store, format!("the store cannot be made: {error}"), "choose a writable `--store`")
            .caused_by(&error)
    })?;
    let path = store.join(FILE);
    write_atomically(&path, bytes)?;
    Ok(path)
}

/// The stored one, if it is of this machine; else why it is of no use. `None`: there is none.
pub(crate) fn stored(
    store: &Path,
    home: &Path,
    match_key: &BTreeMap<String, Strictness>,
) -> Option<std::result::Result<Calibration, String>> {
    let path = store.join(FILE);
    let text = std::fs::read(&path).ok()?;
    let ignored = |why: String| Some(Err(format!("{} is ignored: {why}", shown(&path))));
    let it: Calibration = match serde_json::from_slice(&text) {
        Ok(it) => it,
        Err(error) => return ignored(format!("it cannot be read ({error}); calibrate again")),
    };
    if it.schema != SCHEMA_CALIBRATION {
        return ignored(format!("it is of another version ({}); calibrate again", it.schema));
    }
    match other_machine(&it, &machine_key(&machine::manifest(home), match_key)) {
        Some(difference) => ignored(format!("it is of another machine ({difference}); calibrate here")),
        None => Some(Ok(it)),
    }
}

/// The first fact in which the machine differs from the one of the calibration.
fn other_machine(it: &Calibration, here: &BTreeMap<String, Fact>) -> Option<String> {
    let mut fields = it.machine.keys().chain(here.keys());
    fields.find_map(|field| {
        let there = it.machine.get(field).map_or("not recorded", String::as_str);
        let known_there = it.machine.contains_key(field) && !it.unknown.contains(field);
        let (here, known_here) =
            here.get(field).map_or(("not recorded", false), |fact| (fact.text.as_str(), fact.is_known));
        // Two unknown facts count as equal, whatever the reasons. Calibrations of earlier versions do not record their host.
        let same = there == here || !known_there && (!known_here || field == HOST);
        (!same).then(|| format!("{field}: {there} there, {here} here"))
    })
}

/// Cost of the rounds of a comparison: a clause for its first line. `None` where no case is known.
pub(crate) fn estimate(it: &Calibration, plan: &RoundsPlan, rule: &SequentialRule) -> Option<String> {
    let mut known: HashMap<CaseId, (f64, u32)> = HashMap::new();
    for row in &it.rows {
        let rounds = row.prospect.as_ref().map(|it| it.rounds_to_certify.unwrap_or(u32::MAX));
        let rounds = rounds.unwrap_or(rule.screen_rounds).clamp(rule.screen_rounds, rule.most_rounds);
        let case = known.entry(undeviced(&row.case)).or_insert((row.seconds_per_round, rounds));
        case.1 = case.1.max(rounds);
    }
    let (mut screen, mut all, mut unknown) = (0.0, 0.0, 0);
    for pair in plan.pairs.iter().filter(|pair| pair.is_comparable()) {
        let Some((seconds, rounds)) = known.get(&undeviced(pair.id())) else {
            unknown += 1;
            continue;
        };
        // A control is one more process next to the two that were calibrated.
        let seconds = seconds * pair.cases.len() as f64 / 2.0;
        screen += seconds * f64::from(rule.screen_rounds);
        all += seconds * f64::from(*rounds);
    }
    if unknown == plan.comparable() {
        return None;
    }
    let day = it.date.get(..10).unwrap_or(&it.date);
    let without = match unknown {
        0 => String::new(),
        some => format!(", without {} that it does not know", count(some, "case")),
    };
    Some(format!(
        "by the calibration of {day} about {} to screen, about {} in all if nothing changed{without}",
        rounded(screen),
        rounded(all)
    ))
}

/// Warnings about cases that cannot be judged here, before time is spent on them.
pub(crate) fn hopeless(it: &Calibration, plan: &RoundsPlan) -> Vec<String> {
    let planned: Vec<CaseId> = plan.pairs.iter().map(|pair| undeviced(pair.id())).collect();
    let is_hopeless = |row: &&CalibratedRow| {
        row.readiness == Readiness::Hopeless && planned.contains(&undeviced(&row.case))
    };
    let rows: Vec<&CalibratedRow> = it.rows.iter().filter(is_hopeless).collect();
    let said = |row: &&CalibratedRow| {
        let why = row.why.join("; ");
        format!("hopeless here: {} {}: {why}. Try: {}", row.case, row.metric, row.help.join("; "))
    };
    let mut said: Vec<String> = rows.iter().take(MAX_NAMED).map(said).collect();
    if let Some(more) = rows.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        said.push(format!("hopeless here: {more} more, which `gbench-ci calibrate` names"));
    }
    said
}

/// The device is known only after a process has run.
fn undeviced(id: &CaseId) -> CaseId {
    CaseId { device: "host".into(), ..id.clone() }
}

/// How the executions of a benchmark are counted, where its harness can be counted on this machine and is not.
pub(crate) fn counting_advice(benchmark: &Benchmark) -> Option<String> {
    let harness = benchmark.harness.as_ref().and_then(|entry| entry.harness);
    if benchmark.settings.count.value != Counting::Off || !harness.is_some_and(Harness::counts) {
        return None;
    }
    let counting = match instruction_counter() {
        CounterState::Works => Counting::Perf,
        CounterState::Unsupported | CounterState::Refused => Counting::Valgrind,
    };
    Some(count_it(benchmark.id.name(), counting.into_str()))
}
