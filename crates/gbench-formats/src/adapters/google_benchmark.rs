//! Google Benchmark: `--benchmark_out` in JSON; each repetition is a sample, the mean of its iterations.
//! <https://github.com/google/benchmark/blob/main/docs/user_guide.md>.
//!
//! `--benchmark_min_time` has no suffix `s`, because versions before 1.8 refuse it and later versions do not need it.
//!
//! Flags are given as variables (version 1.5.2 and later), because a program may take its first argument for its own
//! pattern. Where the command has flags of the library, which would override variables, ours are arguments behind them.

mod detection;
pub(crate) mod names;
pub(crate) mod report;
#[cfg(test)]
mod tests;

use self::names::{FILE, case_name};
use super::interface::prelude::*;
use super::source::quoting;

pub(crate) struct GoogleBenchmark;

const LIST: &str = "benchmark_list_tests";
const FILTER: &str = "benchmark_filter";

/// A longer filter is omitted: Linux refuses an argument or a variable of 128 KiB, and the reader then returns all cases.
const MAX_FILTER: usize = 100_000;

/// Seconds of one repetition of a counting process, for a case that sets its own number of iterations.
const COUNTED: f64 = 0.01;

impl Adapter for GoogleBenchmark {
    fn about(&self) -> About {
        About {
            name: "google-benchmark",
            title: "Google Benchmark",
            language: Language::Cpp,
            lists: Lists::Named,
            filters: true,
            reads: Reads::Samples,
            tried: &["1.5.2", "1.7.1", "1.9.1", "1.9.5-python"],
            needs: &[Need::Library {
                file: "/usr/include/benchmark/benchmark.h",
                package: "libbenchmark-dev",
            }],
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        detection::detect(tree)
    }

    /// The flags' names are strings in the library. A program that links a shared library, as on Debian, contains the
    /// library's name and symbols instead.
    fn recognises(&self, program: &Program) -> bool {
        program.holds("benchmark_list_tests") && program.holds("benchmark_min_time")
            || program.holds("libbenchmark.so") && program.holds("_ZN9benchmark")
            || program.holds("import google_benchmark")
    }

    /// `--benchmark_min_time=100x` is a number of iterations.
    fn calibrates(&self, program: &Program) -> bool {
        !program.command.iter().any(|word| word.starts_with("--benchmark_min_time=") && word.ends_with('x'))
    }

    fn list(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(invocation(ask.command, vec![(LIST, "true".into())]))
    }

    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        let text = output.text()?;
        let is_table = |line: &str| {
            line.starts_with("Benchmark ")
                && line.split_whitespace().skip(1).take(3).eq(["Time", "CPU", "Iterations"])
        };
        if text.lines().any(is_table) {
            let what = "it measured its benchmarks instead of listing them: before version 1.5.2 the library reads no variables. Give it \
                        any flag in `command`, such as `--benchmark_color=false`, and the others become arguments, too";
            return Err(ReadError::new(Place::Stdout, what));
        }
        Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(case_name).collect())
    }

    /// A list consists of names alone, of any characters.
    fn list_none(&self, ask: &CaseRequest) -> Option<Invocation> {
        Some(invocation(ask.command, vec![(LIST, "true".into()), (FILTER, "^$".into())]))
    }

    fn run(&self, ask: &CaseRequest) -> Option<Invocation> {
        let samples = ask.amount.samples.max(1);
        // A repetition measures for the whole of min_time: the samples share the seconds.
        Some(invocation(ask.command, flags(ask, ask.amount.seconds / f64::from(samples), samples)))
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        report::read(output).map(|(readings, _)| readings)
    }

    /// The log of the second level contains each run on standard error, including the search for the number of
    /// iterations, so the count is exact in every version. One repetition, because each costs some hundred thousand
    /// instructions of the harness itself; a case with `->Iterations(n)` gets more, because only repetitions increase its
    /// runs.
    fn count(&self, ask: &CaseRequest) -> Option<Invocation> {
        let is_fixed =
            ask.cases.iter().any(|case| case.split('/').any(|part| part.starts_with("iterations:")));
        let repetitions =
            if is_fixed { (ask.amount.seconds / COUNTED).ceil().clamp(1.0, 100.0) } else { 1.0 };
        let mut more = flags(ask, ask.amount.seconds / repetitions, repetitions as u32);
        more.push(("v", "2".into()));
        Some(invocation(ask.command, more))
    }
}

fn invocation(command: &[String], flags: Vec<(&'static str, String)>) -> Invocation {
    if command.iter().any(|word| word.starts_with("--benchmark_")) {
        return Invocation::of(command, flags.into_iter().map(|(flag, value)| format!("--{flag}={value}")));
    }
    let env = flags.into_iter().map(|(flag, value)| (flag.to_ascii_uppercase(), value)).collect();
    Invocation { argv: command.to_vec(), env }
}

fn flags(ask: &CaseRequest, each: f64, repetitions: u32) -> Vec<(&'static str, String)> {
    let mut flags = vec![
        ("benchmark_out", format!("{}/{FILE}", ask.out)),
        ("benchmark_out_format", "json".into()),
        ("benchmark_min_time", format!("{each:.6}")),
        ("benchmark_repetitions", repetitions.to_string()),
        ("benchmark_report_aggregates_only", "false".into()),
        ("benchmark_display_aggregates_only", "true".into()),
    ];
    let names: Vec<String> = ask.cases.iter().map(|case| escaped(case)).collect();
    let filter = format!("^({})$", names.join("|"));
    if !names.is_empty() && filter.len() <= MAX_FILTER {
        flags.push((FILTER, filter));
    }
    flags
}

/// A name as a regular expression. The library uses POSIX or C++ expressions: both treat exactly these characters as
/// special, and need not accept an escape of any other.
fn escaped(name: &str) -> String {
    quoting::escaped(name, r"\^$.|?*+()[]{}")
}
