//! Files of results that a program left by itself: tables, logs, JSON documents of others.
//!
//! A [`ResultFormat`] knows a file by what only it writes, and reads its rows as [`Reading`]s: cases with parameters, metrics
//! with unit and direction. Through [`ResultProgram`] each is an adapter, too, so that a suite can start the program
//! (`harness = "nccl-tests"`) and take its table as its cases.
//!
//! A new format is one file beside this one and one line of the list below; CONTRIBUTING has the steps.

mod format;
mod parts;
mod program;
mod table;
#[cfg(test)]
mod tests;

pub use format::{FormatAbout, ResultFile, ResultFormat, RunReading};
pub use program::ResultProgram;

use super::check;
use super::output::ReadError;

/// Declares the module of each format and the list of all: one line a format.
macro_rules! formats {
    ($($file:ident::$name:ident),* $(,)?) => {
        $(mod $file;)*
        /// Every format of result files, in the order in which a file is held against them.
        pub const FORMATS: &[&dyn ResultFormat] = &[$(&$file::$name),*];
        /// Each as an adapter.
        pub(super) const PROGRAMS: &[&dyn super::Adapter] = &[$(&ResultProgram(&$file::$name)),*];
    };
}

formats! {
    aiperf::AiPerf,
    chrome_trace::ChromeTrace,
    github_action_benchmark::GithubActionBenchmark,
    kernel_tuner::KernelTuner,
    kernelbench::KernelBench,
    llama_bench::LlamaBench,
    nccl_tests::NcclTests,
    primbench::Primbench,
    torch_measurement::TorchMeasurement,
    triton::Triton,
    tritonbench::TritonBench,
    vllm::Vllm,
}

/// The format of that name.
pub fn named(name: &str) -> Option<&'static dyn ResultFormat> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// The formats that say for certain that a file is theirs: it is known where that is one.
pub fn recognised(file: &ResultFile) -> Vec<&'static dyn ResultFormat> {
    FORMATS.iter().copied().filter(|format| format.recognises(file)).collect()
}

/// The runs of a file, checked as every harness's output is. Errors: it cannot be read as this format; it holds no result; a case stands
/// twice in a run; a value is not a finite number; a time below zero; a judged metric without a direction.
pub fn read(format: &dyn ResultFormat, file: &ResultFile) -> Result<Vec<RunReading>, ReadError> {
    let runs = format.read(file)?;
    if runs.iter().all(|run| run.readings.is_empty()) {
        return Err(file.wrong(format!("it holds no result of {}", format.about().title)));
    }
    runs.iter().try_for_each(|run| check::sound_all(&run.readings))?;
    Ok(runs)
}
