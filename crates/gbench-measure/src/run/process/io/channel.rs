//! The FIFO that a process writes its events to.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, openat};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, mkfifoat, unlinkat};

/// A pipe large enough for events between looks; the kernel's usual limit for one pipe.
const PIPE_BYTES: i32 = 1 << 20;
const PRIVATE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);

/// Makes a FIFO in a folder, replacing what is there, and opens it for reading and writing, so that it never reports an end of
/// file between two writers and no writer waits for a reader.
pub(crate) fn make(folder: &File, name: &str) -> io::Result<File> {
    match unlinkat(folder, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(error) => return Err(error.into()),
    }
    mkfifoat(folder, name, PRIVATE)?;
    let channel = open(folder, name, true)?;
    // Refused if the user's pipe quota is used up; the default size works, too.
    let _ = fcntl(&channel, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
    Ok(channel)
}

fn open(folder: &File, name: &str, write: bool) -> io::Result<File> {
    let access = if write { OFlag::O_RDWR } else { OFlag::O_RDONLY };
    let flags = access | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?.into())
}

/// The channel of a process that is gone, for reuse, because making another one writes to a disk. `None` unless it is certain
/// that no other process has it open for writing, that it is empty, and that its name still leads to it.
pub(crate) fn for_the_next(folder: &File, name: &str, channel: File) -> Option<File> {
    let reader = open(folder, name, false).ok()?;
    let (named, ours) = (reader.metadata().ok()?, channel.metadata().ok()?);
    if (named.dev(), named.ino()) != (ours.dev(), ours.ino())
        || Mode::from_bits_truncate(named.mode()) != PRIVATE
    {
        return None;
    }
    drop(channel);
    // True only once the last writer has closed it; our own writer is closed above.
    let mut look = [PollFd::new(reader.as_fd(), PollFlags::POLLIN)];
    poll(&mut look, PollTimeout::ZERO).ok()?;
    let is_empty_and_alone = look[0].revents() == Some(PollFlags::POLLHUP);
    is_empty_and_alone.then(|| open(folder, name, true).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};

    use super::*;

    #[test]
    fn a_channel_is_used_again_only_where_nobody_else_can_write_to_it() {
        let place = tempfile::tempdir().unwrap();
        let (folder, name, path) =
            (&File::open(place.path()).unwrap(), "events", place.path().join("events"));
        let writer = || File::options().write(true).open(&path).unwrap();
        let is_empty =
            |channel: &mut File| channel.read(&mut [0; 9]).unwrap_err().kind() == ErrorKind::WouldBlock;

        let channel = make(folder, name).unwrap();
        writer().write_all(b"read before").unwrap();
        (&channel).read_exact(&mut [0; 11]).unwrap();
        let mut channel = for_the_next(folder, name, channel).unwrap();
        assert!(is_empty(&mut channel), "no end of the file");
        let mut later = writer();
        later.write_all(b"next").unwrap();
        (&channel).read_exact(&mut [0; 4]).unwrap();
        assert!(for_the_next(folder, name, channel).is_none(), "somebody still writes");
        drop(later);

        let channel = make(folder, name).unwrap();
        writer().write_all(b"unread").unwrap();
        assert!(for_the_next(folder, name, channel).is_none());

        let channel = make(folder, name).unwrap();
        let mut other = make(folder, name).unwrap();
        assert!(for_the_next(folder, name, channel).is_none(), "its name leads to another one");
        assert!(is_empty(&mut other));
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        assert!(for_the_next(folder, name, other).is_none(), "others could write");
        std::fs::remove_file(&path).unwrap();
    }
}
