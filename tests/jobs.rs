//! `run --jobs`: cases on several GPUs at once, through the binary, with stand-in cards.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use gbench_ci::model::{GpuPlace, RunRecord};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::fake_nvml;
use crate::support::cli::{command, ended, newest};
use crate::support::wait::wait_until;

/// A folder with a suite.
struct Folder(TempDir);

impl Folder {
    fn new(benchmarks: &str) -> Self {
        let folder = Self(crate::support::tempdir().unwrap());
        let suite = format!("[suite]\nname = 's'\n[run]\ncalm_wait = '0s'\n{benchmarks}");
        std::fs::write(folder.at("gbench.toml"), suite).unwrap();
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn gate(&self, line: &str) -> Command {
        let mut gate = command(self.0.path(), line);
        gate.env("GBENCH_NVML_LIBRARY", fake_nvml::library("")).env("FAKE_NVML", "count=2 utilization=50");
        gate.env_remove("CUDA_VISIBLE_DEVICES");
        gate
    }

    fn record(&self) -> RunRecord {
        newest(self.0.path())
    }
}

/// A benchmark that runs a shell's line.
fn benchmark(id: &str, more: &str, line: &str) -> String {
    format!("[[benchmark]]\nid = '{id}'\n{more}\nshell = '''{line}'''\n")
}

/// When each process of a case began and ended.
fn spans(record: &RunRecord, case: &str) -> Vec<(SystemTime, SystemTime)> {
    let case = record.cases.iter().find(|it| it.id.to_string() == case).unwrap();
    let span = |started: &str, seconds: f64| {
        let began = humantime::parse_rfc3339(started).unwrap();
        (began, began + Duration::from_secs_f64(seconds))
    };
    case.processes.iter().map(|process| span(&process.started, process.seconds)).collect()
}

/// The number of the process, for a shell.
const NUMBER: &str = r#"n=$(printf %s "$GBENCH_REQUEST" | sed 's/.*"process":\([0-9]*\).*/\1/');"#;

/// Waits for the process of the other GPU, and so ends only where both run at once; and then until the machine was sampled a few times.
const MEETS: &str = "touch on.$CUDA_VISIBLE_DEVICES.$n; \
     until [ -e on.0.$n ] && [ -e on.1.$n ]; do sleep 0.02; done; \
     samples() { wc -l < timeline.json; }; \
     seen=$(samples); until [ $(samples) -ge $((seen + 10)) ]; do sleep 0.02; done; echo sees $CUDA_VISIBLE_DEVICES";

#[test]
fn two_gpus_are_measured_on_at_once_each_process_with_its_own() {
    let folder = Folder::new(&benchmark("a", "device = 'each'\nprocesses = 3", &format!("{NUMBER} {MEETS}")));
    ended(folder.gate("run --jobs 2 --monitor-interval 20ms --monitor-output timeline.json"))
        .exits(0)
        .says("up to 2 processes at once: 1 case on GPU 0; 1 case on GPU 1");
    let record = folder.record();
    assert_eq!(record.config["run.jobs"].value, 2);
    assert!(record.warnings.iter().any(|it| it.contains("up to 2 processes ran at once")), "{record:?}");
    for (index, case) in (0..).zip(&record.cases) {
        assert!(case.outcome.is_measured(), "{:?}", case.outcome);
        let uuid = format!("GPU-0000-{}", index + 1);
        let mut seen = BTreeSet::new();
        for (process, at) in case.processes.iter().zip(0..) {
            assert_eq!(process.gpus, [GpuPlace { index, uuid: uuid.clone() }]);
            let said = crate::support::cli::stdout_of(folder.0.path(), index as usize, at);
            assert_eq!(said, format!("sees {index}\n"));
            let telemetry = process.conditions.as_ref().unwrap().telemetry.as_ref().unwrap();
            assert_eq!(telemetry.source.as_deref(), Some("NVML"));
            seen.extend(telemetry.gpus.iter().map(|gpu| gpu.index));
        }
        assert_eq!(seen, BTreeSet::from([index]), "a neighbour's GPU is none of this case");
    }
}

/// Fails where another process has the same GPU.
const TAKES: &str = "mkdir gpu.$CUDA_VISIBLE_DEVICES && sleep 0.05 && rmdir gpu.$CUDA_VISIBLE_DEVICES";

#[test]
fn one_gpu_never_has_two_and_what_is_bound_to_none_runs_alone() {
    let bound: String = ["0", "1", "1", "0"]
        .iter()
        .enumerate()
        .map(|(at, gpu)| benchmark(&format!("b{at}"), &format!("device = '{gpu}'\nprocesses = 3"), TAKES))
        .collect();
    let alone = benchmark("cpu", "processes = 2", "! ls -d gpu.*");
    // The first of the file: it runs behind those that run at once all the same.
    let folder = Folder::new(&(alone + &bound));
    ended(folder.gate("run --jobs 8")).exits(0).says("2 cases on GPU 1; then 1 case alone");
    let record = folder.record();
    let names: Vec<String> = record.cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(names, ["s/cpu", "s/b0", "s/b1", "s/b2", "s/b3"], "the record has the suite's order");
    assert!(record.cases.iter().all(|case| case.outcome.is_measured()));
    let last = names[1..].iter().flat_map(|case| spans(&record, case)).map(|span| span.1).max().unwrap();
    assert!(spans(&record, "s/cpu").iter().all(|span| span.0 >= last));
}

#[test]
fn where_nothing_can_be_measured_at_once_it_is_said_and_measured_all_the_same() {
    let folder = Folder::new(&benchmark("a", "device = '0'\nprocesses = 1", "true"));
    ended(folder.gate("run --jobs 2")).exits(0).says("nothing is measured at once");
    assert!(folder.record().warnings.iter().any(|it| it.contains("no two cases")));
    ended(folder.gate("run --jobs 0")).exits(2).says("--jobs");
}

#[test]
fn a_command_after_a_timeout_does_not_run_beside_what_is_measured() {
    let folder = Folder::new(&benchmark("a", "device = 'each'", "true"));
    let suite = std::fs::read_to_string(folder.at("gbench.toml")).unwrap();
    let suite = suite.replace("[run]", "[run]\nafter_timeout = ['true']");
    std::fs::write(folder.at("gbench.toml"), suite).unwrap();
    ended(folder.gate("run --jobs 2")).exits(2).says("`after_timeout`");
    assert!(!folder.at("artifacts").exists());
}

#[test]
fn a_case_that_fails_on_one_gpu_leaves_the_others_alone() {
    let line = "test $CUDA_VISIBLE_DEVICES = 1";
    let folder = Folder::new(&benchmark("a", "device = 'each'\nprocesses = 4", line));
    ended(folder.gate("run --jobs 2")).exits(4);
    let record = folder.record();
    let measured: Vec<bool> = record.cases.iter().map(|case| case.outcome.is_measured()).collect();
    assert_eq!(measured, [false, true]);
    assert_eq!(record.cases[1].processes.len(), 4);
}

/// The process of GPU 0 leaves a child and kills its own supervisor; that of GPU 1 goes on.
#[test]
fn what_a_killed_supervisor_leaves_is_ended_and_the_rest_is_measured_one_by_one() {
    let dies = "if [ $CUDA_VISIBLE_DEVICES = 0 ]; then sleep 1000 & echo $! > left; kill -9 $PPID; sleep 1000; else until [ -e left ]; do sleep 0.02; done; sleep 0.3; fi";
    let folder = Folder::new(
        &(benchmark("a", "device = 'each'\nprocesses = 3", dies) + &benchmark("b", "device = '0'", "true")),
    );
    ended(folder.gate("run --jobs 2")).exits(4);
    let left: i32 = std::fs::read_to_string(folder.at("left")).unwrap().trim().parse().unwrap();
    assert!(kill(Pid::from_raw(left), None).is_err(), "it lives on");
    let record = folder.record();
    let measured: Vec<bool> = record.cases.iter().map(|case| case.outcome.is_measured()).collect();
    assert_eq!(measured, [false, true, true]);
    assert_eq!(record.cases[1].processes.len(), 3, "each process is measured once");
    let mut all: Vec<_> = ["s/a[gpu=1]", "s/b"].iter().flat_map(|case| spans(&record, case)).collect();
    all.sort();
    assert!(all.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{all:?}");
}

#[test]
fn an_error_of_one_queue_ends_the_others() {
    // A folder that a run cannot write into any more: its logs are gone.
    let line = "rm -rf artifacts/*/logs; touch artifacts/*/logs; echo one >> started; sleep 0.05";
    let folder = Folder::new(&benchmark("a", "device = 'each'\nprocesses = 40", line));
    ended(folder.gate("run --jobs 2")).exits(2).says("cannot be written");
    let started = std::fs::read_to_string(folder.at("started")).unwrap().lines().count();
    assert!((1..20).contains(&started), "the other GPU was measured on and on: {started} of 80");
}

#[test]
fn records_with_other_jobs_are_not_compared() {
    let folder = Folder::new(&benchmark("a", "device = 'each'\nprocesses = 5", "sleep 0.02"));
    for (jobs, name) in [("1", "one.json"), ("2", "two.json")] {
        ended(folder.gate(&format!("run --jobs {jobs} --quiet --export {name}"))).exits(0);
    }
    ended(folder.gate("compare one.json two.json")).exits(4).says("`jobs` is 1 on base and 2 on head");
}

#[test]
fn an_interrupt_ends_all_that_run_at_once_and_keeps_what_was_measured() {
    let line = format!("{NUMBER} test $n = 0 || {{ touch on.$CUDA_VISIBLE_DEVICES; sleep 1000; }}");
    let folder = Folder::new(&benchmark("a", "device = 'each'\nprocesses = 3", &line));
    let mut gate = folder.gate("run --jobs 2 --quiet");
    let mut gate = gate.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("both GPUs are measured on", || ["on.0", "on.1"].iter().all(|name| folder.at(name).exists()));
    kill(Pid::from_raw(gate.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(gate.wait().unwrap().code(), Some(130));
    let record = folder.record();
    assert!(record.warnings.iter().any(|it| it.contains("not complete")), "{:?}", record.warnings);
    for case in &record.cases {
        assert!(!case.processes.is_empty() && !case.outcome.is_measured(), "{case:?}");
    }
}
