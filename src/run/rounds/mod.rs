//! Carries a comparison out in rounds: base and head of every case that is still open, in an order that the coin
//! decides, until a referee says that it is enough, the time is up or the user interrupts.
//!
//! | file | does |
//! |---|---|
//! | `referee` | what a referee sees and may say |
//! | `work` | round after round; the only place that writes records |
//! | `sittings` | which pairs share their processes, and who goes first |
//! | `way` | whether the processes of a pair take turns |
//! | `turn` | the processes of one round, one after the other |
//! | `lockstep` | the same in turns |
//! | `resume` | whether records may be gone on from, and where they stand |
//!
//! A round of a case is whole or not there: what its processes gave is taken into the records only after the last of
//! them. An interrupt, a deadline or a kill therefore costs the running round of one case and nothing else, and a
//! comparison that goes on from its records measures what an uninterrupted one would have measured next.

mod lockstep;
mod referee;
mod resume;
mod sittings;
mod turn;
mod way;
mod work;

pub use referee::{Next, PairState, Referee, RoundsState, Watch};

use std::path::PathBuf;

use super::event::Observer;
use super::executor::Executor;
use super::hands::{Hands, deadline};
use super::lane::{Finished, LaneRun};
use crate::model::{Fault, Result, RunRecord, Side};
use crate::plan::RoundsPlan;
use crate::store::ComparisonFolder;
use work::Work;

/// What a comparison in rounds needs beside its referee.
pub struct Rounds<'a> {
    pub plan: &'a RoundsPlan,
    pub executor: &'a mut dyn Executor,
    pub observer: &'a mut dyn Observer,
    /// `None`: nobody looks at what else the machine does.
    pub watch: Option<&'a mut dyn Watch>,
    /// The gbench-ci binary, which is what built-in workloads run in.
    pub binary: PathBuf,
    /// Seconds for everything; 0: no limit.
    pub deadline: f64,
    /// Program and arguments to call after a process was stopped for its time, with its folder; empty: none.
    pub after_timeout: (Vec<String>, PathBuf),
    /// New, or that of the comparison to go on with.
    pub folder: &'a ComparisonFolder,
    /// Records to go on from, in the order of the lanes, as [`crate::store::read_comparison`] gives them; empty: from the
    /// beginning.
    pub resume: Vec<RunRecord>,
}

impl Rounds<'_> {
    /// Measures until the referee stops it. `headers`: one record for each lane of the plan, complete but for its cases.
    /// Where records are gone on from, the headers say what is here now: they are held against the records, whose ids,
    /// manifests and commands stay, and give budget, policy and most rounds from here on.
    ///
    /// Each case that only one side has, or whose other side cannot run, is measured once at the end of the first round.
    /// A case with a whole round counts as measured, also where the run was cut short.
    ///
    /// Never ends early without records: deadlines, interrupts and failures become outcomes. Errors: the folder cannot
    /// be written, or what is to be gone on with is another comparison.
    pub fn run(self, headers: Vec<RunRecord>, referee: &mut dyn Referee) -> Result<Vec<Finished>> {
        let Rounds { plan, executor, observer, watch, binary, after_timeout, folder, resume, .. } = self;
        if headers.len() != plan.lanes.len() {
            let what = format!("{} headers for {} lanes", headers.len(), plan.lanes.len());
            return Err(Fault::at("the comparison", what, "report this as a defect of gbench-ci"));
        }
        let hands = Hands { executor, observer, binary, after_timeout, until: deadline(self.deadline) };
        let resumes = !resume.is_empty();
        let records = if resumes { resume::checked(plan, headers, resume)? } else { headers };
        let mut lanes = Vec::new();
        for (index, (record, lane)) in records.into_iter().zip(&plan.lanes).enumerate() {
            let root = folder.side(lane.side.unwrap_or(Side::Base));
            let cases = plan.of_lane(index);
            lanes.push(match resumes {
                true => LaneRun::resume(lane, cases, record, &root)?,
                false => LaneRun::begin(lane, cases, record, &root)?,
            });
        }
        Work::new(plan, hands, watch, lanes).carry_out(referee)
    }
}
