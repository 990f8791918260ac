//! What other tools print and write, read. No I/O: bytes in, readings out.
//!
//! ```text
//! adapters   benchmark harnesses, result files, layouts of benchmark folders
//! profile    what profilers print of kernels
//! ```

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

pub mod adapters;
pub mod profile;
