//! The runner against programs that misbehave in every way it knows: each has its own outcome, and nothing of any
//! of them is left.

use std::path::Path;
use std::sync::OnceLock;

use gbench_ci::model::{FailureKind, Outcome, ProcessEnd, Stage};
use gbench_ci::run::Finished;

use crate::support::wait::wait_for;
use crate::support::{case, fixture, folder_with, run_suite};

fn kind(outcome: &Outcome) -> Option<FailureKind> {
    match outcome {
        Outcome::Failed { kind, .. } => Some(*kind),
        _ => None,
    }
}

/// Command lines of living processes that run something from `folder`.
pub fn alive_in(folder: &Path) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let running = processes.filter(|entry| {
        std::fs::read_link(entry.path().join("exe")).is_ok_and(|program| program.starts_with(folder))
    });
    let line = |entry: std::fs::DirEntry| {
        let bytes = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    running.map(line).collect()
}

/// Waits until nothing from `folder` runs any more.
#[track_caller]
pub fn assert_nothing_alive(folder: &Path) {
    wait_for(|| {
        let alive = alive_in(folder);
        if alive.is_empty() { Ok(()) } else { Err(alive) }
    });
}

/// The misbehaving suite, run once for all tests that look at what came of it.
fn misbehaving() -> &'static (tempfile::TempDir, Finished) {
    static RUN: OnceLock<(tempfile::TempDir, Finished)> = OnceLock::new();
    RUN.get_or_init(|| {
        let suite = std::fs::read_to_string(fixture("suites/misbehaving/gbench.toml")).unwrap();
        let folder = folder_with(&suite);
        let finished = run_suite(folder.path());
        (folder, finished)
    })
}

#[test]
fn every_way_to_misbehave_has_its_own_outcome_and_leaves_nothing_behind() {
    let (folder, finished) = misbehaving();
    let record = &finished.record;
    let outcome = |name: &str| case(record, &format!("bad/{name}")).outcome.clone();

    let stages =
        [Stage::Setup, Stage::Warmup, Stage::Measure, Stage::Verify, Stage::Profile, Stage::Teardown];
    for stage in stages {
        match outcome(&format!("hang[stage={stage}]")) {
            Outcome::TimedOut { stage: at, limit, spent, .. } => {
                assert_eq!((at, limit), (stage, 1.0));
                assert!(spent >= limit, "{stage}: {spent}");
            }
            other => panic!("hang in {stage}: {other:?}"),
        }
    }
    assert!(matches!(outcome("hang-start"), Outcome::TimedOut { stage: Stage::Start, .. }));
    assert!(matches!(outcome("stubborn"), Outcome::TimedOut { stage: Stage::Measure, .. }));
    assert!(matches!(outcome("leaves-group"), Outcome::TimedOut { stage: Stage::Measure, .. }));
    assert!(matches!(outcome("prints-forever"), Outcome::TimedOut { stage: Stage::Measure, .. }));
    let end = |name: &str| case(record, &format!("bad/{name}")).processes[0].end;
    assert_eq!(end("hang-start"), Some(ProcessEnd::Signal(15)), "a willing child goes at SIGTERM");
    assert_eq!(end("stubborn"), Some(ProcessEnd::Signal(9)), "an unwilling one at SIGKILL");

    let failures = [
        ("segv", FailureKind::Signal, "SIGSEGV"),
        ("exit139", FailureKind::ExitCode, "exit code 139"),
        ("half-line", FailureKind::Protocol, "line 3"),
        ("oom", FailureKind::OutOfMemory, "memory allocation"),
        ("flood", FailureKind::Protocol, "64 MiB"),
        ("silent", FailureKind::NoSamples, "no sample"),
        ("import-error", FailureKind::Error, "torch"),
        ("exit3", FailureKind::ExitCode, "something went wrong"),
        ("not-there", FailureKind::Spawn, "No such file"),
        ("build-fails", FailureKind::Build, "something went wrong"),
    ];
    for (name, expected, words) in failures {
        let outcome = outcome(name);
        assert_eq!(kind(&outcome), Some(expected), "{name}: {outcome:?}");
        assert!(outcome.cause().contains(words), "{name}: {}", outcome.cause());
        assert!(!outcome.advice().is_empty(), "{name}");
    }
    assert!(matches!(outcome("nan"), Outcome::Invalid { .. }));
    assert!(matches!(outcome("wrong"), Outcome::Invalid { .. }));
    assert!(matches!(outcome("skip"), Outcome::Skipped { .. }));
    assert!(matches!(outcome("needs-tool"), Outcome::Skipped { .. }));
    for name in ["noisy", "leaves-grandchild", "infinite-rate", "ok"] {
        assert_eq!(outcome(name), Outcome::Measured, "{name}");
    }

    assert_nothing_alive(folder.path());
    let leftovers = case(record, "bad/leaves-grandchild").processes[0].leftovers;
    assert_eq!(leftovers, 1);
}

#[test]
fn samples_measured_before_a_failure_are_kept_and_marked_partial() {
    let (_folder, finished) = misbehaving();
    for name in ["segv", "exit139", "half-line", "nan", "oom", "wrong", "stubborn", "hang[stage=verify]"] {
        let case = case(&finished.record, &format!("bad/{name}"));
        let samples = &case.metrics[0].processes[0];
        assert_eq!(samples.values, [0.001], "{name}");
        assert!(samples.partial, "{name}");
        assert_eq!(case.metrics[0].summary, None, "{name}: what is partial is no result");
    }
    let good = &case(&finished.record, "bad/ok").metrics[0];
    assert_eq!(good.summary.as_ref().map(|summary| (summary.samples, summary.processes)), Some((10, 2)));
    assert!(good.processes.iter().all(|samples| !samples.partial && samples.values.len() == 5));
}

#[test]
fn output_goes_to_capped_logs() {
    let suite = "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"noisy\"\ncommand = [\"./child\", \"noisy\"]\n\
                 timing = \"protocol\"\nprocesses = 1\nlog_limit = \"10 KiB\"\n";
    let folder = folder_with(suite);
    let finished = run_suite(folder.path());
    let process = &finished.record.cases[0].processes[0];
    assert!(process.output_bytes >= 10_000_000, "{}", process.output_bytes);
    let logs: Vec<_> = std::fs::read_dir(finished.folder.root().join("logs")).unwrap().flatten().collect();
    assert_eq!(logs.len(), 2, "{logs:?}");
    for log in logs {
        let length = log.metadata().unwrap().len();
        assert!((10 << 10..11 << 10).contains(&length), "{length}");
    }
}

#[test]
fn after_a_timeout_the_users_command_is_called_and_its_end_recorded() {
    let suite = "[suite]\nname = \"s\"\n[run]\nafter_timeout = [\"sh\", \"-c\", \"echo reset >>calls; exit 3\"]\n\
                 [defaults]\ntiming = \"protocol\"\nprocesses = 1\ndevice = \"1\"\n\
                 [[benchmark]]\nid = \"hang\"\ncommand = [\"./child\", \"hang-setup\"]\ndeadlines.setup = 0.2\n\
                 [[benchmark]]\nid = \"ok\"\ngroup = \"g\"\ncommand = [\"./child\", \"environment\"]\n\
                 env = { API_TOKEN = \"abc\", A = \"b\" }\n";
    let folder = folder_with(suite);
    let finished = run_suite(folder.path());
    let [hang, ok] = finished.record.cases.as_slice() else { panic!("two cases") };
    assert_eq!(hang.processes[0].after_timeout, Some(ProcessEnd::Exit(3)));
    assert_eq!(ok.processes[0].after_timeout, None);
    assert_eq!(std::fs::read_to_string(folder.path().join("calls")).unwrap(), "reset\n");

    assert_eq!(ok.command, ["./child", "environment"]);
    assert_eq!(ok.group.as_deref(), Some("g"));
    assert_eq!((ok.env["A"].as_str(), ok.env["API_TOKEN"].as_str()), ("b", "***"));
    let logs = std::fs::read_dir(finished.folder.root().join("logs")).unwrap().flatten();
    let texts: Vec<_> = logs.map(|log| std::fs::read_to_string(log.path()).unwrap()).collect();
    assert!(
        texts.iter().any(|text| text.contains("CUDA_VISIBLE_DEVICES=1\n") && text.contains("API_TOKEN=abc"))
    );
}

#[test]
fn a_record_can_be_read_back_whatever_the_programs_sent() {
    let (_folder, finished) = misbehaving();
    let record = gbench_ci::store::read_record(finished.folder.root()).unwrap();
    assert_eq!(record, finished.record);
}
