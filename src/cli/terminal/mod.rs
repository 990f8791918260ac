//! The reader's terminal: writing, tables, progress, faults, and what it can show.

pub mod error;
pub(super) mod progress;
pub(super) mod style;
pub(super) mod write;
