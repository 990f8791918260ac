//! Decides on the machine whether a job may run there, before its first step: a hook of the runner that no pull request
//! can edit. A job that is not allowed is refused, and so is one that cannot be read.
//!
//! It relies on the runner alone: the hook is named in the runner's own environment, the event file is written by the
//! runner before the job begins, and a workflow cannot set the variables `GITHUB_*`, which the runner sets itself.
//! Nothing else of the environment is looked at; the script drops it. A hook that fails does not keep the runner from
//! steps that always run, so that the script also ends the runner's worker.

pub mod audit;
pub mod decide;
pub mod install;
pub mod job;
pub mod log;
pub mod policy;

pub use decide::{JobRefusal, decide};
pub use job::GuardedJob;
pub use policy::GuardPolicy;

/// The runner's variable that names the script.
pub(crate) const HOOK: &str = "ACTIONS_RUNNER_HOOK_JOB_STARTED";
