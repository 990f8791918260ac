//! BenchmarkDotNet: its full JSON reports, `*-report-full.json`, as documented. Their values exclude the outliers that it
//! removes. <https://benchmarkdotnet.org/articles/configs/exporters.html>.
//!
//! Read only: a command writes the reports into the folder with `--exporters fulljson --artifacts FOLDER`.

use super::interface::prelude::*;

pub(crate) struct BenchmarkDotNet;

const ENDS: [&str; 2] = ["-report-full.json", "-report-full-compressed.json"];

impl Adapter for BenchmarkDotNet {
    fn about(&self) -> About {
        About {
            name: "benchmarkdotnet",
            title: "BenchmarkDotNet",
            language: Language::DotNet,
            lists: Lists::No,
            reads: Reads::Samples,
            per_operation: true,
            ..About::PLAIN
        }
    }

    fn detect(&self, tree: &dyn SourceTree) -> Detected {
        let project =
            |path: &&String| [".csproj", ".fsproj", ".vbproj"].iter().any(|end| path.ends_with(end));
        let uses =
            |path: &&String| tree.text(path).is_some_and(|text| text.contains("Include=\"BenchmarkDotNet"));
        let unclear = tree.files().iter().filter(project).filter(uses).map(|path| {
            format!(
                "{path} uses BenchmarkDotNet, whose reports are only read: write its command by hand, with `--exporters fulljson --artifacts` and the folder"
            )
        });
        Detected { unclear: unclear.collect(), ..Detected::default() }
    }

    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError> {
        let mut readings = Vec::new();
        for end in ENDS {
            for (file, bytes) in output.files.ending(end) {
                let report: Report = document(Some(file), bytes)?;
                for (index, benchmark) in report.benchmarks.iter().enumerate() {
                    let wrong =
                        |(key, what)| ReadError::path(file, format!("Benchmarks[{index}].{key}"), what);
                    readings.push(benchmark.read(&report).map_err(wrong)?);
                }
            }
        }
        Ok(readings)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Report {
    host_environment_info: Option<Host>,
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Host {
    benchmark_dot_net_version: Option<String>,
    runtime_version: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Benchmark {
    full_name: String,
    display_info: Option<String>,
    parameters: Option<String>,
    statistics: Option<Statistics>,
    memory: Option<Memory>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Statistics {
    /// Nanoseconds of an operation, one for each iteration.
    original_values: Option<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Memory {
    bytes_allocated_per_operation: Option<f64>,
}

impl Benchmark {
    fn read(&self, report: &Report) -> Result<Reading, (&'static str, &'static str)> {
        let mut reading =
            Reading::new(case_name(&self.full_name, self.parameters.as_deref().unwrap_or_default()));
        let job = self.display_info.as_deref().and_then(job);
        reading.also(job.map(|job| ("job".to_owned(), ParamValue::Text(job.to_owned()))));
        if let Some(host) = &report.host_environment_info {
            reading.note("version", host.benchmark_dot_net_version.clone());
            reading.note("runtime", host.runtime_version.clone());
        }
        let Some(statistics) = &self.statistics else {
            return Ok(reading.with_end(failed("it has no statistics: see the log of BenchmarkDotNet")));
        };
        let Some(values) = statistics.original_values.as_ref().filter(|values| !values.is_empty()) else {
            return Err(("Statistics.OriginalValues", "missing or empty"));
        };
        reading.metric("time", "ns", None).values = values.clone();
        if let Some(bytes) = self.memory.as_ref().and_then(|memory| memory.bytes_allocated_per_operation) {
            reading.metric("allocated", "B", None).values = vec![bytes];
        }
        Ok(reading)
    }
}

/// The job of `Sort.Ints: Job-IXKZGC(Runtime=.NET 9.0) [N=8]`, without the name that is made up for each report. `None`: the
/// usual one.
fn job(display: &str) -> Option<&str> {
    let (_, job) = display.split_once(": ")?;
    let job = job.split(" [").next().unwrap_or(job);
    let made_up = job.strip_prefix("Job-").and_then(|rest| rest.split_once('(')?.1.strip_suffix(')'));
    Some(made_up.unwrap_or(job)).filter(|job| *job != "DefaultJob" && !job.starts_with("Job-"))
}

/// `A.B.Sort(N: 8, Kind: x)` with `N=8&Kind=x` is `A.B.Sort` with `N = 8` and `Kind = x`.
fn case_name(full: &str, parameters: &str) -> CaseName {
    let mut case = CaseName::plain(full);
    let apart = if parameters.contains('&') { "&" } else { ", " };
    let pairs: Option<Vec<_>> = parameters.split(apart).map(|part| part.split_once('=')).collect();
    let short = full.find('(').map(|at| &full[..at]);
    if let (Some(pairs), Some(short)) = (pairs, short) {
        case.case = short.to_owned();
        case.params =
            pairs.into_iter().map(|(key, value)| (key.trim().to_owned(), int_or_text(value))).collect();
    }
    case
}
