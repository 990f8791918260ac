//! Carries a comparison out in rounds: base and head of every case that is still open, in a random order, until the
//! stopping policy ends it, the time is up or the user interrupts.
//!
//! A round of a case is whole or not there: what its processes gave is taken into the records only after the last of
//! them. An interrupt, a deadline or a kill therefore costs the running round of one case and nothing else, and a
//! comparison that goes on from its records measures what an uninterrupted one would have measured next.

mod driver;
mod grouping;
mod lockstep;
mod resume;
mod round;
mod stopping_policy;

pub use stopping_policy::{NextRound, PairState, RoundsState, StoppingPolicy};

use super::arm::{ArmRecorder, Finished};
use super::launcher::{Launcher, RunSession};
use crate::store::ComparisonFolder;
use driver::RoundDriver;
use gbench_model::{DEFECT, Fault, Result, RunRecord, Side};
use gbench_suite::plan::RoundsPlan;

/// A comparison in rounds, ready to run with a stopping policy.
pub struct RoundsSession<'a> {
    pub plan: &'a RoundsPlan,
    pub session: RunSession<'a>,
    /// New, or that of the comparison to go on with.
    pub folder: &'a ComparisonFolder,
    /// Records to go on from, in the order of the arms, as [`crate::store::read_comparison`] gives them; empty: from the
    /// beginning.
    pub resume: Vec<RunRecord>,
}

impl RoundsSession<'_> {
    /// Measures until the policy stops it. `headers`: one record for each arm of the plan, complete but for its cases.
    /// Where records are gone on from, the headers say what is here now: they are held against the records, whose ids,
    /// manifests and commands stay, and give budget, policy and most rounds from here on.
    ///
    /// Each case that only one side has, or whose other side cannot run, is measured once at the end of the first round.
    /// A case with a whole round counts as measured, also where the run was cut short.
    ///
    /// Never ends early without records: deadlines, interrupts and failures become outcomes. Errors: the folder cannot
    /// be written, or what is to be gone on with is another comparison.
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
