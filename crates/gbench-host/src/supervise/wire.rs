//! The messages between gate and supervisor: one JSON line each way, then single bytes; and again for the next process.
//!
//! gate -> supervisor: an [`Assignment`] line, then `env_bytes` bytes of `KEY=VALUE\0`. The child's standard output
//! and standard error come along with the first byte. Later the byte [`STOP`] (SIGTERM, grace, SIGKILL) or [`KILL`]
//! (at once). End of file means that the gate is gone: kill at once. supervisor -> gate: one [`Report`] line when no
//! process of the child is left.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use serde::{Deserialize, Serialize};

use gbench_model::ProcessEnd;

pub const ARGUMENT: &str = "__supervise";
pub const STOP: u8 = b'T';
pub const KILL: u8 = b'K';

/// The process to start. Paths are bytes: a name need not be UTF-8.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    pub argv: Vec<String>,
    pub dir: OsString,
    /// Length of the environment that follows this line. It is bytes, because names and values need not be UTF-8.
    pub env_bytes: usize,
    /// A FIFO that the child inherits as the descriptor in `GBENCH_FD`.
    pub events: OsString,
    /// A FIFO that the child inherits for reading, as the descriptor in `GBENCH_TURN_FD`.
    pub turns: Option<OsString>,
    /// The files and folders that the child may write to; `None`: no sandbox.
    pub writable: Option<Vec<OsString>>,
    /// Folders hidden from a sandboxed child that runs as root. Only read from the first assignment: all assignments
    /// of a supervisor are for the same side.
    pub hidden: Vec<OsString>,
    pub memory_limit: u64,
    /// Seconds between SIGTERM and SIGKILL.
    pub grace: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Report {
    /// The program could not be started; `not_found` distinguishes a missing program from other reasons.
    NotStarted { cause: String, not_found: bool },
    Ended {
        end: ProcessEnd,
        /// From just before the spawn to the child's exit, monotonic.
        seconds: f64,
        /// Largest resident set of the child or of a descendant that was waited for.
        peak_rss_bytes: u64,
        /// User and system time of the child and its descendants.
        cpu_seconds: f64,
        /// Descendants that were alive after the child's end, and were killed.
        leftovers: u32,
        /// Descendants that even SIGKILL did not end within five seconds: stuck in the kernel.
        survivors: u32,
    },
}

/// Sends bytes, and two descriptors along with the first of them.
pub(super) fn send(
    mut socket: &UnixStream,
    bytes: &[u8],
    descriptors: [BorrowedFd<'_>; 2],
) -> io::Result<()> {
    let numbers = descriptors.map(|descriptor| descriptor.as_raw_fd());
    let rights = [ControlMessage::ScmRights(&numbers)];
    let sent = loop {
        match sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(bytes)], &rights, MsgFlags::MSG_NOSIGNAL, None)
        {
            Err(nix::errno::Errno::EINTR) => {}
            other => break other?,
        }
    };
    socket.write_all(bytes.get(sent..).unwrap_or_default())
}

/// Reads the bytes of [`send`], and keeps the descriptors, which no child inherits.
pub(super) struct Receiver<'a> {
    pub socket: &'a UnixStream,
    pub descriptors: Vec<OwnedFd>,
}

impl Read for Receiver<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut space = nix::cmsg_space!([RawFd; 2]);
        let mut parts = [IoSliceMut::new(buffer)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(self.socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(numbers) = control {
                // SAFETY: the kernel has just opened these descriptors for us, and nothing else knows their numbers.
                let owned = numbers.into_iter().map(|number| unsafe { OwnedFd::from_raw_fd(number) });
                self.descriptors.extend(owned);
            }
        }
        Ok(message.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn n30_paths_that_are_not_utf8_reach_the_supervisor_as_they_are() {
        let path = OsString::from_vec(b"/a\xff b".to_vec());
        let assignment = Assignment {
            argv: vec!["true".into()],
            dir: path.clone(),
            env_bytes: 0,
            events: path.clone(),
            turns: None,
            writable: None,
            hidden: Vec::new(),
            memory_limit: 0,
            grace: 0.0,
        };
        let text = serde_json::to_string(&assignment).unwrap();
        let back: Assignment = serde_json::from_str(&text).unwrap();
        assert_eq!((back.dir, back.events, back.turns), (path.clone(), path, None));
    }

    #[test]
    fn two_descriptors_come_with_a_message_of_any_length() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let sent = vec![b'x'; 1 << 20];
        let received = std::thread::scope(|scope| {
            scope.spawn(|| {
                send(&ours, &sent, [writer.as_fd(), writer.as_fd()]).unwrap();
                drop(ours);
            });
            let mut receiver = Receiver { socket: &theirs, descriptors: Vec::new() };
            let mut bytes = Vec::new();
            receiver.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes.len(), 1 << 20);
            receiver.descriptors
        });
        drop(writer);
        assert_eq!(received.len(), 2);
        for descriptor in received {
            use nix::fcntl::{FcntlArg, fcntl};
            assert_eq!(fcntl(&descriptor, FcntlArg::F_GETFD), Ok(nix::libc::FD_CLOEXEC), "no child has it");
            File::from(descriptor).write_all(b"a").unwrap();
        }
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "aa", "all copies are closed");
    }
}
