//! Programs and scripts of no known harness.

pub(crate) mod calibrating;
pub(crate) mod gpu_source;
pub(crate) mod javascript;
pub(crate) mod kernel_programs;
pub(crate) mod kernel_scripts;
pub(crate) mod linpack;
pub(crate) mod make_rules;
pub(crate) mod makefile;
pub(crate) mod python_text;
pub(crate) mod sources;
pub(crate) mod started;
