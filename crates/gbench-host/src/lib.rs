//! The machine that measures, and the processes on it.
//!
//! ```text
//! machine     what it is and what state it is in: processors, GPUs, clocks, locks, telemetry, checks
//! supervise   starts a process, waits, and leaves nothing of it behind
//! ```
//!
//! NVML is reached from one file, process control from one folder; they alone hold `unsafe`.

// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod beside;
pub mod machine;
pub mod supervise;

pub use beside::Beside;
