//! The built-in workloads: what a machine can do before anyone's code is asked.
//!
//! Each runs as a child of the same binary (`gbench-ci __micro NAME`) and speaks the child protocol like any
//! other benchmark, so that the gate has one way of measuring and the protocol a steady user. [`mod@catalog`]
//! lists them as plain data; a workload is one file and one line of that list.

// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
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
