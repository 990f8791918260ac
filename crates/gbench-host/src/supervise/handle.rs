//! The gate's end of a supervisor.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::descendants::{cpu_of, descendants};
use super::wire::{ARGUMENT, send};

/// How long a supervisor may take to read a message.
const PATIENCE: Duration = Duration::from_secs(30);

/// A supervisor process. When this is dropped, the socket closes, and the supervisor ends its child and itself.
#[derive(Debug)]
pub struct Supervisor {
    process: Child,
    control: UnixStream,
}

impl Supervisor {
    /// Starts a supervisor that waits for its first [`super::Assignment`]. `binary`: the gbench-ci executable.
    pub fn start(binary: &Path) -> std::io::Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        // A supervisor reads messages at once unless something stopped it.
        control.set_write_timeout(Some(PATIENCE))?;
        let process = Command::new(binary)
            .arg(ARGUMENT)
            // The child can read its supervisor's environment, so it must not contain secrets.
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // An inherited stdout would keep the gate's stream open after the gate's end.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { process, control })
    }

    /// The socket from which the supervisor's reports are read.
    pub fn control(&self) -> &UnixStream {
        &self.control
    }

    /// CPU time used so far by the processes below the supervisor, and by the children that they have waited for.
    /// Processes that are gone or not accessible are not included.
    pub fn cpu_below(&self) -> Duration {
        descendants(self.process.id() as i32).into_iter().map(cpu_of).sum()
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// False if something has ended it.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Sends an assignment with its environment. `output`: the child's standard output and standard error. Errors: the
    /// supervisor is gone or reads nothing.
    pub fn assign(&self, message: &[u8], output: [BorrowedFd<'_>; 2]) -> std::io::Result<()> {
        send(&self.control, message, output)
    }

    /// Sends [`super::STOP`] or [`super::KILL`]. A supervisor that has just reported ignores it.
    pub fn tell(&self, word: u8) {
        let _ = (&self.control).write_all(&[word]);
    }

    /// Kills the supervisor if it has not ended. Its children stay alive, so use it only if there is nothing left to
    /// supervise, or if the supervisor no longer can.
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
