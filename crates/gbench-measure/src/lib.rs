//! Measures: checks out what is compared, runs it, and keeps what came of it.
//!
//! ```text
//! trees     the checkouts of the two sides, and commits in between
//! run       a plan carried out: processes, rounds, stages, samples, profiles
//! driver    what runs inside of a Python process
//! ingest    result files of others as a record
//! store     run records in folders, named baselines
//! ```

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

pub mod driver;
pub mod ingest;
pub mod run;
pub mod store;
pub mod trees;
