//! GitHub Actions: the jobs of a matrix and their merged result, outputs of a step, the guard of a runner.

pub(crate) mod client;
pub(crate) mod matrix;
pub(crate) mod merge;
pub(crate) mod runner_guard;
pub(crate) mod step_outputs;
