//! The harnesses whose files are formats, and how each file is recognised. `asv` and `ctest` are missing: asv's result is
//! a whole tree of files, and any test runner may write ctest's file.

mod criterion_folder;
mod go_text;
#[cfg(test)]
mod tests;
mod unread;

use memchr::memmem;
use serde::Deserialize;

use super::interface::format::{ResultFile, RunReading};
use super::interface::harness_file::HarnessInput::{Beside, File, Own, Stdout};
use super::interface::harness_file::OtherKeys::{FactsExcept, Ignored};
use super::interface::harness_file::{HarnessFile, MachineFacts, read_file};
use super::readers::outline::Outline;
use super::readers::time::utc;
use super::readers::values::document;
use crate::adapters::interface::output::ReadError;
use crate::adapters::{
    benchmarkdotnet, catch2, criterion, divan, go_test, google_benchmark, gungraun, hyperfine, iai_callgrind,
    jmh, libtest_bench, mitata, nanobench, nvbench, pyperf, pytest_benchmark, vitest_bench,
};

pub const HARNESS_FILES: &[HarnessFile] = &[
    HarnessFile {
        versions: "the full JSON report of 0.12 and later",
        fields: "`FullName`, `Parameters`, the job of `DisplayInfo`, `Statistics.OriginalValues`, `Memory.BytesAllocatedPerOperation`; `HostEnvironmentInfo`",
        failures: "no `Statistics`; no `OriginalValues` in them (refused)",
        machine: &[MachineFacts {
            object: "HostEnvironmentInfo",
            names: &[
                ("ProcessorName", "cpu_model"),
                ("OsVersion", "os"),
                ("Architecture", "architecture"),
                ("LogicalCoreCount", "cores"),
                ("Configuration", "build_type"),
                ("BenchmarkDotNetVersion", "version"),
                ("RuntimeVersion", "runtime"),
                ("DotNetCliVersion", "dotnet"),
                ("HasAttachedDebugger", "debugger"),
            ],
            others: FactsExcept(&["BenchmarkDotNetCaption"]),
        }],
        ..HarnessFile::of(&benchmarkdotnet::BenchmarkDotNet, File("x-report-full.json"), |file| {
            Outline::shows(
                file,
                &["HostEnvironmentInfo", "Benchmarks"],
                &["HostEnvironmentInfo.BenchmarkDotNetVersion"],
            )
        })
    },
    HarnessFile {
        versions: "the XML report of 2 and 3",
        fields: "`TestCase`, `Section`, `BenchmarkResults`, its `mean` and `standardDeviation`; `OverallResult`; `catch2-version`, `samples`, `resamples`",
        failures: "`failed` or an assertion in place of `mean`; `OverallResult` without success, for all benchmarks of the test case; `Skip` (skipped); a test case without a result (refused)",
        run: catch2_run,
        ..HarnessFile::of(&catch2::Catch2, File("catch2.xml"), is_catch2)
    },
    HarnessFile {
        versions: "0.3 to 0.8: the folder `target/criterion`, or `new/sample.json` with `new/benchmark.json` next to it",
        fields: "`title`, `throughput`; `iters`, `times`; `sampling_mode`",
        failures: "nothing in the files; a sample without iterations or of no time, or one of the two files alone (refused)",
        run: criterion_folder::run,
        ..HarnessFile::of(
            &criterion::Criterion,
            Own { read: criterion_folder::read, beside: &criterion_folder::PARTS },
            criterion_folder::is_criterion,
        )
    },
    HarnessFile {
        versions: "the tree that 0.1 prints",
        fields: "the columns `fastest` to `iters`, allocations and throughputs",
        failures: "a row without times, or with a median of 0; `(ignored)` (skipped); a tree that is cut off (refused)",
        ..HarnessFile::of(&divan::Divan, Own { read: unread::divan, beside: &[] }, is_divan)
    },
    HarnessFile {
        versions: "what `go test -bench` prints, with or without `-v`, and other files of its format",
        fields: "name, `ns/op`, `B/op`, `allocs/op` and other units; `Unit`; `pkg`, `goos`, `goarch`, `cpu`, `commit`",
        failures: "`--- FAIL`, or a package that ends with `FAIL` within the benchmark; `--- SKIP` (skipped); a package that fails elsewhere, no iteration, or output of `go test` without `PASS` or `FAIL` at its end (refused)",
        direction: "time, bytes and allocations lower; other units as the benchmark format says",
        run: go_text::run,
        notes: &["gomaxprocs"],
        ..HarnessFile::of(&go_test::GoTest, Own { read: go_text::read, beside: &[] }, go_text::is_go)
    },
    HarnessFile {
        versions: "JSON of 1.0 and later",
        fields: "`run_name`, `run_type`, `real_time`, `cpu_time`, `time_unit`, `error_occurred`, counters; `context`",
        failures: "`error_occurred` true; `skipped` true (skipped); `iterations` of 0, a time that is not a number, or a missing repetition (refused)",
        run: |file| dated(file, "context.date"),
        machine: &[MachineFacts {
            object: "context",
            names: &[
                ("host_name", "host"),
                ("num_cpus", "cores"),
                ("library_build_type", "build_type"),
                ("library_version", "version"),
            ],
            // Each process measures the clock rate again.
            others: FactsExcept(&["date", "executable", "mhz_per_cpu", "json_schema_version"]),
        }],
        settings: &[MachineFacts {
            object: "benchmarks[]",
            names: &[("repetitions", "repetitions")],
            others: Ignored,
        }],
        ..HarnessFile::of(
            &google_benchmark::GoogleBenchmark,
            Own { read: unread::google_benchmark, beside: &[] },
            |file| {
                Outline::shows(file, &["context", "benchmarks"], &["context.num_cpus", "context.mhz_per_cpu"])
            },
        )
    },
    HarnessFile {
        versions: "JSON of the summaries' versions 6 and 7, also pretty",
        fields: "`module_path`, `id`, `profiles`; `details`",
        failures: "the name of a benchmark in place of its summary; no instruction, or a line that is cut off (refused)",
        notes: &["details"],
        direction: "instructions lower",
        ..HarnessFile::of(&gungraun::Gungraun, Stdout, |file| {
            has_summary(file, |version| version == "7" || version == "6" && file.holds(&["--gungraun-run"]))
        })
    },
    HarnessFile {
        versions: "JSON of 1.x, and schema 2",
        fields: "`command`, `parameters`, `times`, `exit_codes`, `memory_usage_byte`; `measurements`",
        failures: "`exit_codes` or `exit_code` other than 0; a time of 0, which is less than that of the shell; no exit codes, or no run (refused)",
        unread: unread::hyperfine,
        run: |file| dated(file, "metadata.start_time"),
        machine: &[
            MachineFacts { object: "metadata", names: &[("hyperfine_version", "version")], others: Ignored },
            MachineFacts {
                object: "metadata.platform",
                names: &[("os", "os"), ("architecture", "architecture")],
                others: Ignored,
            },
        ],
        ..HarnessFile::of(&hyperfine::Hyperfine, File("hyperfine.json"), is_hyperfine)
    },
    HarnessFile {
        versions: "JSON of the summaries' versions 2, 3 and 6, also pretty",
        fields: "`module_path`, `id`, `callgrind_summary` or `profiles`; `details`",
        failures: "nothing in the output: a benchmark that fails has no line; no instruction, or a line that is cut off (refused)",
        notes: &["details"],
        direction: "instructions lower",
        ..HarnessFile::of(&iai_callgrind::IaiCallgrind, Stdout, |file| {
            has_summary(file, |version| {
                ["2", "3"].contains(&version) || version == "6" && file.holds(&["--iai-run"])
            })
        })
    },
    HarnessFile {
        versions: "the JSON of `-rf json`, also of old versions without `jmhVersion`",
        fields: "`benchmark`, `mode`, `params`, `threads`, `primaryMetric.rawData`, `scoreUnit`; `jdkVersion`, `vmName`, `vmVersion`, `jvmArgs`; forks, iterations and times",
        failures: "nothing in the file: a benchmark that throws has no entry; no `rawData`, or an empty histogram (refused)",
        direction: "times lower, throughput higher",
        machine: &[MachineFacts {
            object: "",
            names: &[
                ("jmhVersion", "version"),
                ("jdkVersion", "jdk"),
                ("vmName", "vm"),
                ("vmVersion", "vm_version"),
            ],
            others: Ignored,
        }],
        notes: &["jvmArgs"],
        settings: &[MachineFacts {
            object: "",
            names: &[
                ("forks", "forks"),
                ("warmupIterations", "warmup_iterations"),
                ("warmupTime", "warmup_time"),
                ("warmupBatchSize", "warmup_batch_size"),
                ("measurementIterations", "iterations"),
                ("measurementTime", "measurement_time"),
                ("measurementBatchSize", "batch_size"),
            ],
            others: Ignored,
        }],
        ..HarnessFile::of(&jmh::Jmh, File("jmh.json"), is_jmh)
    },
    HarnessFile {
        versions: "what the test harness of Rust prints",
        fields: "`test NAME ... bench: N ns/iter (+/- N)`",
        failures: "`FAILED`; `ignored` (skipped); a time of 0; any other text behind the name (refused)",
        unread: unread::libtest_bench,
        ..HarnessFile::of(&libtest_bench::LibtestBench, Stdout, is_libtest_bench)
    },
    HarnessFile {
        versions: "the line of JSON of 0.1 and 1.0",
        fields: "`alias`, `args`, `stats.p50`, `stats.avg`, `error`; `context`",
        failures: "an `error`; no `stats`, or no sample (refused)",
        run: mitata_run,
        notes: &["runtime"],
        ..HarnessFile::of(&mitata::Mitata, Stdout, is_mitata)
    },
    HarnessFile {
        versions: "the templates for JSON and CSV, and the table, of 4.3",
        fields: "`title`, `name`, `unit`, `batch`, `measurements` with their counters; the columns of CSV and of the table",
        failures: "nothing in the output; an epoch without an iteration, a `batch` of 0, or a row that is cut off (refused)",
        notes: &["unit", "batch"],
        settings: &[MachineFacts {
            object: "results[]",
            names: &[
                ("epochs", "epochs"),
                ("epochIterations", "epoch_iterations"),
                ("maxEpochTime", "max_epoch_time"),
                ("minEpochIterations", "min_epoch_iterations"),
                ("minEpochTime", "min_epoch_time"),
                ("warmup", "warmup"),
            ],
            others: Ignored,
        }],
        ..HarnessFile::of(&nanobench::Nanobench, Own { read: unread::nanobench, beside: &[] }, is_nanobench)
    },
    HarnessFile {
        versions: "JSON of version 1, and the samples of `--jsonbin` from the same folder",
        fields: "`benchmarks[].states[]`: `axis_values`, `device`, `is_skipped`, `summaries[]` by `tag`",
        failures: "`is_skipped` with a `skip_reason` of `Unexpected error:`; any other one (skipped); no time, no sample, or a file of samples that is missing or of another size (refused)",
        direction: "time of the GPU lower; the others are shown",
        run: nvbench_run,
        notes: &["nvbench_version"],
        settings: &[MachineFacts {
            object: "benchmarks[].states[]",
            names: &[
                ("min_samples", "min_samples"),
                ("min_time", "min_time"),
                ("max_noise", "max_noise"),
                ("skip_time", "skip_time"),
                ("timeout", "timeout"),
            ],
            others: Ignored,
        }],
        ..HarnessFile::of(&nvbench::Nvbench, Beside("nvbench.json"), |file| {
            Outline::shows(
                file,
                &["meta", "benchmarks", "devices"],
                &["benchmarks[].name", "benchmarks[].states", "meta.version.json", "meta.version.nvbench"],
            )
        })
    },
    HarnessFile {
        versions: "JSON of version 1.0, a suite or one benchmark",
        fields: "`metadata.name`, `metadata.unit`, `runs[].values`; other `metadata`",
        failures: "a benchmark without values; one that raises is missing, and so are all after it",
        machine: &[PYPERF_OF_BENCHMARK, PYPERF_OF_SUITE],
        ..HarnessFile::of(&pyperf::Pyperf, File("pyperf.json"), is_pyperf)
    },
    HarnessFile {
        versions: "JSON of 3, 4 and 5; the failed tests come from `pytest.xml` (`--junitxml`) in the same folder",
        unread: unread::pytest_benchmark,
        fields: "`fullname`, `stats.data`, else `stats.median`; `rounds`, `iterations`; `datetime`, `commit_info`, `machine_info`",
        failures: "`failure` or `error` in `pytest.xml`; `skipped` there (skipped); a test that passed and measured nothing; nothing in the JSON alone; no round (refused)",
        run: pytest_benchmark_run,
        machine: &[
            MachineFacts {
                object: "machine_info",
                names: &[
                    ("node", "host"),
                    ("machine", "architecture"),
                    ("system", "os"),
                    ("release", "kernel"),
                    ("python_version", "python"),
                ],
                // A longer form of the same version.
                others: FactsExcept(&["python_implementation_version"]),
            },
            MachineFacts {
                object: "machine_info.cpu",
                names: &[("brand_raw", "cpu_model"), ("brand", "cpu_model"), ("count", "cores")],
                others: Ignored,
            },
        ],
        settings: &[MachineFacts {
            object: "benchmarks[].options",
            names: &[
                ("disable_gc", "disable_gc"),
                ("max_time", "max_time"),
                ("min_rounds", "min_rounds"),
                ("min_time", "min_time"),
                ("timer", "timer"),
                ("warmup", "warmup"),
            ],
            others: Ignored,
        }],
        ..HarnessFile::of(
            &pytest_benchmark::PytestBenchmark,
            Own { read: pytest_benchmark_file, beside: &[pytest_benchmark::ENDS] },
            |file| {
                file.begins(b'{')
                    && Outline::has_keys(file, &["machine_info", "commit_info", "benchmarks", "version"])
            },
        )
    },
    HarnessFile {
        versions: "the JSON of `--outputJson` of 2 to 4",
        fields: "`fullName`, `name`, `median`, `mean`, `sd`, `sampleCount`",
        failures: "no figures; `sampleCount` of 0, or only some of the figures (refused)",
        ..HarnessFile::of(&vitest_bench::VitestBench, File("vitest-bench.json"), |file| {
            Outline::shows(file, &["files"], &["files[].filepath", "files[].groups"])
        })
    },
];

/// The names of facts in the metadata of pyperf, which are of the suite if all its benchmarks have them in common.
const PYPERF_NAMES: &[(&str, &str)] = &[
    ("hostname", "host"),
    ("cpu_model_name", "cpu_model"),
    ("cpu_count", "cores"),
    ("platform", "os"),
    ("python_version", "python"),
    ("perf_version", "version"),
];
/// Keys that describe a run or a benchmark rather than the machine.
const PYPERF_OF_RUN: &[&str] = &[
    "boot_time",
    "cpu_freq",
    "cpu_temp",
    "date",
    "description",
    "duration",
    "inner_loops",
    "load_avg_1min",
    "loops",
    "mem_max_rss",
    "mem_peak_pagefile_usage",
    "name",
    "recalibrate_loops",
    "recalibrate_warmups",
    "runnable_threads",
    "unit",
    "uptime",
];
const PYPERF_OF_SUITE: MachineFacts =
    MachineFacts { object: "metadata", names: PYPERF_NAMES, others: FactsExcept(PYPERF_OF_RUN) };
const PYPERF_OF_BENCHMARK: MachineFacts =
    MachineFacts { object: "benchmarks[].metadata", names: PYPERF_NAMES, others: FactsExcept(PYPERF_OF_RUN) };

fn dated(file: &ResultFile, path: &str) -> RunReading {
    let keys: Vec<&str> = path.split('.').collect();
    let outline = Outline::of(file, keys.get(..1).unwrap_or_default(), &keys);
    let started = outline.and_then(|outline| outline.text_at(path).and_then(utc));
    RunReading { started, ..RunReading::default() }
}

/// True if the root element follows directly after the declaration.
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

/// True if the first document among the lines is a summary of a version.
fn has_summary(file: &ResultFile, is_version: impl Fn(&str) -> bool) -> bool {
    if !file.holds(&["\"module_path\""]) {
        return false;
    }
    let first = if file.bytes.starts_with(b"{") { Some(0) } else { memmem::find(file.bytes, b"\n{") };
    // A document may have several lines.
    first.and_then(|at| Outline::parse(file.bytes.get(at..)?)).is_some_and(|summary| {
        let keys = ["module_path", "benchmark_exe", "benchmark_file"];
        let counts = summary.has(&["profiles"]) || summary.has(&["callgrind_summary"]);
        summary.has(&keys) && counts && summary.text_at("version").is_some_and(is_version)
    })
}

fn is_hyperfine(file: &ResultFile) -> bool {
    let outline = Outline::of(file, &["results"], &["command"]);
    outline.is_some_and(|outline| {
        let first = ["command", "mean", "user", "system", "min", "max"];
        let second = outline.text_at("metadata.hyperfine_version").is_some();
        outline.rows_have("results", &first) || second && outline.rows_have("results", &["command"])
    })
}

/// Old versions do not write `jmhVersion`; no other tool writes the rest.
fn is_jmh(file: &ResultFile) -> bool {
    let is_old = || {
        let outline = Outline::of(file, &["benchmark", "mode", "forks", "primaryMetric"], &[]);
        outline.as_ref().and_then(Outline::first).is_some_and(|first| {
            let metric = |key: &str| first.has(&[&format!("primaryMetric.{key}")]);
            metric("scoreUnit") && (metric("rawData") || metric("rawDataHistogram"))
        })
    };
    let keys = ["jmhVersion", "benchmark", "mode", "primaryMetric"];
    file.begins(b'[') && (Outline::has_keys(file, &keys) || is_old())
}

fn is_libtest_bench(file: &ResultFile) -> bool {
    // A program of the author's may have another unit in it, which the reader refuses.
    file.any_line(" ... bench:", |line| {
        let measured = line.strip_prefix("test ").and_then(|line| line.split_once(" ... bench:"));
        measured.is_some_and(|(_, rest)| rest.contains(" (+/- "))
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

/// The version, and how many samples it took, from the first benchmark.
fn catch2_run(file: &ResultFile) -> RunReading {
    let text = String::from_utf8_lossy(file.bytes);
    let attribute = |element: &str, name: &str| {
        let (_, rest) = text.split_once(&format!("<{element} "))?;
        let (_, value) = rest.split_once('>')?.0.split_once(&format!(" {name}=\""))?;
        Some(value.split_once('"')?.0.to_owned())
    };
    let run = RunReading::default().also("version", attribute("Catch2TestRun", "catch2-version"));
    let run = run.setting("samples", attribute("BenchmarkResults", "samples"));
    run.setting("resamples", attribute("BenchmarkResults", "resamples"))
}

/// The machine, from the first report.
fn mitata_run(file: &ResultFile) -> RunReading {
    let mut lines = file.bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{"));
    let Some(report) = lines.next().and_then(Outline::parse) else { return RunReading::default() };
    let text = |path: &str| report.text_at(path);
    RunReading::default()
        .also("cpu_model", text("context.cpu.name").or(text("cpu")))
        .also("architecture", text("context.arch"))
}

fn nvbench_run(file: &ResultFile) -> RunReading {
    #[derive(Deserialize)]
    struct Devices {
        devices: Vec<Device>,
    }
    #[derive(Deserialize)]
    struct Device {
        name: String,
    }
    let found = document::<Devices>(file).map_or_else(|_| Vec::new(), |it| it.devices);
    RunReading::default().fact("devices", found.into_iter().map(|it| it.name).collect::<Vec<_>>())
}

fn is_pyperf(file: &ResultFile) -> bool {
    let outline = Outline::of(file, &["version", "benchmarks"], &["runs"]);
    outline.is_some_and(|outline| {
        let is_run =
            ["values", "warmups"].iter().any(|key| outline.has(&[&format!("benchmarks[].runs[].{key}")]));
        outline.text_at("version") == Some("1.0") && is_run
    })
}

/// The end of each test comes from `pytest.xml` in the same folder, if it exists.
fn pytest_benchmark_file(file: &ResultFile) -> Result<RunReading, ReadError> {
    if file.beside.get(pytest_benchmark::ENDS).is_some() {
        return Ok(read_file(&pytest_benchmark::PytestBenchmark, file, pytest_benchmark::FILE)?.into());
    }
    let read = pytest_benchmark::measured(file.bytes);
    read.map(RunReading::from).map_err(|error| {
        super::interface::harness_file::renamed(error, Some(pytest_benchmark::FILE), file.name)
    })
}

/// The measured commit, if the tree had no other changes.
fn pytest_benchmark_run(file: &ResultFile) -> RunReading {
    let outline = Outline::of(file, &[], &["commit_info"]);
    let commit = outline.as_ref().and_then(|outline| {
        let info = outline.get("commit_info")?;
        let is_clean = matches!(info.get("dirty"), Some(Outline::Flag(false)));
        let id =
            info.text_at("id").filter(|id| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        id.filter(|_| is_clean).map(str::to_owned)
    });
    let started = outline.and_then(|outline| outline.text_at("datetime").and_then(utc));
    RunReading { started, commit, ..RunReading::default() }
}
