//! The gate's end of a supervisor.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::descendants::{cpu_of, descendants};
use super::wire::{ARGUMENT, send};

/// How long a supervisor may take over what it is told.
const PATIENCE: Duration = Duration::from_secs(30);

/// A supervisor of ours. One that is dropped sees the socket close, and ends what it has started and itself.
#[derive(Debug)]
pub struct Supervisor {
    process: Child,
    control: UnixStream,
}

impl Supervisor {
    /// Starts one that waits for its first [`super::Assignment`]. `binary`: the gbench-ci executable.
    pub fn start(binary: &Path) -> std::io::Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        // A supervisor reads what it is told at once, unless something has stopped it.
        control.set_write_timeout(Some(PATIENCE))?;
        let process = Command::new(binary)
            .arg(ARGUMENT)
            // The child can read its supervisor's environment; what is not there cannot leak.
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // It would hold the gate's own streams open after the gate's end.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { process, control })
    }

    /// The socket: what a supervisor says, or its end.
    pub fn control(&self) -> &UnixStream {
        &self.control
    }

    /// CPU time that the processes below it have used so far, with that of the children that they have waited for. A process
    /// that is gone, or must not be looked at, counts as nothing.
    pub fn cpu_below(&self) -> Duration {
        descendants(self.process.id() as i32).into_iter().map(cpu_of).sum()
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// False where something has ended it.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Sends an assignment with its environment. `output`: what the child gets as standard output and standard error.
    /// Errors: it is gone, or takes nothing any more.
    pub fn assign(&self, message: &[u8], output: [BorrowedFd<'_>; 2]) -> std::io::Result<()> {
        send(&self.control, message, output)
    }

    /// Says [`super::STOP`] or [`super::KILL`]. One that has just reported does not hear it any more, and need not.
    pub fn tell(&self, word: u8) {
        let _ = (&self.control).write_all(&[word]);
    }

    /// Ends it at once, if it has not ended. Nothing else of it ends here: only for one that has nothing left to supervise, or
    /// cannot any more.
    pub fn dismiss(&mut self) -> std::io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }
}

impl AsFd for Supervisor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}
