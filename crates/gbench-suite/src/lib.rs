//! The suite, which says what can be measured: `gbench.toml` and the built-in suite become one [`Suite`].

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
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
pub use cases::selection::{Registry, Selection, commas, fitting};
pub use gbench_model::Strictness;
pub use reader::file_patterns::fits;
pub use reader::suite_file::FILE_NAME;
pub use settings::environment::{Environment, PREFIX};
pub use settings::keep_runs::KeepRuns;
pub use settings::options::{BusyGpu, Gate, MIN_MONITOR_INTERVAL, ProfileOptions, RunOptions};
pub use settings::overrides::{Overrides, Preset};
pub use suite::{Source, Suite};
