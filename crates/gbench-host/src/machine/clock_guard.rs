//! The process that gives locked clocks and power limits back if the gate no longer can.
//!
//! ```text
//! gate --socket--> guard (own session, no child of the gate's)
//! gate:  the plan, a line of JSON        guard: "ready", or why not
//! gate:  "done": all is given back       guard: ends
//! gate:  the socket's end, whatever that is of   guard: gives all of the plan back, says how that went, ends
//! ```
//!
//! The guard is the same binary, started with a hidden first argument before the first clock is set. It has its own
//! session, so that no signal to the gate's group or terminal reaches it. It is not a descendant of the gate either
//! (the process that starts it ends at once), so that killing the gate's process tree does not end it. It blocks
//! SIGINT, SIGTERM, SIGHUP and SIGQUIT until it is done. SIGKILL, which can be sent to a whole control group, still
//! ends it; the gate then gives the clocks back itself.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use serde::{Deserialize, Serialize};

use super::nvml::{ClockSetter, HeldSetting};
use gbench_model::looks_secret;

pub const CLOCKS_ARGUMENT: &str = "__clocks";
const STAYS: &str = "stays";

const READY: &str = "ready";
const DONE: &str = "done";
const GIVEN_BACK: &str = "given back";

/// A driver without persistence mode first wakes every GPU.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the guard retries after the driver refused.
const TRIES: Duration = Duration::from_secs(4);

/// At the end of a job, GitHub's runner kills every process that has this variable. The guard ends by itself, and has
/// work to do at that moment.
const HUNTED_BY: &str = "RUNNER_TRACKING_ID";

/// The clocks that may be locked and the power limits that may be set, by the UUID of the GPU and in that order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ClockPlan {
    pub settings: Vec<(String, HeldSetting)>,
}

impl ClockPlan {
    pub(super) fn give_back(&self, setter: &ClockSetter) -> Vec<(String, HeldSetting, String)> {
        let refused = |(uuid, setting): &(String, HeldSetting)| {
            let refusal = setter.give_back(uuid, *setting).err()?;
            Some((uuid.clone(), *setting, refusal.why))
        };
        self.settings.iter().rev().filter_map(refused).collect()
    }
}

/// The gate's end of the socket. Dropping it makes the guard give everything back.
#[derive(Debug)]
pub(super) struct ClockGuard(UnixStream);

impl ClockGuard {
    /// Starts a guard and waits until it is ready for the plan. Errors: why it cannot be started or cannot give clocks back.
    pub(super) fn start(binary: &Path, plan: &ClockPlan) -> Result<Self, String> {
        let socket = start(binary).map_err(|error| format!("its guard cannot be started: {error}"))?;
        let asked = (|| {
            socket.set_read_timeout(Some(PATIENCE))?;
            let mut line = serde_json::to_string(plan)?;
            line.push('\n');
            (&socket).write_all(line.as_bytes())?;
            answer(&socket)
        })();
        match asked {
            Ok(answer) if answer == READY => Ok(Self(socket)),
            Ok(answer) if answer.is_empty() => Err("its guard ended at once".into()),
            Ok(why) => Err(format!("its guard cannot reach the driver: {why}")),
            Err(error) => Err(format!("its guard does not answer: {error}")),
        }
    }

    /// False if something ended the guard.
    pub(super) fn is_alive(&self) -> bool {
        let looked = self.0.set_nonblocking(true).and_then(|()| (&self.0).read(&mut [0]));
        let _ = self.0.set_nonblocking(false);
        matches!(looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    pub(super) fn dismiss(self) {
        // The guard may be gone already; then it needs no message.
        let _ = (&self.0).write_all(format!("{DONE}\n").as_bytes());
        let _ = answer(&self.0);
    }

    /// Makes the guard give everything back. False if it could not, or was gone.
    pub(super) fn gives_back(self) -> bool {
        let asked = self.0.shutdown(std::net::Shutdown::Write);
        asked.and_then(|()| answer(&self.0)).is_ok_and(|answer| answer == GIVEN_BACK)
    }
}

/// A line without its newline; empty if the other end is closed.
fn answer(socket: &UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn start(binary: &Path) -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    // A gate that adopts orphans would become the guard's parent, and would kill it with its other orphans.
    let adopts = prctl::get_child_subreaper()?;
    prctl::set_child_subreaper(false)?;
    let mut command = Command::new(binary);
    command.arg(CLOCKS_ARGUMENT).stdin(OwnedFd::from(theirs.try_clone()?));
    command.stdout(OwnedFd::from(theirs)).stderr(Stdio::null());
    // Benchmarks could read this process's environment, so it must not contain secrets.
    let variables = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        !looks_secret(&name) && name != HUNTED_BY
    });
    let started = command.env_clear().envs(variables).spawn().and_then(|mut first| first.wait());
    prctl::set_child_subreaper(adopts)?;
    drop(command);
    match started? {
        status if status.success() => Ok(ours),
        status => Err(io::Error::other(status.to_string())),
    }
}

/// Runs as the guard, or as the process that starts the guard. Standard input and output are the socket to the gate.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let done = if arguments.next().is_some_and(|word| word == STAYS) { stay() } else { leave() };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(70) }
}

fn leave() -> io::Result<()> {
    nix::unistd::setsid()?;
    Command::new(std::env::current_exe()?).args([CLOCKS_ARGUMENT, STAYS]).spawn().map(drop)
}

fn stay() -> io::Result<()> {
    let mut waiting = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        waiting.add(signal);
    }
    waiting.thread_block()?;
    prctl::set_dumpable(false)?;
    let mut gate = io::stdin().lock();
    let mut line = String::new();
    gate.read_line(&mut line)?;
    let plan: ClockPlan = serde_json::from_str(&line)?;
    let setter = match ClockSetter::open() {
        Ok(setter) => setter,
        Err(why) => return say(&why),
    };
    // If the gate is gone, nothing reads this, and the guard still has to give the clocks back.
    let _ = say(READY);
    line.clear();
    let _ = gate.read_line(&mut line);
    if line.trim_end() == DONE {
        return Ok(());
    }
    let begun = Instant::now();
    let mut refused = plan.give_back(&setter);
    while !refused.is_empty() && begun.elapsed() < TRIES {
        std::thread::sleep(Duration::from_millis(200));
        refused = plan.give_back(&setter);
    }
    let _ = say(if refused.is_empty() { GIVEN_BACK } else { "refused" });
    if refused.is_empty() { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", line.replace('\n', " "))?;
    out.flush()
}
