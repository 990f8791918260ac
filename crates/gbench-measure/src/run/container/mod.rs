//! Benchmarks in containers.

pub(crate) mod command;
pub(crate) mod contained_process;
