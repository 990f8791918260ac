//! Receives the gate's order to start a child, and carries it out.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::Mode;
use nix::unistd::{getpid, getppid};

use super::confine::{self, LastRules};
use super::wire::{Assignment, Receiver};
use gbench_model::line;

pub(super) struct StartOrder {
    pub assignment: Assignment,
    environment: Vec<u8>,
    output: [OwnedFd; 2],
    /// The gate has already sent more: a request to stop.
    pub told_to_stop_already: bool,
}

impl StartOrder {
    /// `None`: the gate was gone before the message was complete. Errors: a timeout, or a message that is not an assignment.
    pub(super) fn receive(gate: &UnixStream) -> Result<Option<Self>> {
        let mut reader = BufReader::new(Receiver { socket: gate, descriptors: Vec::new() });
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Ok(None);
        }
        let assignment: Assignment = serde_json::from_str(&line)?;
        let mut environment = vec![0; assignment.env_bytes];
        match reader.read_exact(&mut environment) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let told_to_stop_already = !reader.buffer().is_empty();
        let output = reader.into_inner().descriptors.try_into();
        let output = output.map_err(|_| Error::new(ErrorKind::InvalidData, "no output for the child"))?;
        Ok(Some(Self { assignment, environment, output, told_to_stop_already }))
    }

    /// Starts the child. Our copies of its streams are closed when this returns, because an open copy would hide the
    /// end of its output. `last`: the sandbox rules of the previous child.
    pub(super) fn spawn(self, last: &mut LastRules) -> Result<Child> {
        let Self { assignment, environment, output: [stdout, stderr], .. } = self;
        let (program, arguments) = assignment.argv.split_first().ok_or(ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&assignment.dir).env_clear().process_group(0);
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        for pair in environment.split(|byte| *byte == 0) {
            if let Some(equals) = pair.iter().position(|byte| *byte == b'=') {
                let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
                command.env(text(&pair[..equals]), text(&pair[equals + 1..]));
            }
        }
        let events = open_fifo(&assignment.events, OFlag::O_WRONLY)?;
        command.env(line::env::FD, events.as_raw_fd().to_string());
        let turns = assignment.turns.as_deref().map(|path| open_fifo(path, OFlag::O_RDONLY)).transpose()?;
        if let Some(descriptor) = &turns {
            command.env(line::env::TURN_FD, descriptor.as_raw_fd().to_string());
        }
        let rules = match assignment.writable.as_deref() {
            None => None,
            Some(writable) => {
                // A requested sandbox is never skipped.
                let no_landlock = || Error::other("its sandbox cannot be made: this kernel has no Landlock");
                Some(last.of(writable).map_err(Error::other)?.ok_or_else(no_landlock)?)
            }
        };
        let (supervisor, confined) = (getpid(), rules.as_ref().map(AsRawFd::as_raw_fd));
        // SAFETY: between fork and exec only async-signal-safe calls are made: pthread_sigmask, prctl, getppid, and system calls.
        unsafe {
            command.pre_exec(move || {
                // Signals that this supervisor blocks would otherwise stay blocked in the child, SIGTERM included.
                SigSet::empty().thread_set_mask()?;
                // In addition to the socket: if this supervisor is killed, the child is killed, too.
                nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
                // The signal is only sent for a later death, so check that the parent is still alive.
                if getppid() != supervisor {
                    return Err(ErrorKind::BrokenPipe.into());
                }
                confined.map_or(Ok(()), confine::enter)
            });
        }
        // The child inherits the soft limit; ours is restored right after.
        let before = getrlimit(Resource::RLIMIT_AS)?;
        if assignment.memory_limit > 0 {
            setrlimit(Resource::RLIMIT_AS, assignment.memory_limit.min(before.1), before.1)?;
        }
        let child = command.spawn();
        setrlimit(Resource::RLIMIT_AS, before.0, before.1)?;
        child
    }
}

/// Opens one end of a FIFO without CLOEXEC, so that the child inherits it. Does not wait: a living gate opens its end
/// before it names the FIFO. Afterwards the descriptor is made blocking for the child.
///
/// Errors: `ENXIO` for the writing end if the reading end is closed, which means that the gate is gone.
fn open_fifo(path: &OsStr, direction: OFlag) -> nix::Result<OwnedFd> {
    let descriptor = open(path, direction | OFlag::O_NONBLOCK, Mode::empty())?;
    fcntl(&descriptor, FcntlArg::F_SETFL(OFlag::empty()))?;
    Ok(descriptor)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn n24_a_gate_that_dies_before_it_has_said_all_starts_nothing() {
        let assignment = Assignment {
            argv: vec!["true".into()],
            dir: "/".into(),
            env_bytes: 9,
            events: "/fifo".into(),
            turns: None,
            writable: None,
            hidden: Vec::new(),
            memory_limit: 0,
            grace: 0.0,
        };
        let assignment = serde_json::to_string(&assignment).unwrap();
        for said in ["".to_owned(), assignment[..20].to_owned(), format!("{assignment}\nA=b")] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            (&ours).write_all(said.as_bytes()).unwrap();
            drop(ours);
            assert!(StartOrder::receive(&theirs).unwrap().is_none(), "{said}");
        }
    }
}
