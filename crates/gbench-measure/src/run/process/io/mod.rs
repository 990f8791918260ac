//! Reads a child's output: streams within bounds, events line by line.

pub(crate) mod capture;
pub(crate) mod channel;
pub(crate) mod event_lines;
pub(crate) mod stream;
