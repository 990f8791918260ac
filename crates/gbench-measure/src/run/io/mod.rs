//! Reads a child's output: streams within bounds, events line by line.

pub(super) mod capture;
pub(super) mod channel;
pub(super) mod lines;
pub(super) mod stream;
