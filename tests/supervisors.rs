//! One supervisor for many processes: none of them meets anything of the one before, and one that is lost is replaced.

use std::ffi::OsString;
use std::path::Path;

use gbench_ci::model::{ProcessEnd, Settings, Stage};
use gbench_ci::run::{Execution, ExecutionEnd, Executor, Launch, StagePlan, StopReason, Supervised};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::runner::assert_nothing_alive;
use crate::support::wait::{wait_for, wait_until};
use crate::support::{folder_with, gbench};

const ENDED_WELL: ExecutionEnd = ExecutionEnd::Process(ProcessEnd::Exit(0));

/// `sh -c SCRIPT`, stopped after so many seconds.
fn shell(folder: &Path, script: &str, limit: f64) -> Launch {
    let mut settings = Settings::default();
    settings.deadlines.values_mut().for_each(|seconds| seconds.value = limit);
    let path = (OsString::from("PATH"), std::env::var_os("PATH").unwrap_or_default());
    Launch {
        sandbox: None,
        container: None,
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        dir: folder.to_owned(),
        env: vec![path],
        stages: StagePlan {
            follows_events: false,
            first: Stage::Measure,
            deadlines: settings.deadlines,
            multiplier: 1.0,
        },
        memory_limit: 0,
        stdout_limit: 1 << 16,
        stderr_limit: 1 << 16,
        until: None,
    }
}

/// A limit that only a hang reaches.
const AMPLE: f64 = 300.0;

/// The words that a script prints first.
fn said(executor: &mut Supervised, folder: &Path, script: &str) -> (String, Execution) {
    let execution = executor.execute(&shell(folder, script, AMPLE));
    (String::from_utf8_lossy(&execution.stdout.bytes()).trim().to_owned(), execution)
}

/// The id of the supervisor that the next process gets.
fn supervisor(executor: &mut Supervised, folder: &Path) -> String {
    let (id, execution) = said(executor, folder, "echo $PPID");
    assert_eq!(execution.end, ENDED_WELL, "{execution:?}");
    id
}

fn is_there(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

#[test]
fn one_supervisor_serves_one_process_after_the_other_and_goes_with_its_gate() {
    let folder = folder_with("");
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    let first = supervisor(&mut executor, folder.path());
    assert!(is_there(&first), "it waits for the next one");
    // Neither a program that is missing nor one that fails is a reason to start another.
    let missing = Launch { argv: vec!["./not-there".into()], ..shell(folder.path(), "", AMPLE) };
    let end = executor.execute(&missing).end;
    assert!(matches!(end, ExecutionEnd::NotStarted { not_found: true, .. }), "{end:?}");
    assert_eq!(
        said(&mut executor, folder.path(), "exit 3").1.end,
        ExecutionEnd::Process(ProcessEnd::Exit(3))
    );
    assert_eq!(supervisor(&mut executor, folder.path()), first);
    drop(executor);
    assert!(!is_there(&first));
}

/// CPU time of all processes that a supervisor has had, rounded down to ticks, of which Linux tells programs 100 a second.
fn children_cpu_seconds(supervisor: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{supervisor}/stat")).unwrap();
    // Behind the name, which may hold anything: `cutime` and `cstime` are fields 16 and 17 of all.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = fields[13..15].iter().map(|field| field.parse::<f64>().unwrap()).sum();
    ticks / 100.0
}

#[test]
fn a_process_has_its_own_figures_and_nothing_of_the_one_before() {
    let folder = folder_with("");
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    let seen = "ls /proc/self/fd; ulimit -v; ps -o pid= --ppid $PPID | wc -l; echo ${SECRET-none}";
    let (before, first) = said(&mut executor, folder.path(), seen);

    let mut large =
        shell(folder.path(), "x=$(head -c 60000000 /dev/zero | tr '\\0' a); echo $PPID; sleep 1000 &", AMPLE);
    large.memory_limit = 1 << 30;
    large.env.push(("SECRET".into(), "of the first".into()));
    let large = executor.execute(&large);
    assert_eq!((&large.end, large.leftovers, large.survivors), (&ENDED_WELL, 1, 0));
    assert!(large.peak_rss_bytes >= Some(60_000_000), "{large:?}");
    assert!(large.cpu_seconds > Some(0.0));

    let (after, small) = said(&mut executor, folder.path(), seen);
    assert_eq!(after, before);
    assert_eq!((&small.end, small.leftovers), (&ENDED_WELL, 0));
    assert!(small.peak_rss_bytes < Some(40_000_000), "{:?}", small.peak_rss_bytes);
    let id = String::from_utf8_lossy(&large.stdout.bytes()).trim().to_owned();
    // The kernel's sum over all of them: what one were charged for another would be in it once and here twice.
    let sum: f64 = [&first, &large, &small].iter().map(|execution| execution.cpu_seconds.unwrap()).sum();
    let of_all = children_cpu_seconds(&id);
    assert!(sum <= of_all + 0.1, "{sum} of {of_all}");
    assert_eq!(supervisor(&mut executor, folder.path()), id, "it was the same supervisor");
}

#[test]
fn what_ends_right_behind_its_program_was_not_left_behind() {
    let folder = folder_with("");
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    // On a busy machine one may end later than the supervisor waits. Without that wait no try would do.
    wait_for(|| {
        let soon = executor.execute(&shell(folder.path(), "sleep 0.05 & exit 0", AMPLE));
        assert_eq!(soon.end, ENDED_WELL);
        if soon.leftovers == 0 { Ok(()) } else { Err(soon.leftovers) }
    });
    // It was ended: had the supervisor waited for its end, nothing would be left.
    let late = executor.execute(&shell(folder.path(), "sleep 1000 & exit 0", AMPLE));
    assert_eq!((&late.end, late.leftovers), (&ENDED_WELL, 1));
}

#[test]
fn a_supervisor_that_is_ended_between_two_processes_is_replaced() {
    let folder = folder_with("");
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let lost = supervisor(&mut executor, folder.path());
        kill(Pid::from_raw(lost.parse().unwrap()), signal).unwrap();
        // A zombie until the gate looks after it.
        let state = || std::fs::read_to_string(format!("/proc/{lost}/stat")).unwrap_or_default();
        wait_until(&format!("{signal} ends it"), || state().contains(") Z "));
        assert_ne!(supervisor(&mut executor, folder.path()), lost);
        assert!(!is_there(&lost));
    }
}

#[test]
fn a_supervisor_that_was_told_to_stop_serves_no_other_process() {
    let folder = folder_with("");
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    let first = supervisor(&mut executor, folder.path());
    let execution = executor.execute(&shell(folder.path(), "sleep 1000", 0.1));
    assert!(matches!(execution.stopped, Some(StopReason::Stage { .. })), "{execution:?}");
    assert!(!is_there(&first));
    assert_ne!(supervisor(&mut executor, folder.path()), first);
    assert_nothing_alive(folder.path());
}

#[test]
fn a_process_that_kills_its_supervisor_takes_the_next_one_nothing() {
    let folder = folder_with("");
    let mut executor = Supervised::new(gbench(), None, false).unwrap();
    let (_, lost) = said(&mut executor, folder.path(), "kill -9 $PPID; exec sleep 1000");
    assert_eq!(lost.end, ExecutionEnd::SupervisorDied);
    supervisor(&mut executor, folder.path());
}
