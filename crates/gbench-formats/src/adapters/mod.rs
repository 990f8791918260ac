//! Benchmark harnesses: a file for each defines how to detect, list, run and read it.
//!
//! Nothing here does I/O. An adapter provides the words that start a program, and turns its output bytes into
//! [`Reading`]s; `run` starts it and reads its files, and `suite` searches the tree. [`read`] and [`list`] check the
//! result of every adapter's reader: finite numbers, units with a known direction, and each case once.
//!
//! A new harness is one file in this folder and one line of the list below; CONTRIBUTING has the steps. `interface/` has
//! the shared types, `source/` the readers of project files, `readers/` those of result files.

pub mod formats;
mod interface;
#[cfg(test)]
mod kind_tests;
pub mod layouts;
mod readers;
mod source;
#[cfg(test)]
mod tests;

use std::fmt;

pub use interface::adapter::{
    About, Adapter, Amount, CaseName, CaseRequest, End, Invocation, Language, Lists, LoadFields,
    MetricReading, Need, Reading, Reads, Refusal, SummaryReading,
};
pub use interface::check::{list, list_beside, read};
pub use interface::output::{HarnessOutput, OutputFiles, Place, ReadError, STDERR};
#[cfg(test)]
use interface::source_tree::MemoryTree;
pub use interface::source_tree::{BuildStep, Detected, FoundBenchmark, Program, SourceTree};
pub use interface::wrap::wrapped;
pub use source::cargo::{BenchTarget, CargoBench, Executable, cargo_bench, cargo_benches, executable};
pub use source::cmake::{CMakePrograms, NoPlace};
pub use source::javascript::imports as javascript_imports;

/// Declares the module of each adapter and the list of all: one line per harness.
macro_rules! adapters {
    ($($file:ident::$name:ident),* $(,)?) => {
        $(pub mod $file;)*
        /// Every adapter, in the order in which `harness = "auto"` and `init` try them.
        pub const ALL: &[&dyn Adapter] = &[$(&$file::$name),*];
    };
}

adapters! {
    asv::Asv,
    benchmarkdotnet::BenchmarkDotNet,
    catch2::Catch2,
    criterion::Criterion,
    ctest::CTest,
    divan::Divan,
    go_test::GoTest,
    google_benchmark::GoogleBenchmark,
    gungraun::Gungraun,
    hyperfine::Hyperfine,
    iai_callgrind::IaiCallgrind,
    jmh::Jmh,
    kernels::Kernels,
    libtest_bench::LibtestBench,
    mitata::Mitata,
    nanobench::Nanobench,
    nvbench::Nvbench,
    pyperf::Pyperf,
    pytest_benchmark::PytestBenchmark,
    vitest_bench::VitestBench,
}

/// An adapter by reference, compared by its name.
#[derive(Clone, Copy)]
pub struct Harness(pub &'static dyn Adapter);

impl Harness {
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|harness| harness.0.name() == name)
    }

    /// Harnesses, and the formats that programs print.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().chain(formats::PROGRAMS.iter()).map(|adapter| Self(*adapter))
    }

    /// A program whose rows the suite file describes. It is leaked: a process reads suite files a few times only.
    pub fn described(rows: formats::Described) -> Self {
        let rows: &_ = Box::leak(Box::new(rows));
        Self(Box::leak(Box::new(formats::ResultProgram(rows))))
    }

    /// True for a format that programs write by themselves.
    pub fn is_format(self) -> bool {
        formats::PROGRAMS.iter().any(|program| program.name() == self.0.name())
    }

    /// True if its command may contain `{out}`, the folder for its files.
    pub fn takes_folder(self) -> bool {
        let out = ["program".to_owned(), formats::OUT_WORD.to_owned()];
        let ask = CaseRequest { command: &out, cases: &[], out: "/folder", amount: Amount::LEAST };
        self.0.run(&ask).is_some_and(|invocation| invocation.argv.iter().any(|word| word == "/folder"))
    }

    /// True if executions of a single case can be counted.
    pub fn counts(self) -> bool {
        let command: Vec<String> = self.0.example().iter().map(|word| (*word).to_owned()).collect();
        self.0
            .count(&CaseRequest { command: &command, cases: &["case"], out: "/", amount: Amount::LEAST })
            .is_some()
    }

    /// True if it can put its words into a command.
    pub fn takes(self, command: &[String]) -> bool {
        self.0.run(&CaseRequest { command, cases: &[], out: "/", amount: Amount::LEAST }).is_some()
    }

    /// The harness of a program; `None` if none or several recognise it.
    pub fn recognised(program: &Program) -> Option<Self> {
        let mut found = ALL.iter().filter(|adapter| adapter.recognises(program));
        let first = found.next()?;
        found.next().is_none().then_some(Self(*first))
    }
}

impl PartialEq for Harness {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl fmt::Debug for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}
