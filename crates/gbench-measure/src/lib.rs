//! Measures: checks out the sides of a comparison, runs them, and keeps the results.
//!
//! ```text
//! trees     the checkouts of the two sides, and commits in between
//! run       a plan carried out: processes, rounds, stages, samples, profiles
//! driver    what runs inside of a Python process
//! ingest    result files of others as a record
//! store     run records in folders, named baselines
//! ```

#![forbid(unsafe_code)]
// User input never causes a panic. Where a panic is impossible, `#[expect]` gives the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

pub mod driver;
pub mod ingest;
pub mod run;
pub mod store;
pub mod trees;
