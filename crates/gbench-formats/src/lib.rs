//! Reads the output of other tools. No I/O: bytes in, readings out.
//!
//! ```text
//! adapters   benchmark harnesses, result files, layouts of benchmark folders
//! profile    profilers' output about kernels
//! ```

#![forbid(unsafe_code)]
// User input never causes a panic. Where a panic is impossible, `#[expect]` gives the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

pub mod adapters;
pub mod profile;
