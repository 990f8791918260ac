//! The supervisor's own life: start one child, wait, leave nothing of it behind, report.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl, open};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, getpid, getppid};

use super::descendants::kill_without_reaping;
use super::wire::{Assignment, KILL, Report, STOP};
use super::{adopt_orphans, kill_descendants};
use crate::model::{ProcessEnd, line};

/// How long SIGKILL may take before a process counts as stuck in the kernel.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the gate may take over its assignment, and over making room for the report. A gate that is dead needs no
/// deadline: its end of the socket is closed. This one is for a gate that is stopped or stuck.
const GATE_PATIENCE: Duration = Duration::from_secs(60);

/// Runs as the supervisor: the socket to the gate is standard input; standard output and error are the
/// child's. Never returns early without a word: what goes wrong becomes a [`Report`], or the socket's end.
///
/// The gate can be killed between any two instructions. So this process waits for it at the socket alone, which tells of
/// its end, and for a bounded time; and it opens a FIFO only without waiting, because `open` would wait for ever for
/// the other end of a FIFO whose gate is gone, and hear of nothing.
pub fn main() -> ExitCode {
    // SAFETY: descriptor 0 is open (the gate made it a socket) and nothing else in this process uses it.
    let gate = UnixStream::from(unsafe { OwnedFd::from_raw_fd(0) });
    match supervise(gate, GATE_PATIENCE) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The pipe may have lost its reader by now.
            let _ = writeln!(std::io::stderr(), "gbench-ci supervisor: {error}");
            ExitCode::from(70)
        }
    }
}

fn supervise(gate: UnixStream, patience: Duration) -> std::io::Result<()> {
    // The child must not inherit the socket: its copy would hide the gate's death from us.
    fcntl(&gate, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    gate.set_read_timeout(Some(patience))?;
    gate.set_write_timeout(Some(patience))?;
    let Some((assignment, environment, told_to_stop_already)) = assignment(&gate)? else { return Ok(()) };

    adopt_orphans()?;
    // A session of its own: the terminal's Ctrl-C reaches the gate alone, which then stops us in order.
    nix::unistd::setsid()?;
    let signals = block_signals()?;

    let started = Instant::now();
    let report = match spawn(&assignment, environment) {
        Err(error) => Report::NotStarted {
            not_found: error.kind() == std::io::ErrorKind::NotFound,
            cause: error.to_string(),
        },
        Ok(mut child) => {
            let (end, seconds) =
                attend(&mut child, started, &gate, &signals, assignment.grace, told_to_stop_already);
            let (leftovers, survivors) = kill_descendants(PATIENCE);
            let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
            let cpu = [usage.user_time(), usage.system_time()];
            Report::Ended {
                end,
                seconds,
                // Linux counts in KiB.
                peak_rss_bytes: usage.max_rss().max(0) as u64 * 1024,
                cpu_seconds: cpu.iter().map(|t| t.tv_sec() as f64 + t.tv_usec() as f64 * 1e-6).sum(),
                leftovers,
                survivors,
            }
        }
    };
    let mut text = serde_json::to_string(&report)?;
    text.push('\n');
    // A gate that is gone does not read this, and no other reader is left.
    let _ = (&gate).write_all(text.as_bytes());
    Ok(())
}

/// The assignment, its environment, and whether more has been received since. `None`: the gate was gone before it said all.
/// Errors: it keeps silent for too long; what it says is no assignment.
fn assignment(gate: &UnixStream) -> std::io::Result<Option<(Assignment, Vec<u8>, bool)>> {
    let mut reader = BufReader::new(gate.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    if !line.ends_with('\n') {
        return Ok(None);
    }
    let assignment: Assignment = serde_json::from_str(&line)?;
    let mut environment = vec![0; assignment.env_bytes];
    match reader.read_exact(&mut environment) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let told_to_stop_already = !reader.buffer().is_empty();
    Ok(Some((assignment, environment, told_to_stop_already)))
}

/// Signals that matter here arrive as reads instead of interruptions.
fn block_signals() -> nix::Result<SignalFd> {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        set.add(signal);
    }
    set.thread_block()?;
    SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

fn spawn(assignment: &Assignment, environment: Vec<u8>) -> std::io::Result<Child> {
    let (program, arguments) = assignment.argv.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&assignment.dir).stdin(Stdio::null()).env_clear().process_group(0);
    for pair in environment.split(|byte| *byte == 0) {
        if let Some(equals) = pair.iter().position(|byte| *byte == b'=') {
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            command.env(text(&pair[..equals]), text(&pair[equals + 1..]));
        }
    }
    // Ours closes when `events` goes out of scope.
    let events = open_fifo(&assignment.events, OFlag::O_WRONLY)?;
    command.env(line::env::FD, events.as_raw_fd().to_string());
    let turns = assignment.turns.as_deref().map(|path| open_fifo(path, OFlag::O_RDONLY)).transpose()?;
    if let Some(descriptor) = &turns {
        command.env(line::env::TURN_FD, descriptor.as_raw_fd().to_string());
    }
    let supervisor = getpid();
    // SAFETY: between fork and exec only async-signal-safe calls are made: pthread_sigmask, prctl, getppid.
    unsafe {
        command.pre_exec(move || {
            // What this supervisor blocks for itself would otherwise stay blocked in the child: no SIGTERM.
            SigSet::empty().thread_set_mask()?;
            // Second net below the socket: if this supervisor is killed, the child goes with it.
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            // The signal is for a death that is still to come.
            if getppid() == supervisor { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
        });
    }
    // The child inherits the soft limit; ours goes back up right after.
    let before = getrlimit(Resource::RLIMIT_AS)?;
    if assignment.memory_limit > 0 {
        setrlimit(Resource::RLIMIT_AS, assignment.memory_limit.min(before.1), before.1)?;
    }
    let child = command.spawn();
    setrlimit(Resource::RLIMIT_AS, before.0, before.1)?;
    child
}

/// Opens one end of a FIFO without CLOEXEC, so that the child has it too. Not waited for: a gate that lives holds the
/// FIFO open before it names it here. For the child's sake it is made to wait afterwards.
///
/// Errors: `ENXIO` for the end to write to, where the other one is closed: the gate is gone.
fn open_fifo(path: &OsStr, direction: OFlag) -> nix::Result<OwnedFd> {
    let descriptor = open(path, direction | OFlag::O_NONBLOCK, Mode::empty())?;
    fcntl(&descriptor, FcntlArg::F_SETFL(OFlag::empty()))?;
    Ok(descriptor)
}

/// Waits until the child has ended, stopping it when told to. Returns how and after how many seconds.
fn attend(
    child: &mut Child,
    started: Instant,
    gate: &UnixStream,
    signals: &SignalFd,
    grace: f64,
    stop_now: bool,
) -> (ProcessEnd, f64) {
    let pid = Pid::from_raw(child.id() as i32);
    let mut kill_at: Option<Instant> = None;
    let mut gate_is_there = true;
    let mut killed = false;
    let stop = |kill_at: &mut Option<Instant>, grace: f64| {
        ask_to_end(pid);
        let at = Instant::now() + Duration::from_secs_f64(grace.clamp(0.0, 3600.0));
        *kill_at = Some(kill_at.map_or(at, |before| before.min(at)));
    };
    if stop_now {
        stop(&mut kill_at, grace);
    }
    loop {
        // The standard library's wait keeps real-time signals, which nix' status cannot name.
        if let Ok(Some(status)) = child.try_wait() {
            let end = match (status.code(), status.signal()) {
                (Some(code), _) => ProcessEnd::Exit(code),
                (None, signal) => ProcessEnd::Signal(signal.unwrap_or(0)),
            };
            return (end, started.elapsed().as_secs_f64());
        }
        let timeout = match kill_at {
            None => PollTimeout::NONE,
            Some(at) => {
                let left = at.saturating_duration_since(Instant::now());
                if left.is_zero() && killed {
                    // It hangs in the kernel, as a child of a stuck driver does: it will be counted as a survivor.
                    return (ProcessEnd::Signal(Signal::SIGKILL as i32), started.elapsed().as_secs_f64());
                }
                if left.is_zero() {
                    // The whole tree, not the group: a child can leave its group.
                    kill_without_reaping();
                    killed = true;
                    kill_at = Some(Instant::now() + PATIENCE);
                }
                PollTimeout::try_from(left.as_millis().min(60_000) as u32 + 1).unwrap_or(PollTimeout::MAX)
            }
        };
        let mut fds = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        if gate_is_there {
            fds.push(PollFd::new(gate.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => kill_at = Some(Instant::now()),
        }
        let gate_spoke = fds.get(1).and_then(|fd| fd.any()).unwrap_or(false);
        while let Ok(Some(info)) = signals.read_signal() {
            if info.ssi_signo != Signal::SIGCHLD as u32 {
                stop(&mut kill_at, grace);
            }
        }
        if gate_spoke {
            let mut byte = [0];
            match (&mut &*gate).read(&mut byte) {
                Ok(1) if byte[0] == STOP => stop(&mut kill_at, grace),
                Ok(1) if byte[0] == KILL => stop(&mut kill_at, 0.0),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // The gate is gone: no result will be read, and nothing may go on without it.
                _ => {
                    gate_is_there = false;
                    stop(&mut kill_at, 0.0);
                }
            }
        }
    }
}

/// SIGTERM goes to the group, because frameworks leave workers behind, and to the child, which may have left its group.
fn ask_to_end(pid: Pid) {
    let _ = killpg(pid, Signal::SIGTERM);
    let _ = kill(pid, Signal::SIGTERM);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n24_a_gate_that_keeps_silent_is_not_waited_for_without_end() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let begun = Instant::now();
        let error = supervise(theirs, Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}");
        assert!(begun.elapsed() < Duration::from_secs(10));
        drop(ours);
    }

    #[test]
    fn n24_a_gate_that_dies_before_it_has_said_all_starts_nothing() {
        let assignment = Assignment {
            argv: vec!["true".into()],
            dir: "/".into(),
            env_bytes: 9,
            events: "/fifo".into(),
            turns: None,
            memory_limit: 0,
            grace: 0.0,
        };
        let assignment = serde_json::to_string(&assignment).unwrap();
        for said in ["".to_owned(), assignment[..20].to_owned(), format!("{assignment}\nA=b")] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            (&ours).write_all(said.as_bytes()).unwrap();
            drop(ours);
            assert!(super::assignment(&theirs).unwrap().is_none(), "{said}");
        }
    }
}
