//! The suite: `gbench.toml` or the built-in benchmarks, checked.
//!
//! ```text
//! reader      gbench.toml, with every mistake and its place
//! benchmark   one benchmark: program, parameters, numbers
//! settings    [run], [gate], [profile], the environment, the command line
//! cases       cases from files and harnesses, and their selection
//! discover    benchmarks in a folder, for init
//! plan        the processes and their order
//! ```

#![forbid(unsafe_code)]
// User input never causes a panic. Where a panic is impossible, `#[expect]` gives the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod benchmark;
mod cases;
pub mod discover;
#[cfg(test)]
mod kind_tests;
pub mod plan;
mod reader;
mod settings;
mod suite;
#[cfg(test)]
mod suite_case_tests;
pub mod words;

pub use benchmark::container::{Container, ContainerRuntime};
pub use benchmark::cuda::{CudaArgument, CudaEntry, CudaFill, CudaLaunch, CudaReference, shown_axes};
pub use benchmark::definition::{Benchmark, Declared};
pub use benchmark::each_gpu::{is_each, own_params};
pub use benchmark::element_type::ElementType;
pub use benchmark::extraction::{Extract, ExtractFrom, ExtractRows, MetricRule};
pub use benchmark::harness::{DirectProgram, FailedBuild, HarnessEntry, Listing};
pub use benchmark::kernel_number::KernelNumber;
pub use benchmark::launch::{Action, Build, Requires};
pub use benchmark::python::{DriverOptions, PythonEntry, PythonModule, PythonSource, SideTree, TimingMode};
pub use benchmark::source_pairs::SourcePairs;
pub use benchmark::template::substitute;
pub use benchmark::work::{Work, WorkAmount};
pub use cases::selection::{Registry, Selection, commas, fitting, has_params};
pub use gbench_model::Strictness;
pub use reader::file_patterns::fits;
pub use reader::suite_file::FILE_NAME;
pub use settings::environment::{Environment, PREFIX};
pub use settings::keep_runs::KeepRuns;
pub use settings::options::{
    BusyGpu, Gate, LauncherKind, LauncherOptions, MIN_MONITOR_INTERVAL, ProfileOptions, RunOptions,
};
pub use settings::overrides::{Overrides, Preset};
pub use suite::{Source, Suite};
