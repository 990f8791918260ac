//! Carries out a comparison in rounds: base and head of every open case, in a random order, until the stopping policy ends it,
//! the time is up or the user interrupts.
//!
//! A round of a case is recorded completely or not at all: its results are added to the records only after its last process.
//! An interrupt, a deadline or a kill therefore only costs the current round of one case, or of the cases that share its
//! processes, and a resumed comparison measures exactly what an uninterrupted one would have measured next.

mod grouping;
mod lockstep_round;
mod resume;
mod round;
mod round_driver;
mod stopping_policy;

pub use stopping_policy::{NextRound, PairState, RoundsState, StoppingPolicy};

use crate::run::record::arm::{ArmRecorder, Finished};
use crate::run::session::launcher::{Launcher, RunSession};
use crate::store::comparison::ComparisonFolder;
use gbench_model::{DEFECT, Fault, Result, RunRecord, Side};
use gbench_suite::plan::RoundsPlan;
use round_driver::RoundDriver;

pub struct RoundsSession<'a> {
    pub plan: &'a RoundsPlan,
    pub session: RunSession<'a>,
    /// A new folder, or that of the comparison to resume.
    pub folder: &'a ComparisonFolder,
    /// Records to resume from, in the order of the arms, as returned by [`crate::store::read_comparison`]; empty: from the
    /// beginning.
    pub resume: Vec<RunRecord>,
}

impl RoundsSession<'_> {
    /// Measures until the policy stops it. `headers`: one record for each arm of the plan, complete except for its cases. When
    /// resuming, the headers describe the current state: they are compared with the records, which keep their ids, manifests
    /// and commands, and set budget, policy and most rounds from here on.
    ///
    /// A case that only one side has, or whose other side cannot run, is measured once at the end of the first round. A case
    /// with a whole round is measured even if the run ended early.
    ///
    /// Never ends early without records: deadlines, interrupts and failures become outcomes. Errors: the folder cannot be
    /// written, or the records belong to another comparison.
    pub fn run(self, headers: Vec<RunRecord>, policy: &mut dyn StoppingPolicy) -> Result<Vec<Finished>> {
        let Self { plan, session, folder, resume } = self;
        if headers.len() != plan.arms.len() {
            let what = format!("{} headers for {} arms", headers.len(), plan.arms.len());
            return Err(Fault::at("the comparison", what, DEFECT));
        }
        let launcher = Launcher::new(session);
        let resumes = !resume.is_empty();
        let records = if resumes { resume::checked(plan, headers, resume)? } else { headers };
        let mut arms = Vec::new();
        for (index, (record, arm)) in records.into_iter().zip(&plan.arms).enumerate() {
            let root = folder.side(arm.side.unwrap_or(Side::Base));
            let cases = plan.of_arm(index);
            arms.push(if resumes {
                ArmRecorder::resume(arm, cases, record, &root)?
            } else {
                ArmRecorder::begin(arm, cases, record, &root)?
            });
        }
        RoundDriver::new(plan, launcher, arms).carry_out(policy)
    }
}
