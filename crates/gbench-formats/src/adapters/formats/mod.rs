//! Result files that a program wrote by itself: tables, logs, JSON documents.
//!
//! A [`ResultFormat`] recognises a file by features that only its program writes, and reads its rows as
//! [`Reading`](super::Reading)s: cases with parameters, metrics with unit and direction. `ResultProgram` makes each
//! format an adapter, so that a suite can start the program (`harness = "nccl-tests"`) and use its table as cases.
//!
//! A format whose rows can be described by their fields is a table in one of the files `rows/*.toml`. Any other is one file in this folder and one line of the list
//! below; CONTRIBUTING has the steps. `interface/` has the shared types, `readers/` the shared tools.

mod harness_files;
mod interface;
pub(super) mod readers;
mod rows;
#[cfg(test)]
mod tests;

pub use harness_files::HARNESS_FILES;
pub use interface::around::documents_alone;
pub use interface::check::{read, read_repeated};
pub use interface::format::{FormatAbout, ResultFile, ResultFormat, RunReading, plain_text};
pub use interface::harness_file::HarnessFile;
pub(super) use interface::program::OUT as OUT_WORD;
pub(crate) use interface::program::ResultProgram;
pub use interface::repeats::Repeats;
pub use readers::values::changes_by_itself;
pub use rows::description::{Described, DescribedMetric, RowLayout, TextLayout};
pub use rows::file::DescriptionError;
pub use rows::guess::{FieldRole, Guess, GuessedField, WAY};
pub use rows::source::failed_row;

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Declares the module of each format and the list of all: one line per format.
macro_rules! formats {
    ($($file:ident),* $(,)?) => {
        $(mod $file;)*
        /// Every format without a harness adapter, in the order in which a file is checked.
        pub static FORMATS: LazyLock<Vec<&dyn ResultFormat>> = LazyLock::new(|| {
            let mut formats: Vec<&dyn ResultFormat> = vec![$(&$file::FORMAT),*];
            formats.extend(rows::shelf::leaked().iter().map(|it| it as &dyn ResultFormat));
            formats.sort_by_key(|format| format.name());
            formats
        });
    };
}

/// The same as programs that a suite can start.
pub(super) static PROGRAMS: LazyLock<Vec<&dyn super::Adapter>> = LazyLock::new(|| {
    let program = |format: &&'static dyn ResultFormat| -> &dyn super::Adapter {
        Box::leak(Box::new(ResultProgram(*format)))
    };
    FORMATS.iter().map(program).collect()
});

formats! {
    aiperf,
    attention_harness,
    babelstream,
    catch2_text,
    chrome_trace,
    cutlass,
    github_action_benchmark,
    gpu_burn,
    harness_results,
    hpcg,
    hpl,
    kernel_summary,
    kernel_tuner,
    kernelbench,
    ktt,
    llama_bench,
    loadgen,
    mllog,
    monitor,
    nccl_tests,
    ncu,
    nsys_stats,
    nvbandwidth,
    nvbench_table,
    openmetrics,
    operator_list,
    popcorn,
    primbench,
    torch_measurement,
    torchbench,
    triton,
    tritonbench,
    vllm,
}

/// Every format, including those of harnesses with an adapter.
pub fn every() -> impl Iterator<Item = &'static dyn ResultFormat> {
    let harnesses = HARNESS_FILES.iter().map(|file| -> &'static dyn ResultFormat { file });
    FORMATS.iter().copied().chain(harnesses)
}

pub fn named(name: &str) -> Option<&'static dyn ResultFormat> {
    every().find(|format| format.name() == name)
}

/// The formats that certainly match a file; it is recognised if there is exactly one.
pub fn recognised(file: &ResultFile) -> Vec<&'static dyn ResultFormat> {
    every().filter(|format| format.recognises(file)).collect()
}

/// Names of files that belong to a result of some format if they are in its folder.
pub fn beside() -> BTreeSet<&'static str> {
    every().flat_map(|format| format.beside()).copied().collect()
}
