//! Cases of Python that share a process: what a run says of them is said of each, and blames none for another.

use std::path::Path;

use gbench_ci::model::{CaseRecord, Outcome};

use crate::support::cli::{newest, ran, runs};
use crate::support::wait::wait_for;

/// A suite of one module with three cases, `n` = 1, 2 and 3.
fn suite(folder: &Path, processes: u32, module: &str) {
    let text = format!(
        "[suite]\nname = \"s\"\n[gate]\nwatch = false\n[[benchmark]]\nid = \"fn\"\nprocesses = {processes}\niterations = 3\n\
         warmup = 1\nmatrix = {{ n = [1, 2, 3] }}\n[benchmark.python]\nfile = \"work.py\"\nfunction = \"work\"\n"
    );
    std::fs::write(folder.join("gbench.toml"), text).unwrap();
    std::fs::write(folder.join("work.py"), module).unwrap();
}

/// Ends the gate by SIGINT while the third process runs.
const INTERRUPTS: &str = r#"
import os, pathlib, signal, time
starts = pathlib.Path(__file__).with_name("starts")
started = int(starts.read_text()) + 1 if starts.exists() else 1
starts.write_text(str(started))
if started == 3:
    supervisor = os.getppid()
    stat = pathlib.Path(f"/proc/{supervisor}/stat").read_text()
    os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGINT)
    time.sleep(1000)

def work(n):
    return sum(range(n * 100))
"#;

#[test]
fn a_case_that_an_interrupt_cuts_off_says_how_many_of_its_processes_it_had() {
    let folder = crate::support::tempdir().unwrap();
    suite(folder.path(), 5, INTERRUPTS);
    ran(folder.path(), "run").exits(130).says("SIGINT came after 2 of 5 processes");
    let record = newest(folder.path());
    assert_eq!(record.cases.len(), 3);
    // The first case is the one that the third process had come to.
    let ends = [(3, "SIGINT came while it ran"), (2, "SIGINT came after 2 of 5 processes")];
    for (case, (processes, cause)) in record.cases.iter().zip([ends[0], ends[1], ends[1]]) {
        assert_eq!(case.processes.len(), processes);
        assert!(matches!(case.outcome, Outcome::NotRun { .. }), "{:?}", case.outcome);
        assert_eq!(case.outcome.cause(), cause);
    }
    // One that comes in the last process ends no differently.
    let folder = crate::support::tempdir().unwrap();
    suite(folder.path(), 3, INTERRUPTS);
    ran(folder.path(), "run").exits(130).says("SIGINT came after 2 of 3 processes");
}

/// Ends the gate by SIGINT in the third call of the third case, and then waits for its own end. Its calls are long enough for
/// each to be a sample.
const INTERRUPTS_LATER: &str = r#"
import os, pathlib, signal, time
calls = []

def work(n):
    calls.append(n)
    time.sleep(0.005)
    if calls.count(3) == 3:
        stat = pathlib.Path(f"/proc/{os.getppid()}/stat").read_text()
        os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGINT)
        while True:
            signal.pause()
    return sum(range(n * 100))
"#;

#[test]
fn b20_a_run_that_is_stopped_keeps_what_a_shared_process_has_measured() {
    for processes in [1, 2] {
        let folder = crate::support::tempdir().unwrap();
        suite(folder.path(), processes, INTERRUPTS_LATER);
        let words = if processes == 1 { "2 of 3 cases measured" } else { "2 of them in part" };
        ran(folder.path(), "run --warmup 0")
            .exits(130)
            .says(&format!("running s/fn (3 cases): process 1/{processes}"))
            .says(words)
            .says("SIGINT came while it ran");
        let cases = newest(folder.path()).cases;
        for case in &cases[..2] {
            assert_eq!(case.outcome.is_measured(), processes == 1, "{:?}", case.outcome);
            assert!(case.processes[0].outcome.is_measured());
            assert_eq!(case.metrics[0].processes.len(), 1);
            assert!(!case.metrics[0].processes[0].partial);
        }
        // B24: samples that were taken before it stood still have been sent.
        let partial = &cases[2].metrics[0].processes[0];
        assert!(partial.partial && partial.values.len() == 2, "{partial:?}");
    }
}

/// Leaves a process behind in the second case, of those that one process measures.
const LEAVES: &str = r#"
import subprocess
left = []

def work(n):
    if n == 2 and not left:
        left.append(subprocess.Popen(["sleep", "1000"]))
    return sum(range(n * 100))
"#;

#[test]
fn cases_that_share_a_process_are_not_each_blamed_for_what_it_leaves() {
    let folder = crate::support::tempdir().unwrap();
    suite(folder.path(), 2, LEAVES);
    ran(folder.path(), "run")
        .exits(0)
        .says("1 group of cases shares a process that leaves processes behind, which the gate had to end: one of")
        .says("(2 after 2 runs)");
    let record = newest(folder.path());
    let warnings: Vec<&String> = record.cases.iter().flat_map(|case| &case.warnings).collect();
    assert!(!warnings.is_empty());
    for warning in warnings {
        assert!(
            warning.contains("left 1 running, which were ended; 3 cases share it, and one of them"),
            "{warning}"
        );
    }
}

/// Each case sets a trace function, which nothing can put back behind it.
const TRACES: &str = r#"
import sys

def work(n):
    sys.settrace(lambda *_: None)
    return sum(range(n * 100))
"#;

#[test]
fn b23_cases_that_cannot_share_a_process_say_why_and_their_time_and_number_are_true() {
    let folder = crate::support::tempdir().unwrap();
    suite(folder.path(), 2, TRACES);
    ran(folder.path(), "run")
        .exits(0)
        .says("measuring 3 cases in at least 2 processes")
        .says("the cases behind it get another process, about 3 instead of 1")
        .says("2 cases cannot share a process with the cases behind them, because of what is left in the process")
        .says("(a trace function (sys.settrace))")
        .says("6 processes in");
    let log = |name: &str| runs(folder.path()).pop().unwrap().join("logs").join(name).exists();
    assert!(log("000-s-fn.1.again-2.request.json") && !log("000-s-fn.1.again-3.request.json"));
}

/// Each case adds a name to a module of Python's, which the others must not see.
const POISONS: &str = r#"
import random

def work(n):
    assert getattr(random, "POISON", n) == n
    random.POISON = n
    return sum(range(n * 100))
"#;

#[test]
fn b25_what_a_case_adds_to_a_module_of_pythons_does_not_reach_the_next_one() {
    let folder = crate::support::tempdir().unwrap();
    suite(folder.path(), 1, POISONS);
    ran(folder.path(), "run").exits(0).says("1 process in");
    let record = newest(folder.path());
    assert_eq!(record.cases[0].metadata["put_back"], serde_json::json!(["random.POISON"]));
}

/// A pool that is closed and joined; the tracker of its resources ends a little later than the interpreter.
const POOL: &str = r#"
import multiprocessing

def work(n):
    if n == 2:
        pool = multiprocessing.get_context("spawn").Pool(2)
        pool.close()
        pool.join()
    return sum(range(n * 100))
"#;

#[test]
fn a_pool_that_was_joined_leaves_nothing_behind() {
    let folder = crate::support::tempdir().unwrap();
    suite(folder.path(), 2, POOL);
    // On a busy machine the tracker may end later than the supervisor waits. Without that wait no run would do.
    wait_for(|| {
        ran(folder.path(), "run --iterations 1 --warmup 0").exits(0);
        let cases = newest(folder.path()).cases;
        let is_clean = |case: &CaseRecord| {
            case.warnings.is_empty() && case.processes.iter().all(|process| process.leftovers == 0)
        };
        if cases.iter().all(is_clean) { Ok(()) } else { Err(cases) }
    });
}

const STARTS: &str = r#"
import pathlib
starts = pathlib.Path(__file__).with_name("starts")
starts.write_text("")

def work(n):
    return sum(range(n * 100))
"#;

#[test]
fn processes_that_cases_share_are_counted_once_before_they_start_too() {
    let folder = crate::support::tempdir().unwrap();
    suite(folder.path(), 2, STARTS);
    ran(folder.path(), "run --dry-run").exits(0).says("3 cases in at least 2 processes;");
    ran(folder.path(), "run")
        .exits(0)
        .says("measuring 3 cases in at least 2 processes")
        .says("2 processes in");
    // Without anything shared the number is known.
    let text = std::fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    let apart = text.replace("processes = 2", "processes = 2\nisolation = \"process\"");
    std::fs::write(folder.path().join("gbench.toml"), apart).unwrap();
    ran(folder.path(), "run --dry-run").exits(0).says("3 cases in 6 processes;");
}

#[test]
fn what_a_sweep_asks_for_in_vain_is_said_before_anything_is_measured() {
    let folder = crate::support::tempdir().unwrap();
    suite(folder.path(), 2, STARTS);
    for (flags, words) in [
        ("--by nope", "no case has the parameter `nope`"),
        ("--group-by m --by n", "no case has the parameter `m`"),
        ("--by n --where n=7", "`n` is never `7` here"),
    ] {
        ran(folder.path(), &format!("run {flags}")).exits(2).says(words);
        assert!(!folder.path().join("starts").exists(), "{flags}");
    }
    // Which device it will be is not known before.
    ran(folder.path(), "run --quiet --by n --where device=cuda")
        .exits(2)
        .says("`device` is never `cuda` here");
    assert!(folder.path().join("starts").exists());
    ran(folder.path(), "run --quiet --by n,device --where n=2").exits(0).says("by n, device");
}
