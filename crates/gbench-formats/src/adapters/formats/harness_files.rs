//! The harnesses whose files are formats, and what each is known by. `asv` and `ctest` are not among them: the one needs files that stand for
//! a whole tree, the other writes what any test runner may write.

mod criterion_folder;
mod go_text;
#[cfg(test)]
mod tests;

use memchr::memmem;
use serde::Deserialize;

use super::format::{ResultFile, RunReading};
use super::harness_file::{HarnessFile, HarnessInput, read_file};
use super::outline::Outline;
use super::time::utc;
use crate::adapters::benchmarkdotnet::BenchmarkDotNet;
use crate::adapters::catch2::Catch2;
use crate::adapters::criterion::Criterion;
use crate::adapters::divan::Divan;
use crate::adapters::go_test::GoTest;
use crate::adapters::google_benchmark::GoogleBenchmark;
use crate::adapters::gungraun::Gungraun;
use crate::adapters::hyperfine::Hyperfine;
use crate::adapters::iai_callgrind::IaiCallgrind;
use crate::adapters::jmh::Jmh;
use crate::adapters::libtest_bench::LibtestBench;
use crate::adapters::mitata::Mitata;
use crate::adapters::nanobench::Nanobench;
use crate::adapters::nvbench::Nvbench;
use crate::adapters::pyperf::Pyperf;
use crate::adapters::pytest_benchmark::{self, PytestBenchmark};
use crate::adapters::vitest_bench::VitestBench;
use crate::adapters::{ReadError, Reading};

/// Each harness whose file is a format by itself.
pub const HARNESS_FILES: &[HarnessFile] = &[
    HarnessFile {
        adapter: &BenchmarkDotNet,
        source: HarnessInput::File("x-report-full.json"),
        recognises: is_benchmarkdotnet,
        run: |_| RunReading::default(),
        versions: "the full JSON report of 0.12 and later",
        fields: "`FullName`, `Parameters`, `Statistics.OriginalValues`, `Memory.BytesAllocatedPerOperation`",
        direction: TIME,
    },
    HarnessFile {
        adapter: &Catch2,
        source: HarnessInput::File("catch2.xml"),
        recognises: is_catch2,
        run: |_| RunReading::default(),
        versions: "the XML report of 2 and 3",
        fields: "`TestCase`, `Section`, `BenchmarkResults`, its `mean` and `standardDeviation`; `OverallResult`",
        direction: TIME,
    },
    HarnessFile {
        adapter: &Criterion,
        source: HarnessInput::Own { read: criterion_folder::read, beside: &criterion_folder::PARTS },
        recognises: criterion_folder::is_criterion,
        run: |_| RunReading::default(),
        versions: "0.3 to 0.8: the folder `target/criterion`, or `new/sample.json` with `new/benchmark.json` beside it",
        fields: "`title`, `throughput`; `iters`, `times`",
        direction: TIME,
    },
    HarnessFile {
        adapter: &Divan,
        source: HarnessInput::Stdout,
        recognises: is_divan,
        run: |_| RunReading::default(),
        versions: "the tree that 0.1 prints",
        fields: "the columns `fastest` to `iters`, allocations and throughputs",
        direction: TIME,
    },
    HarnessFile {
        adapter: &GoTest,
        source: HarnessInput::Own { read: go_text::read, beside: &[] },
        recognises: go_text::is_go,
        run: |_| RunReading::default(),
        versions: "what `go test -bench` prints, with or without `-v`, up to its `PASS`",
        fields: "name, `ns/op`, `B/op`, `allocs/op` and other units; `pkg`, `goos`, `goarch`, `cpu`",
        direction: "time, bytes and allocations lower; other units as the benchmark format says",
    },
    HarnessFile {
        adapter: &GoogleBenchmark,
        source: HarnessInput::File("google-benchmark.json"),
        recognises: is_google_benchmark,
        run: |file| dated(file, &["context", "date"]),
        versions: "JSON of 1.5 and later",
        fields: "`run_name`, `run_type`, `real_time`, `cpu_time`, `time_unit`, `error_occurred`, counters; `context`",
        direction: TIME,
    },
    HarnessFile {
        adapter: &Gungraun,
        source: HarnessInput::Stdout,
        recognises: is_gungraun,
        run: |_| RunReading::default(),
        versions: "JSON of the summaries' versions 6 and 7",
        fields: "`module_path`, `id`, `profiles`",
        direction: "instructions lower",
    },
    HarnessFile {
        adapter: &Hyperfine,
        source: HarnessInput::File("hyperfine.json"),
        recognises: is_hyperfine,
        run: |file| dated(file, &["metadata", "start_time"]),
        versions: "JSON of 1.x, and schema 2",
        fields: "`command`, `parameters`, `times`, `exit_codes`, `memory_usage_byte`; `measurements`",
        direction: TIME,
    },
    HarnessFile {
        adapter: &IaiCallgrind,
        source: HarnessInput::Stdout,
        recognises: is_iai_callgrind,
        run: |_| RunReading::default(),
        versions: "JSON of the summaries' versions 2, 3 and 6",
        fields: "`module_path`, `id`, `callgrind_summary` or `profiles`",
        direction: "instructions lower",
    },
    HarnessFile {
        adapter: &Jmh,
        source: HarnessInput::File("jmh.json"),
        recognises: is_jmh,
        run: |_| RunReading::default(),
        versions: "the JSON of `-rf json`",
        fields: "`benchmark`, `mode`, `params`, `threads`, `primaryMetric.rawData`, `scoreUnit`",
        direction: "times lower, throughput higher",
    },
    HarnessFile {
        adapter: &LibtestBench,
        source: HarnessInput::Stdout,
        recognises: is_libtest_bench,
        run: |_| RunReading::default(),
        versions: "what the test harness of Rust prints",
        fields: "`test NAME ... bench: N ns/iter (+/- N)`",
        direction: TIME,
    },
    HarnessFile {
        adapter: &Mitata,
        source: HarnessInput::Stdout,
        recognises: is_mitata,
        run: |_| RunReading::default(),
        versions: "the line of JSON of 0.1 and 1.0",
        fields: "`alias`, `args`, `stats.p50`, `stats.avg`, `error`",
        direction: TIME,
    },
    HarnessFile {
        adapter: &Nanobench,
        source: HarnessInput::Stdout,
        recognises: is_nanobench,
        run: |_| RunReading::default(),
        versions: "the templates for JSON and CSV, and the table, of 4.3",
        fields: "`title`, `name`, `batch`, `measurements`; the columns of CSV and of the table",
        direction: TIME,
    },
    HarnessFile {
        adapter: &Nvbench,
        source: HarnessInput::Beside("nvbench.json"),
        recognises: is_nvbench,
        run: nvbench_run,
        versions: "JSON of version 1; the samples of `--jsonbin` where their files lie beside it",
        fields: "`benchmarks[].states[]`: `axis_values`, `device`, `is_skipped`, `summaries[]` by `tag`",
        direction: "time of the GPU lower; the others are shown",
    },
    HarnessFile {
        adapter: &Pyperf,
        source: HarnessInput::File("pyperf.json"),
        recognises: is_pyperf,
        run: |_| RunReading::default(),
        versions: "JSON of version 1.0, a suite or one benchmark",
        fields: "`metadata.name`, `metadata.unit`, `runs[].values`",
        direction: TIME,
    },
    HarnessFile {
        adapter: &PytestBenchmark,
        source: HarnessInput::Own { read: pytest_benchmark_file, beside: &[pytest_benchmark::ENDS] },
        recognises: is_pytest_benchmark,
        run: pytest_benchmark_run,
        versions: "JSON of 3, 4 and 5; which tests failed stands in `pytest.xml` beside it alone (`--junitxml`)",
        fields: "`fullname`, `stats.data`, else `stats.median`; `rounds`, `iterations`; `datetime`, `commit_info`",
        direction: TIME,
    },
    HarnessFile {
        adapter: &VitestBench,
        source: HarnessInput::File("vitest-bench.json"),
        recognises: is_vitest_bench,
        run: |_| RunReading::default(),
        versions: "the JSON of `--outputJson` of 2 to 4",
        fields: "`fullName`, `name`, `median`, `mean`, `sd`, `sampleCount`",
        direction: TIME,
    },
];

const TIME: &str = "time lower";

/// A run that began when the text at this path says.
fn dated(file: &ResultFile, path: &[&str]) -> RunReading {
    let outline = Outline::of(file, path.get(..1).unwrap_or_default(), path);
    let started = outline.and_then(|outline| outline.text_at(path).and_then(utc));
    RunReading { started, ..RunReading::default() }
}

fn is_benchmarkdotnet(file: &ResultFile) -> bool {
    let outline = Outline::of(file, &["HostEnvironmentInfo", "Benchmarks"], &["BenchmarkDotNetVersion"]);
    outline.is_some_and(|outline| {
        let host = outline.get("HostEnvironmentInfo");
        host.is_some_and(|host| host.has(&["BenchmarkDotNetVersion"]))
    })
}

/// Its root element, which stands behind the declaration alone.
fn is_catch2(file: &ResultFile) -> bool {
    let text = file.bytes.trim_ascii_start();
    let rest = match memmem::find(text, b"?>") {
        Some(end) if text.starts_with(b"<?xml") => text.get(end + 2..).unwrap_or_default().trim_ascii_start(),
        _ => text,
    };
    let is_root = [&b"<Catch2TestRun "[..], b"<Catch "].iter().any(|root| rest.starts_with(root));
    is_root && file.holds(&["<BenchmarkResults "])
}

fn is_divan(file: &ResultFile) -> bool {
    let columns = ["fastest", "slowest", "median", "mean", "samples", "iters"];
    file.any_line("fastest", |line| {
        let mut cells = line.split('│').map(str::trim);
        let first = cells.next().and_then(|cell| cell.split_whitespace().next_back());
        first == Some(columns[0]) && cells.eq(columns[1..].iter().copied())
    })
}

fn is_google_benchmark(file: &ResultFile) -> bool {
    let outline = Outline::of(file, &["context", "benchmarks"], &["mhz_per_cpu"]);
    outline.is_some_and(|outline| {
        let context = outline.get("context");
        context.is_some_and(|context| context.has(&["num_cpus", "mhz_per_cpu"]))
    })
}

fn is_gungraun(file: &ResultFile) -> bool {
    has_summary(file, |version| version == "7" || version == "6" && file.holds(&["--gungraun-run"]))
}

fn is_iai_callgrind(file: &ResultFile) -> bool {
    has_summary(file, |version| ["2", "3"].contains(&version) || version == "6" && file.holds(&["--iai-run"]))
}

/// Whether the first document among the lines is a summary of a version.
fn has_summary(file: &ResultFile, is_version: impl Fn(&str) -> bool) -> bool {
    if !file.holds(&["\"module_path\""]) {
        return false;
    }
    let first = file.bytes.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"{"));
    first.and_then(Outline::parse).is_some_and(|summary| {
        let keys = ["module_path", "benchmark_exe", "benchmark_file"];
        let counts = summary.has(&["profiles"]) || summary.has(&["callgrind_summary"]);
        summary.has(&keys) && counts && summary.text_at(&["version"]).is_some_and(is_version)
    })
}

fn is_hyperfine(file: &ResultFile) -> bool {
    let outline = Outline::of(file, &["results"], &["command"]);
    outline.is_some_and(|outline| {
        let first = ["command", "mean", "user", "system", "min", "max"];
        let second = outline.text_at(&["metadata", "hyperfine_version"]).is_some();
        outline.rows_have("results", &first) || second && outline.rows_have("results", &["command"])
    })
}

fn is_jmh(file: &ResultFile) -> bool {
    file.begins(b'[') && Outline::has_keys(file, &["jmhVersion", "benchmark", "mode", "primaryMetric"])
}

fn is_libtest_bench(file: &ResultFile) -> bool {
    file.any_line(" ns/iter (+/- ", |line| {
        let measured = line.strip_prefix("test ").and_then(|line| line.split_once(" ... bench:"));
        measured.is_some_and(|(_, rest)| rest.contains(" ns/iter (+/- "))
    })
}

fn is_mitata(file: &ResultFile) -> bool {
    let is_report = |report: Outline| {
        let new = report.has(&["layout", "context"]) && report.rows_have("benchmarks", &["alias", "runs"]);
        let old =
            report.has(&["cpu", "runtime"]) && report.rows_have("benchmarks", &["name", "group", "baseline"]);
        new || old
    };
    let words = [["\"layout\"", "\"alias\""], ["\"runtime\"", "\"baseline\""]];
    words.iter().any(|words| file.holds(words))
        && file.any_line("\"benchmarks\"", |line| {
            line.starts_with('{') && Outline::parse(line.as_bytes()).is_some_and(is_report)
        })
}

fn is_nanobench(file: &ResultFile) -> bool {
    let is_json =
        file.holds(&["\"median(elapsed)\"", "\"medianAbsolutePercentError(elapsed)\"", "\"measurements\""]);
    let csv = "\"title\";\"name\";\"unit\";\"batch\";\"elapsed\";\"error %\"";
    is_json
        || file.any_line(csv, |line| line.starts_with(csv))
        || file.any_line("err%", |line| {
            let mut cells = line.split('|').map(str::trim).skip_while(|cell| !cell.ends_with("/s"));
            line.starts_with('|') && cells.any(|cell| cell == "err%") && cells.any(|cell| cell == "total")
        })
}

fn is_nvbench(file: &ResultFile) -> bool {
    let outline = Outline::of(file, &["meta", "benchmarks", "devices"], &["nvbench"]);
    outline.is_some_and(|outline| {
        let version = outline.get("meta").and_then(|meta| meta.get("version"));
        outline.rows_have("benchmarks", &["name", "states"])
            && version.is_some_and(|version| version.has(&["json", "nvbench"]))
    })
}

/// With the devices that the file names.
fn nvbench_run(file: &ResultFile) -> RunReading {
    #[derive(Deserialize)]
    struct Devices {
        devices: Vec<Device>,
    }
    #[derive(Deserialize)]
    struct Device {
        name: String,
    }
    let run = RunReading::default();
    match serde_json::from_slice::<Devices>(file.bytes) {
        Ok(Devices { devices }) if !devices.is_empty() => {
            run.fact("devices", devices.into_iter().map(|device| device.name).collect::<Vec<_>>())
        }
        _ => run,
    }
}

fn is_pyperf(file: &ResultFile) -> bool {
    let outline = Outline::of(file, &["version", "benchmarks"], &["runs"]);
    outline.is_some_and(|outline| {
        let run = outline.first_of("benchmarks").and_then(|benchmark| benchmark.first_of("runs"));
        let is_run = run.is_some_and(|run| run.has(&["values"]) || run.has(&["warmups"]));
        outline.text_at(&["version"]) == Some("1.0") && is_run
    })
}

fn is_pytest_benchmark(file: &ResultFile) -> bool {
    file.begins(b'{') && Outline::has_keys(file, &["machine_info", "commit_info", "benchmarks", "version"])
}

/// With `pytest.xml` beside it, each test ends as that says.
fn pytest_benchmark_file(file: &ResultFile) -> Result<Vec<Reading>, ReadError> {
    if file.beside.get(pytest_benchmark::ENDS).is_some() {
        return read_file(&PytestBenchmark, file, pytest_benchmark::FILE);
    }
    let read = pytest_benchmark::measured(file.bytes);
    read.map_err(|error| super::harness_file::renamed(error, Some(pytest_benchmark::FILE), file.name))
}

/// A commit is what was measured where nothing was changed beside it.
fn pytest_benchmark_run(file: &ResultFile) -> RunReading {
    let outline = Outline::of(file, &[], &["commit_info"]);
    let commit = outline.as_ref().and_then(|outline| {
        let info = outline.get("commit_info")?;
        let is_clean = matches!(info.get("dirty"), Some(Outline::Flag(false)));
        let id = info
            .text_at(&["id"])
            .filter(|id| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        id.filter(|_| is_clean).map(str::to_owned)
    });
    let started = outline.and_then(|outline| outline.text_at(&["datetime"]).and_then(utc));
    RunReading { started, commit, ..RunReading::default() }
}

fn is_vitest_bench(file: &ResultFile) -> bool {
    let outline = Outline::of(file, &["files"], &["filepath", "groups"]);
    outline.is_some_and(|outline| outline.rows_have("files", &["filepath", "groups"]))
}
