//! `gbench-ci compare` of two large records: 10,000 cases of 200 samples, 10 processes of 20 each.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/support/records.rs"]
mod records;
mod support;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use gbench_ci::compare::{Policy, SideInput, compare};
use gbench_ci::model::{CaseRecord, RunRecord, Settings, Stage, StageReport, StageStatus, Summary};
use gbench_ci::report::{self, Format, Options, Style};
use gbench_ci::stats;
use gbench_ci::store::read_record;

use strum::IntoEnumIterator;
use support::{Ended, Goals, Spread, gbench, megabytes, milliseconds, run, this_bench};

const CASES: i64 = 10_000;
const PROCESSES: u32 = 10;
const ITERATIONS: u32 = 20;
/// Every hundredth case is a fifth slower in the head: as long a list of findings as anybody would read.
const PLANTED_EVERY: usize = 100;
const ROUNDS: usize = 5;

const WALL_GOAL: Duration = Duration::from_secs(2);
const MEMORY_GOAL: u64 = 500_000_000;

/// First argument of the role that writes the records.
const WRITE: &str = "write-records";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, folder] = arguments.as_slice()
        && role == WRITE
    {
        write(&record(1), &Path::new(folder).join("base.json"));
        write(&record(2), &Path::new(folder).join("head.json"));
        return ExitCode::SUCCESS;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    // In a process of its own: see `support::run`.
    let written =
        Command::new(this_bench()).arg(WRITE).arg(folder.path()).status().expect("the bench starts");
    assert!(written.success(), "the records could not be written");
    let (base, head) = (folder.path().join("base.json"), folder.path().join("head.json"));
    let size = std::fs::metadata(&base).expect("a record").len();
    println!(
        "compare: two records of {CASES} cases x {} samples ({PROCESSES} processes of {ITERATIONS}), {} each; \
         {ROUNDS} rounds\n",
        PROCESSES * ITERATIONS,
        megabytes(size)
    );

    let header = ["min", "median", "max", "processor", "memory"].map(|word| format!(" {word:>10}"));
    println!("{:<46}{}", "command", header.concat());
    let mut goals = Goals::default();
    for format in ["json", "terminal", "markdown"] {
        let name = format!("gbench-ci compare --format {format}");
        let ended: Vec<Ended> = (0..ROUNDS).map(|_| compare_once(folder.path(), format)).collect();
        let peak = ended.iter().map(|ended| ended.peak_bytes).max().unwrap_or_default();
        let spread = Spread::of(ended.iter().map(|ended| ended.wall).collect());
        let cpu = Spread::of(ended.iter().map(|ended| ended.cpu).collect()).median;
        line(&name, &spread, &format!("{:>10} {:>10}", milliseconds(cpu), megabytes(peak)));
        if format == "json" {
            let met = spread.median < WALL_GOAL;
            goals.check(&format!("{name}, median"), milliseconds(spread.median), "< 2000 ms", met);
            goals.check(&format!("{name}, memory"), megabytes(peak), "< 500 MB", peak < MEMORY_GOAL);
        }
    }

    println!("\n{:<46} {:>10} {:>10} {:>10}", "part, in one process", "min", "median", "max");
    parts(&base, &head);
    goals.conclude()
}

/// One run of the binary, which must find what was planted.
fn compare_once(folder: &Path, format: &str) -> Ended {
    let report = std::fs::File::create(folder.join("report")).expect("a file for the report");
    let mut command = gbench();
    command
        .args(["compare", "base.json", "head.json", "--sessions", "0", "--format", format])
        .current_dir(folder);
    let ended = run(command.stdin(Stdio::null()).stdout(Stdio::from(report)));
    assert_eq!(ended.status.code(), Some(1), "the planted cases are regressions");
    if format == "json" {
        let text = std::fs::read_to_string(folder.join("report")).expect("a report");
        let regressed = text.matches("\"verdict\": \"regressed\"").count();
        assert_eq!(regressed, CASES as usize / PLANTED_EVERY);
    }
    ended
}

fn parts(base: &Path, head: &Path) {
    let none = "";
    line("read one record", &Spread::of_calls(3, || read_record(base).expect("a record")), none);
    let (base, head) = (read_record(base).expect("a record"), read_record(head).expect("a record"));
    let input = |record| SideInput { record, name: "record.json".into() };
    let policy = Policy { sessions: 0, ..Policy::default() };
    let decide = || compare(&input(&base), &input(&head), &policy).expect("a verdict");
    line("pair, decide", &Spread::of_calls(3, decide), none);
    let document = decide();
    for format in Format::iter() {
        let render = || {
            let mut bytes = Vec::new();
            let options = Options { format, style: Style::PLAIN, all: true };
            report::verdict(&document, &options, &mut bytes).expect("memory takes all");
            bytes
        };
        line(
            &format!("render all as {}, {}", format.into_str(), megabytes(render().len() as u64)),
            &Spread::of_calls(3, render),
            none,
        );
    }
}

fn line(name: &str, Spread { min, median, max }: &Spread, last: &str) {
    let line = format!(
        "{name:<46} {:>10} {:>10} {:>10} {last}",
        milliseconds(*min),
        milliseconds(*median),
        milliseconds(*max)
    );
    println!("{}", line.trim_end());
}

fn write(record: &RunRecord, path: &Path) {
    let mut file = BufWriter::new(std::fs::File::create(path).expect("a file for the record"));
    serde_json::to_writer(&mut file, record).expect("a record");
    file.flush().expect("a file that takes all");
}

/// A record as a run of such a suite leaves it: all that the runner writes down beside the samples is there too.
fn record(seed: u32) -> RunRecord {
    let plans: Vec<_> = (0..CASES)
        .map(|n| {
            let [mut plan, ..] = records::STANDARD;
            plan.n = n;
            plan
        })
        .collect();
    let mut record = records::build_sized(seed, &plans, PROCESSES, ITERATIONS);
    for (index, case) in record.cases.iter_mut().enumerate() {
        complete(case);
        let planted = seed == 2 && index % PLANTED_EVERY == 0;
        // The factor gives every sample all digits of a double, as the quotient of two clock readings has.
        let factor = if planted { 1.2 } else { 1.0 } * (1.0 + 1e-7 / 3.0);
        for metric in &mut case.metrics {
            let values = metric.processes.iter_mut().flat_map(|process| &mut process.values);
            values.for_each(|value| *value *= factor);
            let said =
                stats::summarize(metric.processes.iter().map(|process| process.values.as_slice()), &[]);
            let said = said.expect("finite samples");
            metric.summary = Some(Summary {
                samples: said.samples,
                processes: said.processes,
                mean: said.mean,
                median: said.median,
                stddev: said.stddev,
                min: said.min,
                max: said.max,
                percentiles: said.percentiles,
            });
        }
    }
    record
}

fn complete(case: &mut CaseRecord) {
    case.config = Settings::default().shown();
    for process in &mut case.processes {
        let stages = [Stage::Start, Stage::Setup, Stage::Warmup, Stage::Measure, Stage::Teardown];
        let report = |stage| StageReport {
            stage,
            status: StageStatus::Completed,
            seconds: 0.123_456_789,
            limit: 60.0,
        };
        process.stages = stages.map(report).to_vec();
    }
}
