//! Parts of files that the readers of harnesses pass over, though they may be results.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::adapters::formats::interface::format::{ResultFile, RunReading};
use crate::adapters::formats::interface::harness_file::renamed;
use crate::adapters::formats::readers::values::{document, has_number};
use crate::adapters::google_benchmark::{names, report};
use crate::adapters::hyperfine;
use crate::adapters::interface::output::{HarnessOutput, OutputFiles, ReadError};
use crate::adapters::{divan, nanobench};
use gbench_model::profiler_csv::lines;
use gbench_model::{Unread, UnreadKind};

/// The lines for which `is` is true.
fn lines_of(file: &ResultFile, is: impl Fn(&str) -> bool) -> Unread {
    let mut unread = Unread::default();
    let text = String::from_utf8_lossy(file.bytes);
    for (at, line, _) in lines(&text).filter(|(_, line, _)| is(line)) {
        unread.line(UnreadKind::Line, at, line);
    }
    unread
}

/// The report folds its entries while it is parsed, and says itself what it passes over.
pub(super) fn google_benchmark(file: &ResultFile) -> Result<RunReading, ReadError> {
    let files = OutputFiles([(names::FILE.to_owned(), file.bytes.to_vec())].into());
    let read = report::read(&HarnessOutput { stdout: b"", files: &files });
    let (readings, unread) = read.map_err(|error| renamed(error, Some(names::FILE), file.name))?;
    Ok(RunReading { readings, unread, ..RunReading::default() })
}

/// A result behind other output, as of a benchmark that prints.
pub(super) fn libtest_bench(file: &ResultFile) -> Unread {
    lines_of(file, |line| line.contains(" ns/iter (+/- ") && !line.starts_with("test "))
}

/// The output, with the rows of six columns above the first header.
pub(super) fn divan(file: &ResultFile) -> Result<RunReading, ReadError> {
    let read = divan::read_file(&HarnessOutput { stdout: file.bytes, files: &OutputFiles::default() });
    let readings = read.map_err(|error| renamed(error, None, file.name))?;
    let text = String::from_utf8_lossy(file.bytes);
    let header = lines(&text).find(|(_, line, _)| line.contains("fastest") && line.contains("iters"));
    let first = header.map_or(usize::MAX, |(at, ..)| at);
    let mut unread = Unread::default();
    for (at, line, _) in lines(&text).take_while(|(at, ..)| *at < first) {
        if line.matches('│').count() >= 5 && line.contains(|c: char| c.is_ascii_digit()) {
            unread.line(UnreadKind::Line, at, line);
        }
    }
    Ok(RunReading { readings, unread, ..RunReading::default() })
}

/// The output, with the rows of a table behind other output of their line, and the fields that are not known.
pub(super) fn nanobench(file: &ResultFile) -> Result<RunReading, ReadError> {
    let read = nanobench::read(&HarnessOutput { stdout: file.bytes, files: &OutputFiles::default() });
    let (readings, mut unread) = read.map_err(|error| renamed(error, None, file.name))?;
    let is_row = |line: &str| line.matches('|').count() >= 5 && line.contains('%') && line.ends_with('`');
    unread.extend(lines_of(file, |line| !line.starts_with('|') && is_row(line)));
    Ok(RunReading { readings, unread, ..RunReading::default() })
}

/// Fields of results that hyperfine does not write as far as it is known here.
pub(super) fn hyperfine(file: &ResultFile) -> Unread {
    #[derive(Deserialize)]
    struct Report {
        results: Vec<BTreeMap<String, Value>>,
    }
    let Ok(report) = document::<Report>(file) else { return Unread::default() };
    let runs = report.results.iter().filter_map(|result| result.get("measurements")?.as_array());
    let of_runs = runs.flatten().filter_map(Value::as_object).flatten();
    let fields = report.results.iter().flatten().chain(of_runs);
    let unknown = fields.filter(|(name, value)| !hyperfine::is_known(name) && has_number(value));
    let mut unread = Unread::default();
    unread.fields(unknown.map(|(name, _)| name.clone()));
    unread
}

/// Numbers that a test adds to its result: they are kept with the case, and nothing says that they are figures.
pub(super) fn pytest_benchmark(file: &ResultFile) -> Unread {
    #[derive(Deserialize)]
    struct Report {
        benchmarks: Vec<Benchmark>,
    }
    #[derive(Deserialize)]
    struct Benchmark {
        #[serde(default)]
        extra_info: BTreeMap<String, Number>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Is(#[expect(dead_code, reason = "its type is what matters")] f64),
        IsNot(IgnoredAny),
    }
    let Ok(report) = document::<Report>(file) else { return Unread::default() };
    let added = report.benchmarks.iter().flat_map(|benchmark| &benchmark.extra_info);
    let numbers = added.filter(|(_, value)| matches!(value, Number::Is(_)));
    let mut unread = Unread::default();
    unread.fields(numbers.map(|(name, _)| format!("extra_info.{name}")));
    unread
}
