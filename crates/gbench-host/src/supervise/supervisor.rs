//! The supervisor's main loop: start a child, wait, leave no descendant behind, report; then the next one.

use std::io::{ErrorKind, Read, Result, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitCode};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;

use super::adopt_orphans;
use super::confine::{self, LastRules};
use super::descendants::{await_descendants, end_descendants, kill_without_reaping};
use super::order::StartOrder;
use super::reap::{Reaped, Usage, reap};
use super::wire::{KILL, Report, STOP};
use gbench_model::ProcessEnd;

/// How long SIGKILL may take before a process is considered stuck in the kernel.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long descendants of an ended process may take to end by themselves before they are reported as left behind.
const SETTLING: Duration = Duration::from_millis(200);
/// How long the gate may take to send its first assignment, to send the rest of a later one, and to make room for a
/// report. This is for a gate that is stopped or stuck: a dead gate closes the socket.
const GATE_PATIENCE: Duration = Duration::from_secs(60);

/// Runs as the supervisor; standard input is the socket to the gate. Every failure becomes a [`Report`], or the socket's end.
///
/// The gate can be killed between any two instructions. So this process waits for the gate only at the socket, which
/// reports its end, and within an assignment for a bounded time. It opens FIFOs without waiting, because `open` would
/// hang if the gate at the other end is gone.
pub fn main() -> ExitCode {
    confine::close_inherited();
    // SAFETY: descriptor 0 is open (the gate made it a socket) and nothing else in this process uses it.
    let gate = UnixStream::from(unsafe { OwnedFd::from_raw_fd(0) });
    match serve(&gate, GATE_PATIENCE) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(70),
    }
}

/// Carries out one assignment after the other, until the gate is gone or a signal ends this process.
fn serve(gate: &UnixStream, patience: Duration) -> Result<()> {
    // The child must not inherit the socket: its copy would hide the gate's death from us.
    fcntl(gate, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    gate.set_read_timeout(Some(patience))?;
    gate.set_write_timeout(Some(patience))?;
    let Some(mut order) = StartOrder::receive(gate)? else { return Ok(()) };
    let signals = match prepare() {
        Ok(signals) => signals,
        Err(error) => {
            let cause = format!("its supervisor cannot be set up: {error}");
            return tell(gate, &Report::NotStarted { cause, not_found: false });
        }
    };
    let (mut last, mut is_sealed) = (LastRules::default(), false);
    loop {
        // Only sandboxed children need this; a benchmark without a sandbox may have to change the machine.
        if order.assignment.writable.is_some() && !is_sealed {
            confine::seal_machine(&order.assignment.hidden);
            is_sealed = true;
        }
        let report = carry_out(order, gate, &signals, &mut last);
        tell(gate, &report)?;
        if !is_spoken_to(gate, &signals)? {
            return Ok(());
        }
        match StartOrder::receive(gate)? {
            Some(next) => order = next,
            None => return Ok(()),
        }
    }
}

/// Settings of this process that apply to all its children.
fn prepare() -> nix::Result<SignalFd> {
    adopt_orphans()?;
    // Children run as the same user, and must not be able to trace this process.
    super::hide_from_children()?;
    // Its own session: the terminal's Ctrl-C reaches only the gate, which then stops this process in order.
    nix::unistd::setsid()?;
    block_signals()
}

/// Waits for the next assignment, however long it takes. False if a signal ended the wait; the gate starts another
/// supervisor when it needs one.
fn is_spoken_to(gate: &UnixStream, signals: &SignalFd) -> Result<bool> {
    loop {
        let mut fds = [gate.as_fd(), signals.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let spoken_to = fds[0].any().unwrap_or(false);
        // Signals of children that are already reaped may still be pending.
        while let Ok(Some(info)) = signals.read_signal() {
            if info.ssi_signo != Signal::SIGCHLD as u32 {
                return Ok(false);
            }
        }
        if spoken_to {
            return Ok(true);
        }
    }
}

/// If the gate is gone, there is no other reader.
fn tell(mut gate: &UnixStream, report: &Report) -> Result<()> {
    let mut text = serde_json::to_string(report)?;
    text.push('\n');
    gate.write_all(text.as_bytes())
}

fn carry_out(order: StartOrder, gate: &UnixStream, signals: &SignalFd, last: &mut LastRules) -> Report {
    let (grace, stop_now) = (order.assignment.grace, order.told_to_stop_already);
    let started = Instant::now();
    let child = match order.spawn(last) {
        Ok(child) => child,
        Err(error) => {
            let not_found = error.kind() == ErrorKind::NotFound;
            return Report::NotStarted { not_found, cause: error.to_string() };
        }
    };
    let mut usage = Usage::default();
    let (end, was_stopped) = attend(&child, &mut usage, gate, signals, grace, stop_now);
    let seconds = started.elapsed().as_secs_f64();
    if !was_stopped {
        await_descendants(SETTLING, &mut usage);
    }
    let (leftovers, survivors) = end_descendants(PATIENCE, &mut usage);
    let Usage { cpu_seconds, peak_rss_bytes } = usage;
    Report::Ended { end, seconds, peak_rss_bytes, cpu_seconds, leftovers, survivors }
}

/// Turns the relevant signals into readable events instead of interruptions.
fn block_signals() -> nix::Result<SignalFd> {
    let mut set = SigSet::empty();
    for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        set.add(signal);
    }
    set.thread_block()?;
    SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

/// Waits until the child has ended, stopping it on request, and adds its usage. Also returns whether it was asked to stop.
fn attend(
    child: &Child,
    usage: &mut Usage,
    gate: &UnixStream,
    signals: &SignalFd,
    grace: f64,
    stop_now: bool,
) -> (ProcessEnd, bool) {
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
        if let Reaped::Ended(status) = reap(pid.as_raw(), usage) {
            let end = match (status.code(), status.signal()) {
                (Some(code), _) => ProcessEnd::Exit(code),
                (None, signal) => ProcessEnd::Signal(signal.unwrap_or(0)),
            };
            return (end, kill_at.is_some());
        }
        let timeout = match kill_at {
            None => PollTimeout::NONE,
            Some(at) => {
                let left = at.saturating_duration_since(Instant::now());
                if left.is_zero() && killed {
                    // The child hangs in the kernel, as with a stuck driver; it will be reported as a survivor.
                    return (ProcessEnd::Signal(Signal::SIGKILL as i32), true);
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
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The gate is gone: no result will be read, and nothing may continue without it.
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
        // It returns even though the other end is open.
        let error = serve(&theirs, Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
        drop(ours);
    }
}
