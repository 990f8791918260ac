//! gbench-ci: the regression gate for GPU code.
//!
//! One direction, and only [`app`] and [`cli`] know the whole route:
//!
//! ```text
//! suite -> run -> RunRecord -> store -> compare -> report -> github
//! ```
//!
//! Everything else is in `crates/`, and what a crate may import is in its `Cargo.toml`:
//!
//! | crate | holds | imports of ours |
//! |---|---|---|
//! | [`gbench-model`](model) | ids, units, documents, line protocol, errors | nothing |
//! | [`gbench-stats`](stats) | e-process, ranks, change points, noisy bisection, power | nothing |
//! | [`gbench-device-code`](device_code) | fatbin, ELF, cubin: which kernels changed | nothing |
//! | `gbench-formats` | [`adapters`] for harnesses and result files of others, readers of a [`profile`] | model |
//! | [`gbench-suite`](suite) | suite file, discovery, plan | model, formats |
//! | `gbench-host` | the [`machine`], NVML, telemetry, clocks, locks; [`supervise`] | model |
//! | [`gbench-micro`](micro) | built-in workloads, CUDA | model, stats, device-code |
//! | `gbench-measure` | [`run`], [`trees`], [`store`], [`ingest`], the Python [`driver`] | model, stats, formats, suite, host, device-code |
//! | [`gbench-compare`](compare) | rules, verdicts, [`trend`]s, profile differences | model, stats, device-code |
//! | [`gbench-report`](report) | verdicts, records, trends to bytes | model, compare |
//! | [`gbench-github`](github) | client, comments, checks, [`history`] branch, [`guard`] | model |
//!
//! [`app`] has the use cases, [`cli`] the flags and the printing; the names below are for them and for the tests.
//! `tests/arrows.rs` has what Cargo cannot say: which of them do no I/O, and who writes to the terminal. NVML is reached from
//! one file, CUDA from four of `gbench-micro`, process control from one folder; they and the matrix product's file are the only
//! ones with `unsafe`.

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` is next to the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

pub mod app;
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "it alone knows the terminal")]
pub mod cli;

pub use gbench_compare as compare;
pub use gbench_compare::trend;
pub use gbench_device_code as device_code;
pub use gbench_formats::{adapters, profile};
pub use gbench_github as github;
pub use gbench_github::{guard, history};
pub use gbench_host::{machine, supervise};
pub use gbench_measure::{driver, ingest, run, store, trees};
pub use gbench_micro as micro;
pub use gbench_model as model;
pub use gbench_report as report;
pub use gbench_stats as stats;
pub use gbench_suite as suite;
