//! The process that gives locked clocks back where the gate cannot any more.
//!
//! ```text
//! gate --socket--> guard (own session, no child of the gate's)
//! gate:  the plan, a line of JSON        guard: "ready", or why not
//! gate:  "done": all is given back       guard: ends
//! gate:  the socket's end, whatever that is of   guard: gives all of the plan back, says how that went, ends
//! ```
//!
//! It is the same binary, started with a hidden first argument, before the first clock is set. It has a session of its own, so that no
//! signal to the gate's group or terminal reaches it, and is no descendant of the gate, so that nobody finds it who ends the gate's tree: the
//! process that starts it ends at once. SIGINT, SIGTERM, SIGHUP and SIGQUIT wait until it is done. What ends it all the same is SIGKILL, which
//! a whole control group can get; then the gate gives the clocks back by itself.

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

use super::nvml::ClockSetter;
use gbench_model::{ClockDomain, looks_secret};

/// First argument that makes the binary a guard of clocks.
pub const CLOCKS_ARGUMENT: &str = "__clocks";
/// Second argument of the process that stays.
const STAYS: &str = "stays";

const READY: &str = "ready";
const DONE: &str = "done";
const GIVEN_BACK: &str = "given back";

/// A driver without persistence mode wakes every GPU first.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long it tries again what the driver refuses.
const TRIES: Duration = Duration::from_secs(4);

/// A job's runner ends at the job's end whatever has this variable. The guard ends by itself, and has something to do at that moment.
const HUNTED_BY: &str = "RUNNER_TRACKING_ID";

/// What may be locked, in the order in which it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ClockPlan {
    pub clocks: Vec<(String, ClockDomain)>,
}

impl ClockPlan {
    /// Gives all of it back, the last first. Gives those that the driver does not give back, each with why.
    pub(super) fn give_back(&self, setter: &ClockSetter) -> Vec<(String, ClockDomain, String)> {
        let refused = |(uuid, domain): &(String, ClockDomain)| {
            let refusal = setter.unlock(uuid, *domain).err()?;
            Some((uuid.clone(), *domain, refusal.why))
        };
        self.clocks.iter().rev().filter_map(refused).collect()
    }
}

/// The gate's end of a guard. Dropped, it makes the guard give everything back.
#[derive(Debug)]
pub(super) struct ClockGuard(UnixStream);

impl ClockGuard {
    /// Starts one, and waits until it is ready for the plan. Errors: it cannot be started, or cannot give anything back, in words.
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

    /// False where something has ended it.
    pub(super) fn is_alive(&self) -> bool {
        let looked = self.0.set_nonblocking(true).and_then(|()| (&self.0).read(&mut [0]));
        let _ = self.0.set_nonblocking(false);
        matches!(looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// All is given back: it ends.
    pub(super) fn dismiss(self) {
        // One that is gone needs no word.
        let _ = (&self.0).write_all(format!("{DONE}\n").as_bytes());
        let _ = answer(&self.0);
    }

    /// Lets it give everything back. False where it could not, or was gone.
    pub(super) fn gives_back(self) -> bool {
        let asked = self.0.shutdown(std::net::Shutdown::Write);
        asked.and_then(|()| answer(&self.0)).is_ok_and(|answer| answer == GIVEN_BACK)
    }
}

/// A line without its end; empty where the other end is gone.
fn answer(socket: &UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn start(binary: &Path) -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    // A gate that adopts orphans would be the guard's parent, and would end it with what it adopts in earnest.
    let adopts = prctl::get_child_subreaper()?;
    prctl::set_child_subreaper(false)?;
    let mut command = Command::new(binary);
    command.arg(CLOCKS_ARGUMENT).stdin(OwnedFd::from(theirs.try_clone()?));
    command.stdout(OwnedFd::from(theirs)).stderr(Stdio::null());
    // What benchmarks could read there must not be secret.
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

/// Runs as the guard, or as the process that starts it: the socket to the gate is standard input and standard output.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let done = if arguments.next().is_some_and(|word| word == STAYS) { stay() } else { leave() };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(70) }
}

/// Starts the guard in a session of its own, and leaves it without a parent.
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
    // A gate that is gone reads nothing, and its end is what this process is for.
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
