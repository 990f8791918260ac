//! Ctrl-C and SIGTERM as something to wait for: a pipe that becomes readable.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Lets a write beyond the limit for a file's size (`ulimit -f`) fail like any other, instead of ending the process
/// without a word (SIGXFSZ). A child begins with the usual effect of the signal. Errors: signals cannot be taken.
pub fn outlive_file_size_limit() -> std::io::Result<()> {
    let seen = std::sync::Arc::default();
    signal_hook::flag::register(nix::libc::SIGXFSZ, seen).map(drop)
}

/// Set once a signal has come; stays set.
#[derive(Debug)]
pub struct Interrupt {
    int: UnixStream,
    term: UnixStream,
    /// Signal number of the first that came.
    seen: Option<i32>,
}

impl Interrupt {
    /// Takes SIGINT and SIGTERM (and SIGHUP as SIGTERM) for this process from now on.
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

    /// The descriptors to poll.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.int.as_fd(), self.term.as_fd()]
    }

    /// Waits for a signal, at most this long. Gives the one that came first, if any came.
    pub fn wait(&mut self, time: Duration) -> Option<i32> {
        let [int, term] = self.descriptors().map(|pipe| PollFd::new(pipe, PollFlags::POLLIN));
        // Interrupted, or failed: as if the time were over.
        let _ = poll(&mut [int, term], PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX));
        self.check().0
    }

    /// The signal that came first, if any came. `fresh` is true when one has come since the last call.
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
