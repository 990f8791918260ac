//! The machine that measures, and the processes on it.
//!
//! ```text
//! machine     what it is and what state it is in: processors, GPUs, clocks, locks, telemetry, checks
//! supervise   starts a process, waits, and leaves nothing of it behind
//! ```
//!
//! NVML is called from one file and processes are controlled from one folder; only these contain `unsafe`.

// User input never causes a panic. Where a panic is impossible, `#[expect]` gives the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod beside;
pub mod machine;
pub mod supervise;

pub use beside::Beside;
