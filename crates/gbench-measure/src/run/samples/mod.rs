//! Samples of a process, from its events and its output.

pub(crate) mod collected;
pub(crate) mod extract;
