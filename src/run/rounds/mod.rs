//! Carries a comparison out in rounds: base and head of every case that is still open, in an order that the coin
//! decides, until a referee says that it is enough, the time is up or the user interrupts.
//!
//! | file | does |
//! |---|---|
//! | `referee` | what a referee sees and may say |

mod referee;

pub use referee::{Next, PairState, Referee, RoundsState, Watch};

use std::path::PathBuf;

use super::event::Observer;
use super::executor::Executor;
use super::lane::Finished;
use crate::model::{Result, RunRecord};
use crate::plan::RoundsPlan;
use crate::store::ComparisonFolder;

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
    pub folder: &'a ComparisonFolder,
    /// Records to go on from, in the order of the lanes, as [`crate::store::read_comparison`] gives them; empty: from the
    /// beginning.
    pub resume: Vec<RunRecord>,
}

impl Rounds<'_> {
    /// Measures until the referee stops it. `headers`: one record for each lane, complete but for its cases.
    ///
    /// Never ends early without records: deadlines, interrupts and failures become outcomes. Errors: the folder cannot
    /// be written, or what is to be resumed is another comparison.
    pub fn run(self, headers: Vec<RunRecord>, referee: &mut dyn Referee) -> Result<Vec<Finished>> {
        let _ = (headers, referee);
        todo!("the next commit")
    }
}
