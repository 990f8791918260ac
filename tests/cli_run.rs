//! `run` as a user calls it: real programs in a real folder, the exit code, and what the record says.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use gbench_ci::model::{Origin, Outcome, RecordState, Thermal};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::runner::assert_nothing_alive;
use crate::support::cli::{command, ended, newest, ran, runs, stdout_of};
use crate::support::wait::{wait_for, wait_until};
use crate::support::{case, folder_with};

/// One well-behaved benchmark, one that ends in a failure, one that needs more GPUs than any machine has, and one
/// that needs a program that nobody has.
const MIXED: &str = r#"
[suite]
name = "s"
[defaults]
processes = 2
timing = "protocol"
[[benchmark]]
id = "ok"
command = ["./child", "ok"]
[[benchmark]]
id = "exit3"
command = ["./child", "exit3"]
[[benchmark]]
id = "gpu"
command = ["./child", "ok"]
requires.gpus = 64
[[benchmark]]
id = "tool"
command = ["./child", "ok"]
requires.binary = ["no-such-tool"]
"#;

#[test]
fn the_exit_code_says_what_became_of_the_run() {
    let folder = folder_with(MIXED);
    let run = |line: &str| ran(folder.path(), &format!("run {line}"));
    run("--benchmark ok").exits(0).says("MEASURED: 1 case measured");
    run("--benchmark ok --benchmark tool").exits(0).says("1 of 2 cases measured: 1 skipped");
    run("").exits(4).says("stderr ends: something went wrong");
    run("--benchmark tool").exits(4).says("the program `no-such-tool` is not on PATH");
    run("--benchmark gpu").exits(5).says("run on a machine");
    run("--benchmark nobody").exits(2).says("no benchmark has this name");
    run("--processes 0").exits(2).says("--processes 0");
    run("--no-such-flag").exits(2);
    run("--export nowhere/record.json").exits(2).says("its folder is not there");
    assert_eq!(runs(folder.path()).len(), 5, "what is refused costs no run");
}

#[test]
fn a_dry_run_starts_nothing_and_says_what_would_run() {
    let folder = folder_with(MIXED);
    let dry = ran(folder.path(), "run --dry-run --processes 3").exits(0).says("4 cases in 12 processes");
    assert!(dry.out.contains("./child ok") && dry.err.is_empty(), "{}", dry.out);
    assert_eq!(dry.out.matches("limits").count(), 1, "what holds for every case is said once: {}", dry.out);
    assert!(!folder.path().join("artifacts").exists());
    ran(folder.path(), "run --dry-run --benchmark ok --processes 1").exits(0).says("1 case in 1 process;");
}

#[test]
fn the_record_can_be_exported_and_results_are_kept_from_git() {
    let folder = folder_with(MIXED);
    ran(folder.path(), "run --quiet --benchmark ok --export copy.json").exits(0);
    let copy = std::fs::read_to_string(folder.path().join("copy.json")).unwrap();
    assert_eq!(serde_json::from_str::<gbench_ci::model::RunRecord>(&copy).unwrap(), newest(folder.path()));
    assert!(folder.path().join("artifacts/.gitignore").exists());
}

/// A case that ends, one that hangs in `measure` after a sample, and one whose turn does not come.
fn hanging(mode: &str) -> tempfile::TempDir {
    folder_with(&format!(
        "[suite]\nname = 's'\n[defaults]\nprocesses = 1\ntiming = 'protocol'\n\
         [[benchmark]]\nid = 'first'\ncommand = ['./child', 'ok']\n\
         [[benchmark]]\nid = 'hangs'\ncommand = ['./child', '{mode}']\n\
         [[benchmark]]\nid = 'last'\ncommand = ['./child', 'ok']\n"
    ))
}

/// Starts `run` and comes back when its first case has ended and the second one is being measured.
fn started(folder: &std::path::Path) -> Child {
    let mut child = command(folder, "run").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.map_while(Result::ok).find(|line| line.contains("s/first: measured"));
    assert!(first.is_some(), "the first case was never measured");
    // It has sent its sample by then, which waits in the channel for the gate.
    wait_until("the second case hangs", || folder.join("hangs").exists());
    child
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
}

fn assert_cut_short(folder: &std::path::Path, cause: &str) {
    let record = newest(folder);
    assert_eq!(record.state, RecordState::Interrupted);
    assert_eq!(case(&record, "s/first").outcome, Outcome::Measured);
    for name in ["s/hangs", "s/last"] {
        let outcome = &case(&record, name).outcome;
        assert!(matches!(outcome, Outcome::NotRun { .. }), "{name}: {outcome:?}");
        assert!(outcome.cause().contains(cause), "{name}: {outcome:?}");
    }
    assert!(case(&record, "s/hangs").metrics[0].processes[0].partial, "what it had measured is kept");
    assert!(case(&record, "s/last").processes.is_empty());
    assert!(!runs(folder).pop().unwrap().join("results/journal.jsonl").exists());
    assert_nothing_alive(folder);
}

#[test]
fn an_interrupt_finishes_the_record_and_names_what_did_not_run() {
    for (signal, code, name) in [(Signal::SIGINT, 130, "SIGINT"), (Signal::SIGTERM, 143, "SIGTERM")] {
        let folder = hanging("hang-measure");
        let mut run = started(folder.path());
        send(&run, signal);
        assert_eq!(run.wait().unwrap().code(), Some(code), "{name}");
        assert_cut_short(folder.path(), name);
    }
}

#[test]
fn a_second_interrupt_does_not_wait_for_a_stubborn_child() {
    // A busy machine may be slow itself. Where the gate waited, each try would take the two seconds that SIGTERM alone is given.
    wait_for(|| {
        let folder = hanging("stubborn");
        let mut run = started(folder.path());
        let begin = Instant::now();
        send(&run, Signal::SIGINT);
        std::thread::sleep(Duration::from_millis(100));
        send(&run, Signal::SIGINT);
        assert_eq!(run.wait().unwrap().code(), Some(130));
        let taken = begin.elapsed();
        assert_cut_short(folder.path(), "SIGINT");
        if taken < Duration::from_secs(2) { Ok(()) } else { Err(taken) }
    });
}

#[test]
fn the_suites_deadline_ends_the_run_with_a_whole_record() {
    let folder = hanging("hang-measure");
    ran(folder.path(), "run --deadline 10s").exits(4).says("the run is not complete: its deadline came");
    assert_cut_short(folder.path(), "deadline");
}

#[test]
fn a_child_sees_no_secret_and_no_secret_is_kept() {
    let suite = "[suite]\nname = 's'\n[[benchmark]]\nid = 'env'\ntiming = 'protocol'\nprocesses = 1\n\
                 command = ['./child', 'environment']\n";
    let secrets =
        [("GITHUB_TOKEN", "s3cr3t-1"), ("ACTIONS_RUNTIME_TOKEN", "s3cr3t-2"), ("MY_API_KEY", "s3cr3t-3")];
    let channel = ("GITHUB_ENV", "/tmp/s3cr3t-4");
    let run = |suite: &str| {
        let folder = folder_with(suite);
        let mut command = command(folder.path(), "run --quiet");
        command.envs(secrets).envs([channel]).env("CUDA_VISIBLE_DEVICES", "0");
        crate::support::cli::ended(command).exits(0);
        folder
    };
    let folder = run(suite);
    let seen = stdout_of(folder.path(), 0, 0);
    for name in secrets.map(|(name, _)| name).into_iter().chain([channel.0]) {
        assert!(!seen.contains(&format!("{name}=")), "{name} in\n{seen}");
    }
    assert!(seen.contains("CUDA_VISIBLE_DEVICES=0\n"), "what is no secret is there");
    assert_eq!(files_with(&folder.path().join("artifacts"), "s3cr3t"), [""; 0]);

    let folder = run(&format!("{suite}keep_env = ['MY_API_KEY']\n"));
    let seen = stdout_of(folder.path(), 0, 0);
    assert!(seen.contains("MY_API_KEY=s3cr3t-3\n") && !seen.contains("GITHUB_TOKEN="), "{seen}");
    let holders = files_with(&folder.path().join("artifacts"), "s3cr3t");
    assert!(holders.iter().all(|path| path.ends_with(".stdout.log")), "only what it printed: {holders:?}");
}

/// Paths below a folder of the files that hold the text.
fn files_with(folder: &std::path::Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(text) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_cold_start_has_empty_caches_and_an_identity_of_its_own() {
    let suite = "[suite]\nname = 's'\n[[benchmark]]\nid = 'a'\nprocesses = 2\n\
                 shell = 'echo $GBENCH_WARMUP $TRITON_CACHE_DIR; test ! -d \"$TRITON_CACHE_DIR\" || \
                 ls \"$TRITON_CACHE_DIR\"; mkdir -p \"$TRITON_CACHE_DIR\"; touch \"$TRITON_CACHE_DIR/kernel\"'\n";
    let folder = folder_with(suite);
    ran(folder.path(), "run --quiet --cold-start").exits(0);
    let record = newest(folder.path());
    assert_eq!(record.cases[0].id.thermal, Thermal::Cold);
    let printed = [0, 1].map(|process| stdout_of(folder.path(), 0, process));
    assert!(printed[0].starts_with("0 /"), "no warm-up is asked for: {}", printed[0]);
    for text in &printed {
        assert_eq!(text.lines().count(), 1, "a cache that was filled before: {text}");
        let cache = text.split_whitespace().nth(1).unwrap();
        assert!(!std::path::Path::new(cache).exists(), "{cache} is left");
    }
    assert_ne!(printed[0], printed[1]);

    ran(folder.path(), "baseline save main --busy").exits(0);
    let warm = ran(folder.path(), "compare main --quiet").exits(4);
    assert!(warm.out.contains("1 missing") && warm.out.contains("1 new"), "{}", warm.out);
}

#[test]
fn a_benchmark_of_the_micro_suite_measures_for_the_time_it_is_given() {
    let folder = crate::support::tempdir().unwrap();
    let samples = |duration: &str| {
        let line = format!("run --quiet --benchmark micro/mem_latency --processes 1 --duration {duration}");
        ran(folder.path(), &line).exits(0);
        let record = newest(folder.path());
        record.cases[0].metrics[0].processes[0].values.clone()
    };
    let (few, many) = (samples("100ms"), samples("2"));
    assert!(many.len() > few.len(), "{few:?} in 0.1 s, {many:?} in 2 s");
}

#[test]
fn the_micro_suite_measures_this_machine_and_leaves_no_file() {
    let folder = crate::support::tempdir().unwrap();
    // Those of the GPU are tried in `gpu_suite`, on a stand-in.
    let host = "run --quiet --suite micro --component cpu,ram,storage,network --processes 2 --iterations 3";
    // `disk_io` measures a disk.
    let mut command = command(folder.path(), host);
    command.env("TMPDIR", std::env::temp_dir());
    ended(command).exits(0);
    let record = newest(folder.path());
    assert_eq!(record.cases.len(), 6);
    for case in &record.cases {
        assert_eq!(case.outcome, Outcome::Measured, "{}", case.id);
        assert!(case.metrics.iter().all(|metric| metric.better.is_some() && !metric.unit.is_empty()));
        assert_eq!(case.config["iterations"].origin, Origin::Cli("--iterations".into()));
    }
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["artifacts"]);
}
