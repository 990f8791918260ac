//! Carries a comparison out in rounds: base and head of every case that is still open, in a random order, until the
//! stopping policy ends it, the time is up or the user interrupts.
//!
//! | file | does |
//! |---|---|
//! | `stopping_policy` | what a stopping policy sees and may answer |
//! | `driver` | round after round; the only file that writes records |
//! | `grouping` | which pairs share their processes, and who goes first |
//! | `round` | the processes of one round, one after the other |
//! | `lockstep` | the same in turns |
//! | `resume` | whether records may be gone on from, and where they stand |
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

pub use stopping_policy::{ConditionsProbe, NextRound, PairState, RoundsState, StoppingPolicy};

use std::path::PathBuf;

use super::arm::{ArmRecorder, Finished};
use super::event::Observer;
use super::executor::Executor;
use super::launcher::{Launcher, deadline};
use crate::model::{DEFECT, Fault, Result, RunRecord, Side};
use crate::store::ComparisonFolder;
use crate::suite::plan::RoundsPlan;
use driver::RoundDriver;

/// A comparison in rounds, ready to run with a stopping policy.
pub struct RoundsSession<'a> {
    pub plan: &'a RoundsPlan,
    pub executor: &'a mut dyn Executor,
    pub observer: &'a mut dyn Observer,
    /// Reads the state of the machine around each process; `None`: nothing does.
    pub probe: Option<&'a mut dyn ConditionsProbe>,
    /// The gbench-ci binary, which is what built-in workloads run in.
    pub binary: PathBuf,
    /// Seconds for everything; 0: no limit.
    pub deadline: f64,
    /// Program and arguments to call after a process was stopped for its time, with its folder; empty: none.
    pub after_timeout: (Vec<String>, PathBuf),
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
        let RoundsSession { plan, executor, observer, probe, binary, after_timeout, folder, resume, .. } =
            self;
        if headers.len() != plan.arms.len() {
            let what = format!("{} headers for {} arms", headers.len(), plan.arms.len());
            return Err(Fault::at("the comparison", what, DEFECT));
        }
        let launcher = Launcher { executor, observer, binary, after_timeout, until: deadline(self.deadline) };
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
        RoundDriver::new(plan, launcher, probe, arms).carry_out(policy)
    }
}
