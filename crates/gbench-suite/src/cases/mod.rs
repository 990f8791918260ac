//! The cases of a benchmark: found by the names of files, listed by a harness, selected by flags.

pub(crate) mod listed_cases;
pub(crate) mod param_values;
pub(crate) mod python_modules;
pub(crate) mod selection;
pub(crate) mod source_programs;
