//! One process of each harness before anything is planned: how long it takes in all is not known otherwise. Programs start, set up,
//! calibrate, and some measure for as long as their source says.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::listing::interrupted;
use super::measure::{RoundsMeasuring, base_and_head, new_comparison};
use super::measuring_lock::MeasuringTurn;
use super::progress::Reporter;
use crate::model::{BenchmarkId, CutShort, Fault, Result, SequentialRule};
use crate::run::{NextRound, RoundsState, Silent, StoppingPolicy};
use crate::store::ComparisonFolder;
use crate::suite::plan::RoundsPlan;
use crate::suite::{Gate, Suite};

/// Wall seconds of one process of each harness that `ids` names, which measures all its cases with the settings of the suite. What
/// failed has none. All of them are ended after `most` seconds: the last one then has what was left. `tree`: where the suite's files are.
///
/// Errors: an interrupt, or no folder can be made for the records, which are thrown away.
pub(crate) fn seconds_of_processes(
    (suite, tree): (&Suite, &Path),
    ids: &BTreeSet<String>,
    most: f64,
    turn: &MeasuringTurn,
) -> Result<HashMap<BenchmarkId, f64>> {
    let mut seconds = HashMap::new();
    let mut left = most;
    for benchmark in suite.benchmarks.iter().filter(|it| ids.contains(it.id.as_str())) {
        let mut base = suite.clone();
        base.benchmarks.retain(|it| it.id == benchmark.id);
        let asked = base.run.deadline.value;
        base.run.deadline.value = if asked > 0.0 { asked.min(left) } else { left };
        let mut nothing = base.clone();
        nothing.benchmarks.clear();
        if let Some(of_process) = seconds_of(&base, &nothing, tree, turn)? {
            let of_process = of_process.min(left);
            left -= of_process;
            seconds.insert(benchmark.id.clone(), of_process);
        }
        if left <= 0.0 {
            break;
        }
    }
    Ok(seconds)
}

/// `None`: a case failed.
fn seconds_of(base: &Suite, nothing: &Suite, tree: &Path, turn: &MeasuringTurn) -> Result<Option<f64>> {
    let temporary = std::env::temp_dir();
    let folder = tempfile::tempdir().map_err(|error| {
        let next = "make room there, or set TMPDIR to a folder that can be written";
        Fault::at_path(&temporary, format!("no folder can be made for a trial process: {error}"), next)
    })?;
    let gate = Gate::default();
    let comparison = new_comparison(["trial", "nothing"], 0, &gate, SequentialRule::for_cases(1));
    let plan = RoundsPlan::new(base, nothing, &[], 0);
    let measuring = RoundsMeasuring {
        plan: &plan,
        sides: [(base, tree), (nothing, tree)],
        comparison: &comparison,
        folder: &ComparisonFolder::create(folder.path(), &comparison.id)?,
        turn,
        resume: Vec::new(),
    };
    let mut once = Once::default();
    let finished = measuring.carry_out(&mut once, &Reporter::new(Silent))?;
    let [base, _] = base_and_head(&finished)?;
    match base.record.cut_short {
        Some(CutShort::Deadline) => return Ok(Some(f64::INFINITY)),
        Some(ended) => return Err(interrupted("a process that shows how long a round takes", ended)),
        None => {}
    }
    let has_failed = base.record.cases.iter().any(|case| case.outcome.is_failure());
    Ok((!has_failed).then_some(once.seconds))
}

/// What one side alone has is measured once, in the first round.
#[derive(Default)]
struct Once {
    seconds: f64,
}

impl StoppingPolicy for Once {
    fn next(&mut self, state: &RoundsState<'_>) -> NextRound {
        self.seconds = state.seconds;
        if state.passes == 0 { NextRound::Measure(Vec::new()) } else { NextRound::Stop }
    }
}
