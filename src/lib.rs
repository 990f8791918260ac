//! gbench-ci: the regression gate for GPU code.
//!
//! One direction, and only [`app`] and [`cli`] know the whole route:
//!
//! ```text
//! suite -> run -> RunRecord -> store -> compare -> report -> github
//! ```
//!
//! | level | rooms | may import |
//! |---|---|---|
//! | 0 | [`model`], [`stats`] | nothing of ours |
//! | 1 | [`adapters`], [`machine`], [`supervise`], [`github`] | `model` |
//! | 1 | [`device_code`], [`profile`] | `model` |
//! | 1 | [`driver`] | nothing of ours |
//! | 2 | [`suite`] | `model`, `adapters` |
//! | 2 | [`store`], [`guard`] | `model`, `github` |
//! | 2 | [`micro`] | `model`, `stats`, `device_code` |
//! | 2 | [`compare`] | `model`, `stats`, `device_code`, `profile` |
//! | 3 | [`trend`] | `model`, `stats`, `compare` |
//! | 4 | [`report`] | `model`, `compare`, `trend` |
//! | 3 | [`run`] | `model`, `stats`, `adapters`, `suite`, `supervise`, `store`, `driver`, `device_code`, `profile` |
//! | 3 | [`trees`] | `model`, `suite`, `machine`, `store` |
//! | 4 | [`ingest`] | `model`, `adapters`, `run` |
//! | 5 | [`app`] | any but `cli` |
//! | 6 | [`cli`] | any |
//!
//! [`app`] holds the use cases, [`cli`] the flags and the printing. `tests/arrows.rs` holds this table as data and
//! reads the imports. `model`, `stats`, `adapters`, `suite::plan`, `device_code`, `compare`, `trend`,
//! `profile` and `report` do no I/O. NVML is reached from one
//! file, CUDA from four of `micro::cuda`, process control from one room; they and the matrix product's file are the only ones with `unsafe`.

// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

pub mod adapters;
pub mod app;
pub mod cli;
pub mod compare;
pub mod device_code;
pub mod driver;
pub mod github;
pub mod guard;
pub mod ingest;
pub mod machine;
pub mod micro;
pub mod model;
pub mod profile;
pub mod report;
pub mod run;
pub mod stats;
pub mod store;
pub mod suite;
pub mod supervise;
pub mod trees;
pub mod trend;
