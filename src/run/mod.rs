//! Carries a plan out: processes in, records out.

mod arm;
mod build;
mod case_record;
mod code_files;
mod contained;
mod container;
mod counting;
mod devices;
mod driver_advice;
mod environment;
mod event;
mod executor;
mod extract;
mod harness;
mod harness_launch;
mod interpreter;
mod interrupt;
mod io;
mod launcher;
mod left_files;
mod lines;
mod listing;
mod lockstep;
mod nothing;
mod oom_kills;
mod outcome;
mod peaks;
mod process;
mod profiling;
mod programs;
mod python_process;
mod recognition;
mod reported;
mod requires;
mod rounds;
mod samples;
mod session;
mod shared_process;
mod spawn;
mod stages;
mod telling;
mod temporary;
#[cfg(test)]
mod test_support;
mod wrapping;

pub use arm::Finished;
pub use case_record::summary_of;
pub use event::{Observer, Progress, Silent};
pub use executor::{
    ConditionsProbe, Execution, ExecutionEnd, Executor, Launch, ShareFault, StagePlan, StopReason,
};
pub use interpreter::find_interpreter;
pub use interrupt::{Interrupt, outlive_file_size_limit};
pub use launcher::RunSession;
pub use listing::{CaseLister, Unlisted};
pub use lockstep::schedule::{Block, TurnFault, Turns};
pub use profiling::{ProfileSession, missing_profilers};
pub use programs::has_binary;
pub use rounds::{NextRound, PairState, RoundsSession, RoundsState, StoppingPolicy};
pub use session::{PlanSession, PlannedProcesses};
pub use shared_process::split_by_case;
pub use spawn::Supervised;
