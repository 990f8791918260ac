//! One process of each harness before anything is planned: how long it takes in all is not known otherwise. Programs start,
//! set up, calibrate, and some measure for as long as their source says.

use std::collections::BTreeSet;
use std::path::Path;

use crate::app::measuring::listing::interrupted;
use crate::app::measuring::lock::MeasuringTurn;
use crate::app::measuring::session::{RoundsMeasuring, base_and_head, new_comparison};
use crate::app::progress::Reporter;
use crate::model::{Counting, CutShort, Fault, Result, SequentialRule};
use crate::run::{NextRound, RoundsState, Silent, StoppingPolicy};
use crate::store::ComparisonFolder;
use crate::suite::plan::RoundsPlan;
use crate::suite::{Gate, Suite};

/// Wall seconds of one process of each harness that `ids` names, all together, as the settings of the suite have it; at
/// most `most`, after which the processes are ended. Nothing is counted or sampled next to them. `tree`: where the suite's
/// files are.
///
/// Errors: an interrupt, or no folder can be made for the records, which are thrown away.
pub(crate) fn seconds_of_processes(
    (suite, tree): (&Suite, &Path),
    ids: &BTreeSet<String>,
    most: f64,
    turn: &MeasuringTurn,
) -> Result<f64> {
    let mut base = suite.clone();
    base.benchmarks.retain(|it| ids.contains(it.id.as_str()));
    base.benchmarks.iter_mut().for_each(|it| it.settings.count.value = Counting::Off);
    let run = &mut base.run;
    run.deadline.value = if run.deadline.value > 0.0 { run.deadline.value.min(most) } else { most };
    (run.monitor.value, run.monitor_output.value) = (Some(false), None);
    let mut nothing = base.clone();
    nothing.benchmarks.clear();

    let temporary = std::env::temp_dir();
    let folder = tempfile::tempdir().map_err(|error| {
        let next = "make room there, or set TMPDIR to a folder that can be written";
        Fault::at_path(&temporary, format!("no folder can be made for a trial process: {error}"), next)
    })?;
    let comparison = new_comparison(["trial", "nothing"], 0, &Gate::default(), SequentialRule::for_cases(1));
    let plan = RoundsPlan::new(&base, &nothing, &[], 0);
    let measuring = RoundsMeasuring {
        plan: &plan,
        sides: [(&base, tree), (&nothing, tree)],
        git: None,
        comparison: &comparison,
        folder: &ComparisonFolder::create(folder.path(), &comparison.id)?,
        turn,
        resume: Vec::new(),
    };
    let mut once = Once::default();
    let finished = measuring.carry_out(&mut once, &Reporter::new(Silent))?;
    match base_and_head(&finished)?[0].record.cut_short {
        Some(CutShort::Deadline) => Ok(most),
        Some(ended) => Err(interrupted("a process that shows how long a round takes", ended)),
        None => Ok(once.seconds.min(most)),
    }
}

/// Stops after one round: in it the driver measures the cases that only one side has.
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
