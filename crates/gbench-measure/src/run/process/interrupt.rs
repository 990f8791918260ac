//! Ctrl-C and SIGTERM as something to wait for: a pipe that becomes readable.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Makes a write beyond the file size limit (`ulimit -f`) fail like any other error, instead of killing the process silently
/// (SIGXFSZ). Children get the signal's default action. Errors: signals cannot be handled.
pub fn outlive_file_size_limit() -> std::io::Result<()> {
    let seen = std::sync::Arc::default();
    signal_hook::flag::register(nix::libc::SIGXFSZ, seen).map(drop)
}

/// Becomes set with the first signal, and stays set.
#[derive(Debug)]
pub struct Interrupt {
    int: UnixStream,
    term: UnixStream,
    seen: Option<i32>,
}

impl Interrupt {
    /// From now on handles SIGINT and SIGTERM (and SIGHUP as SIGTERM) for this process.
    pub fn install() -> std::io::Result<Self> {
        let pipe = |signals: &[i32]| -> std::io::Result<UnixStream> {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            write.set_nonblocking(true)?;
            for signal in signals {
                signal_hook::low_level::pipe::register(*signal, write.try_clone()?)?;
            }
            Ok(read)
        };
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        Ok(Self { int: pipe(&[SIGINT])?, term: pipe(&[SIGTERM, SIGHUP])?, seen: None })
    }

    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.int.as_fd(), self.term.as_fd()]
    }

    /// Waits up to `time` for a signal. Returns the first signal so far, if any.
    pub fn wait(&mut self, time: Duration) -> Option<i32> {
        let [int, term] = self.descriptors().map(|pipe| PollFd::new(pipe, PollFlags::POLLIN));
        // Interrupted, or failed: treated as a timeout.
        let _ = poll(&mut [int, term], PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX));
        self.check().0
    }

    /// The first signal so far, if any. `fresh` is true if one has come since the last call.
    pub fn check(&mut self) -> (Option<i32>, bool) {
        let mut fresh = false;
        for (stream, number) in [(&mut self.int, 2), (&mut self.term, 15)] {
            let mut buffer = [0; 64];
            if matches!(stream.read(&mut buffer), Ok(count) if count > 0) {
                fresh = true;
                self.seen.get_or_insert(number);
            }
        }
        (self.seen, fresh)
    }
}
