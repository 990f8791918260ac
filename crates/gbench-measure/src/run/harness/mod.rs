//! Processes of benchmark harnesses: their commands, their cases, their result files.

pub(crate) mod harness_process;
pub(crate) mod invocation;
pub(crate) mod left_files;
pub(crate) mod listing;
pub(crate) mod recognition;
pub(crate) mod shared_process;
