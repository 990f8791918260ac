//! Reading what harnesses write: a million samples each of NVBench (`--jsonbin`), Google Benchmark (JSON, pretty-printed) and
//! `go test -bench`, in processes of their own, from a file as the gate reads it.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use gbench_ci::adapters::{Harness, HarnessOutput, OutputFiles, read};
use support::{Goals, megabytes, milliseconds, run, this_bench};

const SAMPLES: usize = 1_000_000;
const CASES: usize = 1_000;
const GOAL: Duration = Duration::from_secs(1);
const GOAL_BYTES: u64 = 500_000_000;

/// Name of the adapter, and the file of its out folder; none: standard output.
const FORMATS: [(&str, Option<&str>); 3] = [
    ("nvbench", Some("nvbench.json")),
    ("google-benchmark", Some("google-benchmark.json")),
    ("go-test", None),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().position(|word| word == "--read") {
        Some(at) => child(&words[at + 1], Path::new(&words[at + 2])),
        None => compare(),
    }
}

fn compare() -> ExitCode {
    let mut goals = Goals::default();
    for (name, _) in FORMATS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write(name, folder.path());
        let ended = run(Command::new(this_bench()).arg("--read").arg(name).arg(folder.path()));
        assert!(ended.status.success(), "{name} is not read");
        let seconds: f64 = std::fs::read_to_string(folder.path().join("seconds"))
            .expect("a time")
            .parse()
            .expect("a number");
        let read = Duration::from_secs_f64(seconds);
        goals.check(&format!("{name}: {SAMPLES} samples"), milliseconds(read), "below 1 s", read < GOAL);
        let peak = ended.peak_bytes;
        goals.check(&format!("{name}: memory"), megabytes(peak), "below 500 MB", peak < GOAL_BYTES);
    }
    goals.conclude()
}

/// Reads what lies in the folder, and says how long that took, opening the files included.
fn child(name: &str, folder: &Path) -> ExitCode {
    let Some(Harness(adapter)) = Harness::named(name) else { return ExitCode::FAILURE };
    let begin = Instant::now();
    let (mut files, mut stdout) = (BTreeMap::new(), Vec::new());
    for path in ["stdout", "nvbench.json", "nvbench.json-bin/0.bin", "google-benchmark.json"] {
        let Ok(bytes) = std::fs::read(folder.join(path)) else { continue };
        if path == "stdout" { stdout = bytes } else { _ = files.insert(path.to_owned(), bytes) }
    }
    let files = OutputFiles(files);
    let readings = match read(adapter, &HarnessOutput { stdout: &stdout, files: &files }) {
        Ok(readings) => readings,
        Err(error) => panic!("{name}: {error}"),
    };
    let seconds = begin.elapsed().as_secs_f64();
    let samples: usize = readings.iter().map(|reading| reading.metrics[0].values.len()).sum();
    assert_eq!(samples, SAMPLES, "{name}");
    std::fs::write(folder.join("seconds"), seconds.to_string()).expect("the folder is ours");
    ExitCode::SUCCESS
}

fn write(name: &str, folder: &Path) {
    let time = |sample: usize| 100.0 + (sample % 977) as f64 / 1000.0;
    let mut text = String::new();
    match name {
        "nvbench" => {
            std::fs::create_dir(folder.join("nvbench.json-bin")).expect("the folder is ours");
            let bytes: Vec<u8> = (0..SAMPLES).flat_map(|it| (time(it) as f32 * 1e-6).to_le_bytes()).collect();
            std::fs::write(folder.join("nvbench.json-bin/0.bin"), bytes).expect("the folder is ours");
            text = include_str!("support/nvbench.json").replace("SAMPLES", &SAMPLES.to_string());
        }
        "google-benchmark" => {
            text +=
                "{\n  \"context\": {\n    \"library_build_type\": \"release\"\n  },\n  \"benchmarks\": [\n";
            for sample in 0..SAMPLES {
                let (case, repetition) = (sample / (SAMPLES / CASES), sample % (SAMPLES / CASES));
                let comma = if sample + 1 < SAMPLES { "," } else { "" };
                writeln!(
                    text,
                    "    {{\n      \"name\": \"BM_case/{case}\",\n      \"family_index\": 0,\n      \"per_family_instance_index\": {case},\n      \
                     \"run_name\": \"BM_case/{case}\",\n      \"run_type\": \"iteration\",\n      \"repetitions\": {},\n      \
                     \"repetition_index\": {repetition},\n      \"threads\": 1,\n      \"iterations\": 34356574,\n      \
                     \"real_time\": {:.16e},\n      \"cpu_time\": {:.16e},\n      \"time_unit\": \"ns\"\n    }}{comma}",
                    SAMPLES / CASES,
                    time(sample),
                    time(sample)
                )
                .expect("text takes all");
            }
            text += "  ]\n}\n";
        }
        _ => {
            text += "goos: linux\ngoarch: amd64\npkg: example.com/sample\n";
            for case in 0..CASES {
                writeln!(text, "BenchmarkCase{case}").expect("text takes all");
                for sample in 0..SAMPLES / CASES {
                    writeln!(text, "BenchmarkCase{case}-2\t  267825\t         {} ns/op", time(sample))
                        .expect("text takes all");
                }
            }
            text += "PASS\nok  \texample.com/sample\t1.0s\n";
        }
    }
    let file = FORMATS.into_iter().find(|(format, _)| *format == name).and_then(|(_, file)| file);
    std::fs::write(folder.join(file.unwrap_or("stdout")), text).expect("the folder is ours");
}
