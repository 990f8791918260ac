//! The reader's terminal: writing, tables, progress, faults, and what it can show.

pub mod error;
pub mod progress;
pub mod style;
pub mod write;
