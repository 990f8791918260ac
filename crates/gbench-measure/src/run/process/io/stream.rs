//! Reads a child's output pipes without waiting, and its supervisor's one line.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::capture::Capture;

/// Reads of [`READ_BYTES`] per look and pipe: the capacity of a pipe. A child that writes endlessly must not keep the gate
/// from its deadlines.
const READS: usize = 128;
/// Small, because it is zeroed for every look, and most looks find nothing.
const READ_BYTES: usize = 1 << 13;

/// Reads the available bytes without waiting. True at the end of the file.
pub(crate) fn read_available(source: &mut File, mut take: impl FnMut(&[u8])) -> std::io::Result<bool> {
    let mut buffer = [0; READ_BYTES];
    for _ in 0..READS {
        match source.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(count) => take(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

pub(crate) struct Stream {
    source: Option<File>,
    pub capture: Capture,
}

impl Stream {
    pub(crate) fn new(source: Option<impl Into<OwnedFd>>, limit: usize) -> Self {
        let source = source.map(|pipe| File::from(pipe.into()));
        // If setting the flag fails, reads may block; the poll before makes one read safe.
        if let Some(source) = &source
            && let Ok(bits) = fcntl(source, FcntlArg::F_GETFL)
        {
            let flags = OFlag::from_bits_truncate(bits) | OFlag::O_NONBLOCK;
            let _ = fcntl(source, FcntlArg::F_SETFL(flags));
        }
        Self { source, capture: Capture::new(limit) }
    }

    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(File::as_fd)
    }

    pub(crate) fn drain(&mut self) -> std::io::Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        if read_available(source, |bytes| self.capture.push(bytes))? {
            self.source = None;
        }
        Ok(())
    }

    /// Reads to the end, which has come or comes as soon as the supervisor is gone. Waits a second at most, because a process
    /// stuck in the kernel may keep the other end open.
    pub(crate) fn finish(&mut self) -> std::io::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(1);
        self.drain()?;
        while let Some(source) = self.descriptor().filter(|_| Instant::now() < deadline) {
            let _ = poll(&mut [PollFd::new(source, PollFlags::POLLIN)], PollTimeout::from(100u8));
            self.drain()?;
        }
        Ok(())
    }
}

/// Collects the supervisor's line; true once it is complete or will never be.
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
