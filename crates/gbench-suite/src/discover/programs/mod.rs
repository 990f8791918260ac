//! Programs and scripts of no known harness.

pub(crate) mod calibrating;
pub(crate) mod javascript;
pub(crate) mod kernel_programs;
pub(crate) mod linpack;
pub(crate) mod makefile;
pub(crate) mod sources;
pub(crate) mod started;
