//! Carries a plan out: processes in, records out.

mod container;
mod gpus;
mod harness;
#[cfg(test)]
mod kind_tests;
mod lockstep;
mod outcome;
mod process;
mod profiling;
mod python;
pub(crate) mod record;
pub(crate) mod requests;
mod rounds;
mod samples;
mod session;

pub use gpus::bound::{InheritedGpus, bound_list, gpus_of_list, usable_gpus};
pub use gpus::idle::wait_for_calm;
pub use gpus::queues::{GpuQueue, gpu_queues};
pub use harness::listing::{CaseLister, Unlisted};
pub use harness::shared_process::split_by_case;
pub use lockstep::schedule::{Block, TurnFault, Turns};
pub use process::binaries::has_binary;
pub use process::executor::{
    ConditionsProbe, Execution, ExecutionEnd, Executor, Launch, ShareFault, StagePlan, StopReason,
};
pub use process::interrupt::{Interrupt, outlive_file_size_limit};
pub use process::spawn::Supervised;
pub use process::watched::changed_during;
pub use profiling::{ProfileSession, missing_profilers};
pub use python::interpreter::find_interpreter;
pub use record::arm::Finished;
pub use rounds::{NextRound, PairState, RoundsSession, RoundsState, StoppingPolicy};
pub use session::event::{Observer, Progress, Silent};
pub use session::launcher::RunSession;
pub use session::plan_session::{PlanSession, PlannedProcesses, QueueSession};
