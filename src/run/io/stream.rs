//! Reading a child's output pipes without waiting, and its supervisor's one line.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::capture::Capture;

/// Reads of 64 KiB that one round takes from one pipe: all that it can hold.
pub(crate) const READS: usize = 16;

/// One of the child's output pipes.
pub(crate) struct Stream {
    pub source: File,
    pub open: bool,
}

impl Stream {
    pub(crate) fn new(source: OwnedFd) -> Self {
        let source = File::from(source);
        // Failing to set the flag would make a read block; the poll before it makes that one read safe.
        if let Ok(bits) = fcntl(&source, FcntlArg::F_GETFL) {
            let flags = OFlag::from_bits_truncate(bits) | OFlag::O_NONBLOCK;
            let _ = fcntl(&source, FcntlArg::F_SETFL(flags));
        }
        Self { source, open: true }
    }

    /// Reads what is there, without waiting.
    pub(crate) fn drain(&mut self, capture: &mut Capture) -> std::io::Result<()> {
        let mut buffer = [0; 1 << 16];
        for _ in 0..READS {
            if !self.open {
                break;
            }
            match self.source.read(&mut buffer) {
                Ok(0) => self.open = false,
                Ok(count) => capture.push(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads to the end, which has come or comes as soon as the supervisor is gone; waits a second at most, as a
    /// process stuck in the kernel may hold the other end.
    pub(crate) fn finish(&mut self, capture: &mut Capture) -> std::io::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(1);
        self.drain(capture)?;
        while self.open && Instant::now() < deadline {
            let mut fds = [PollFd::new(self.source.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut fds, PollTimeout::from(100u8));
            self.drain(capture)?;
        }
        Ok(())
    }
}

/// Collects the supervisor's line; true once it is whole or will never be.
pub(crate) fn read_report(control: &UnixStream, report: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut buffer = [0; 4096];
    match (&mut &*control).read(&mut buffer) {
        Ok(0) => Ok(true),
        Ok(count) => {
            report.extend_from_slice(&buffer[..count]);
            Ok(report.ends_with(b"\n"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(false),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(true),
        Err(error) => Err(error),
    }
}
