//! A gate that is killed: its record is readable at every moment, and its children do not outlive it.

use std::io::{BufRead, BufReader, IoSlice, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use gbench_ci::model::{Outcome, RecordState};
use gbench_ci::store::{latest_run, read_record};
use gbench_ci::supervise::{ARGUMENT, Assignment};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use crate::runner::{alive_in, assert_nothing_alive};
use crate::support::wait::{wait_for, wait_until};
use crate::support::{folder_with, gate};

/// Eight cases of two processes, 20 ms each: about half a second in all. And one that ends once there is a file `go`.
const SUITE: &str = "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"ok\"\ncommand = [\"./child\", \"ok\", \"4\"]\n\
                     timing = \"protocol\"\nprocesses = 2\nmatrix.n = [1, 2, 3, 4, 5, 6, 7, 8]\n\
                     [[benchmark]]\nid = \"waits\"\ntiming = \"protocol\"\nprocesses = 2\n\
                     shell = \"until [ -e go ]; do sleep 0.01; done; exec ./child ok\"\n";

/// Starts a run and kills it with SIGKILL after `delay`. Returns the cases that it had reported as measured.
fn run_and_kill(folder: &Path, delay: Duration) -> Vec<String> {
    let mut gate =
        gate().arg("run").current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(gate.stderr.take().unwrap());
    // The plan's line: from here on the run has begun, whatever the machine is busy with.
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("measuring 9 cases"), "{line}");
    std::thread::sleep(delay);
    gate.kill().unwrap();
    gate.wait().unwrap();
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    let measured = said.lines().filter(|line| line.ends_with(": measured"));
    measured
        .filter_map(|line| Some(line.split(' ').find(|word| word.starts_with("s/ok["))?.to_owned()))
        .collect()
}

#[test]
fn a_run_killed_at_any_moment_leaves_a_readable_record_of_every_case_that_had_finished() {
    let folder = folder_with(SUITE);
    let mut cut_short = 0;
    for round in 0..20u64 {
        // Spread over the run without a pattern that could hit the same step every time.
        let delay = Duration::from_micros(round * 37_003 % 600_000);
        // Every other run cannot come to its end, however late the kill is.
        let go = folder.path().join("go");
        if round % 2 == 0 {
            std::fs::write(&go, "").unwrap();
        } else {
            std::fs::remove_file(&go).unwrap();
        }
        let reported = run_and_kill(folder.path(), delay);
        let run = latest_run(&folder.path().join("artifacts")).expect("a run folder");
        let record = read_record(&run).unwrap();
        assert_eq!(record.cases.len(), 9, "every selected case is there");
        for name in reported {
            let name = name.trim_end_matches(':');
            let case = record.cases.iter().find(|case| case.id.to_string() == name).unwrap();
            assert_eq!(case.outcome, Outcome::Measured, "round {round}: {name}");
            assert_eq!(case.metrics[0].processes.len(), 2);
        }
        let unfinished = record.cases.iter().filter(|case| !case.outcome.is_measured());
        assert!(unfinished.clone().all(|case| matches!(case.outcome, Outcome::NotRun { .. })));
        if record.state == RecordState::Recovered {
            cut_short += usize::from(unfinished.count() > 0);
        }
        std::fs::remove_dir_all(&run).unwrap();
    }
    assert!(cut_short >= 10, "only {cut_short} of the 20 kills came while it ran");
    assert_nothing_alive(folder.path());
}

#[test]
fn children_and_their_stubborn_descendants_die_with_the_gate() {
    let suite = "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"stubborn\"\ncommand = [\"./child\", \"stubborn\"]\n\
                 timing = \"protocol\"\n";
    let folder = folder_with(suite);
    let mut gate =
        gate().args(["run", "--quiet"]).current_dir(folder.path()).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the child and its grandchild run", || alive_in(folder.path()).len() >= 2);
    gate.kill().unwrap();
    gate.wait().unwrap();
    assert_nothing_alive(folder.path());
}

#[test]
fn a_supervisor_that_is_killed_takes_the_child_with_it_and_the_run_goes_on() {
    let suite = "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"stubborn\"\ncommand = [\"./child\", \"stubborn\"]\n\
                 timing = \"protocol\"\n[[benchmark]]\nid = \"ok\"\ncommand = [\"./child\", \"ok\"]\n\
                 timing = \"protocol\"\nprocesses = 1\n";
    let folder = folder_with(suite);
    let gate =
        gate().args(["run", "--quiet"]).current_dir(folder.path()).stdout(Stdio::null()).spawn().unwrap();
    let supervisor = wait_for(|| {
        // The whole tree must be there before its root is cut off.
        let alive = alive_in(folder.path());
        let found = if alive.len() >= 2 { child_of(gate.id()) } else { None };
        found.ok_or(alive)
    });
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(supervisor), nix::sys::signal::Signal::SIGKILL)
        .unwrap();
    let status = gate.wait_with_output().unwrap().status;
    assert_eq!(status.code(), Some(4));
    let run = latest_run(&folder.path().join("artifacts")).unwrap();
    let record = read_record(&run).unwrap();
    assert!(
        record.cases[0].outcome.cause().contains("supervisor was killed"),
        "{:?}",
        record.cases[0].outcome
    );
    assert_eq!(record.cases[1].outcome, Outcome::Measured);
    assert_nothing_alive(folder.path());
}

#[test]
fn a_supervisor_that_is_stopped_is_given_up_and_nothing_of_its_tree_is_left() {
    let suite = "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"stops\"\ncommand = [\"./child\", \"stops-supervisor\"]\n\
                 timing = \"protocol\"\nprocesses = 1\ndeadlines.measure = \"500ms\"\n";
    let folder = folder_with(suite);
    let status =
        gate().args(["run", "--quiet"]).current_dir(folder.path()).stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(4));
    let record = read_record(&latest_run(&folder.path().join("artifacts")).unwrap()).unwrap();
    assert!(matches!(record.cases[0].outcome, Outcome::TimedOut { .. }), "{:?}", record.cases[0].outcome);
    assert_nothing_alive(folder.path());
}

/// A supervisor whose gate died right after it had told it what to start.
fn supervisor_told(assignment: &Assignment) -> std::process::Child {
    let (gate, theirs) = UnixStream::pair().unwrap();
    let supervisor = crate::support::gate()
        .arg(ARGUMENT)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let message = format!("{}\n", serde_json::to_string(assignment).unwrap());
    let output = std::fs::File::options().write(true).open("/dev/null").unwrap();
    let rights = [ControlMessage::ScmRights(&[output.as_raw_fd(), output.as_raw_fd()])];
    let parts = [IoSlice::new(message.as_bytes())];
    let sent = sendmsg::<()>(gate.as_raw_fd(), &parts, &rights, MsgFlags::empty(), None);
    assert_eq!(sent, Ok(message.len()));
    // Here `gate` closes its end, as the kernel does for one that is killed.
    supervisor
}

#[test]
fn n24_a_supervisor_ends_when_its_gate_died_before_it_could_open_the_channel() {
    let folder = folder_with("");
    let fifo = |name: &str| {
        let path = folder.path().join(name);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        path
    };
    // As a gate that dies right after it has told all: the other end is open, and nothing is read.
    let held = fifo("held");
    let _reader = std::fs::File::options().read(true).write(true).open(&held).unwrap();
    let assignment = Assignment {
        argv: vec!["./child".into(), "hang-start".into()],
        dir: folder.path().into(),
        env_bytes: 0,
        events: fifo("events").into(),
        turns: Some(fifo("turns").into()),
        writable: None,
        hidden: Vec::new(),
        memory_limit: 0,
        grace: 0.0,
    };
    let gone = Assignment { events: folder.path().join("not-there").into(), ..assignment.clone() };
    let opened = Assignment { events: held.into(), turns: None, ..assignment.clone() };
    for assignment in [assignment, gone, opened] {
        let mut supervisor = supervisor_told(&assignment);
        let pid = supervisor.id();
        wait_for(|| {
            let place = || std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
            supervisor
                .try_wait()
                .unwrap()
                .ok_or_else(|| format!("it waits for a gate that is dead, in {}", place()))
        });
        assert_nothing_alive(folder.path());
    }
}

/// A direct child of `parent`, by the parent that /proc names.
fn child_of(parent: u32) -> Option<i32> {
    let is_child = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line == format!("PPid:\t{parent}"))
    };
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(is_child)
}
