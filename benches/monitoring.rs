//! What sampling the machine costs, and whether it moves what is measured.
//!
//! The GPU is the stand-in of the tests, so that the goal holds for processors and memory alone: what the answers of a driver cost, only a
//! card can tell. The first row is what no sampler can go below: a thread that wakes up and reads the same two files.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

#[path = "../tests/fake_nvml/mod.rs"]
mod fake_nvml;
mod support;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gbench_ci::model::{RunRecord, Telemetry};
use nix::time::{ClockId, clock_gettime};
use support::{Goals, gbench};

/// Pairs of runs of the CPU benchmark.
const PAIRS: usize = 24;
const GOAL: f64 = 0.005;

const SUITE: &str = "[suite]\nname = 's'\n[defaults]\nprocesses = 1\n[[benchmark]]\nid = 'sleep'\ncommand = ['sleep', '10']\n\
     [[benchmark]]\nid = 'cpu'\nbuiltin = 'cpu_flops'\nduration = '500ms'\n";

fn record(folder: &Path, line: &str, card: Option<&str>) -> RunRecord {
    let mut command: Command = gbench();
    command.args(line.split_whitespace()).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    match card {
        Some(settings) => {
            command.env("GBENCH_NVML_LIBRARY", fake_nvml::library("")).env("FAKE_NVML", settings)
        }
        None => command.env("GBENCH_NVML_LIBRARY", "/no/such/library"),
    };
    let export = folder.join("record.json");
    let status = command.args(["--quiet", "--export"]).arg(&export).status().expect("the binary starts");
    assert!(status.success(), "{line}: {status}");
    serde_json::from_slice(&std::fs::read(export).expect("a record")).expect("it is one")
}

fn window(record: &RunRecord) -> &Telemetry {
    let conditions = record.cases[0].processes[0].conditions.as_ref().expect("it was watched");
    conditions.telemetry.as_deref().expect("it was sampled")
}

fn throughput(record: &RunRecord) -> f64 {
    let metric =
        record.cases[0].metrics.iter().find(|metric| metric.name == "throughput").expect("a throughput");
    metric.summary.as_ref().expect("a summary").median
}

/// Mean and its standard error, of logarithms of ratios.
fn mean(ratios: &[f64]) -> (f64, f64) {
    let count = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / count;
    let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// Share of a processor of a thread that wakes up for 10 s at this interval and reads the files that the gate reads.
fn bare(interval: Duration) -> f64 {
    let own_cpu = || {
        let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every kernel has this clock");
        time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
    };
    let files = ["/proc/stat", "/proc/meminfo"].map(|path| File::open(path).expect("every kernel has it"));
    let (began, before, mut head) = (Instant::now(), own_cpu(), [0; 512]);
    while began.elapsed() < Duration::from_secs(10) {
        thread::sleep(interval);
        for file in &files {
            std::hint::black_box(file.read_at(&mut head, 0).expect("it can be read"));
        }
    }
    (own_cpu() - before) / began.elapsed().as_secs_f64()
}

fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("gbench.toml"), SUITE).expect("a suite file");
    let mut goals = Goals::default();

    println!("sampling while `sleep 10` runs: share of one processor that its threads take\n");
    println!("{:<34} {:>9} {:>8} {:>7} {:>9}", "what is sampled", "interval", "samples", "missed", "cost");
    for interval in [100, 50] {
        let cost = bare(Duration::from_millis(interval)) * 100.0;
        println!(
            "{:<34} {:>9} {:>8} {:>7} {cost:>7.3} %",
            "waking up and reading two files",
            format!("{interval}ms"),
            "",
            ""
        );
    }
    for (what, card) in [
        ("processors and memory", None),
        ("with one stand-in card", Some("count=1 utilization=90")),
        ("with eight stand-in cards", Some("count=8 utilization=90")),
    ] {
        for interval in ["1s", "500ms", "100ms", "50ms"] {
            let line = format!("run --benchmark sleep --monitor --monitor-interval {interval}");
            let record = record(folder.path(), &line, card);
            let Telemetry { samples, missed, cost, .. } = window(&record);
            let cost = cost.expect("more than one sample");
            println!("{what:<34} {interval:>9} {samples:>8} {missed:>7} {:>7.3} %", cost * 100.0);
            if interval == "50ms" && card.is_none() {
                goals.check(
                    &format!("{what}: at 20 Hz"),
                    format!("{:.3} %", cost * 100.0),
                    "< 0.5 %",
                    cost < GOAL,
                );
            }
            if interval == "500ms" {
                goals.check(
                    &format!("{what}: samples in 10 s"),
                    samples.to_string(),
                    "18 to 22",
                    (18..=22).contains(samples),
                );
            }
        }
    }

    println!("\ncpu_flops, median of a process: {PAIRS} rounds of three runs in turns\n");
    let quiet = "run --benchmark cpu --no-monitor";
    let sampled = "run --benchmark cpu --monitor --monitor-interval 50ms";
    let card = Some("count=1 utilization=90");
    let (mut same, mut with) = (Vec::new(), Vec::new());
    for round in 0..PAIRS {
        let lines = [quiet, sampled, quiet];
        let order = [[0, 1, 2], [2, 1, 0], [1, 0, 2]][round % 3];
        let mut rates = [0.0; 3];
        for at in order {
            rates[at] = throughput(&record(folder.path(), lines[at], card));
        }
        same.push((rates[2] / rates[0]).ln());
        with.push((rates[1] / (rates[0] * rates[2]).sqrt()).ln());
    }
    let ((same, same_error), (with, with_error)) = (mean(&same), mean(&with));
    let shown = |(mean, error): (f64, f64)| format!("{:+.2} % ± {:.2} %", mean * 100.0, error * 100.0);
    println!("{:<44} {:>20}", "no sampling against itself", shown((same, same_error)));
    println!("{:<44} {:>20}", "20 samples a second against none", shown((with, with_error)));
    let allowed = 2.0 * same_error.hypot(with_error) + same.abs();
    goals.check(
        "20 samples a second move the median",
        format!("{:.2} %", with.abs() * 100.0),
        &format!("< {:.2} % (A/A)", allowed * 100.0),
        with.abs() < allowed,
    );
    goals.conclude()
}
