//! The built-in workloads, which measure the machine itself.
//!
//! Each runs as a child of the same binary (`gbench-ci __micro NAME`) and speaks the child protocol like any other benchmark,
//! so that the gate has one way of measuring and the protocol has a permanent user. [`mod@catalog`] lists them as data; a
//! workload is one file and one line of that list.

// User input never causes a panic. Where a panic is impossible, `#[expect]` gives the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

pub mod catalog;
pub mod channel;
mod cpu;
pub mod cuda;
mod disk;
mod gemm;
mod host;
pub mod injected;
mod memory;
mod network;
mod pace;
mod spec;
mod throttle_state;
mod workload;

pub use catalog::{catalog, main};
pub use spec::{Defaults, MetricSpec, MicroError};
pub use throttle_state::{OpenLook, ThrottleLook, ThrottleState};
pub use workload::{Workload, points};
