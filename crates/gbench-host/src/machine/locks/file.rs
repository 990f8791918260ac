//! One lock file, opened with distrust and locked without waiting.
//!
//! Other users can write to the folder. A link, a non-file, or a file with a second name could redirect writes to our
//! own files, and is refused. Existing files are opened without `O_CREAT`, which the kernel refuses for another user's
//! file in a sticky folder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

/// How often the file may vanish between two looks.
const TRIES: usize = 8;

/// Does not follow links, and does not wait for the other end of a FIFO.
const DISTRUST: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK);

#[derive(Debug)]
pub(super) struct LockFile {
    file: File,
    /// The file contains our text.
    written: bool,
}

impl LockFile {
    /// Locks a file, exclusively or shared. `None`: others hold the lock. Errors: why the file cannot be a lock.
    pub(super) fn try_take(path: &Path, shared: bool) -> Result<Option<Self>, String> {
        for _ in 0..TRIES {
            let Some(file) = open(path)? else { continue };
            match if shared { file.try_lock_shared() } else { file.try_lock() } {
                Ok(()) if is_at(&file, path) => {
                    return Ok(Some(Self { file, written: false }));
                }
                // The file was removed before it was locked: the next gate would lock a different one.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(said(path, &error)),
            }
        }
        Err(format!("{} is removed again and again", path.display()))
    }

    /// Writes the holder's text. Another user's file may not be writable; it still works as a lock.
    pub(super) fn write(&mut self, text: &str) {
        let written = self.file.write_all_at(text.as_bytes(), 0);
        self.written = written.and_then(|()| self.file.set_len(text.len() as u64)).is_ok();
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if self.written {
            let _ = self.file.set_len(0);
        }
        // A process that is being started briefly has a copy of the descriptor, which would keep the lock.
        let _ = self.file.unlock();
    }
}

/// True if a gate has the file locked exclusively. Errors: as for [`LockFile::try_take`].
pub(super) fn is_held(path: &Path) -> Result<bool, String> {
    match existing(path) {
        Ok(None) => Ok(false),
        Ok(Some(file)) => match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(said(path, &error)),
        },
        Err(why) => Err(why),
    }
}

/// The first `limit` bytes of a lock file; empty if it cannot be read.
pub(super) fn text_of(path: &Path, limit: usize) -> Vec<u8> {
    let mut bytes = vec![0; limit];
    let read = existing(path).ok().flatten().and_then(|file| file.read_at(&mut bytes, 0).ok());
    bytes.truncate(read.unwrap_or(0));
    bytes
}

/// Opens a lock file, creating it if necessary. `None`: another gate created it meanwhile.
fn open(path: &Path) -> Result<Option<File>, String> {
    if let Some(file) = existing(path)? {
        return Ok(Some(file));
    }
    let made = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o666)
        .custom_flags(DISTRUST.bits())
        .open(path);
    match made {
        Ok(file) => {
            // Regardless of the mask: gates of every user write their holder text here.
            let _ = file.set_permissions(fs::Permissions::from_mode(0o666));
            Ok(Some(file))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(said(path, &error)),
    }
}

fn existing(path: &Path) -> Result<Option<File>, String> {
    let with =
        |write: bool| OpenOptions::new().read(true).write(write).custom_flags(DISTRUST.bits()).open(path);
    let opened = match with(true) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => with(false),
        opened => opened,
    };
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(said(path, &error)),
    };
    let found = file.metadata().map_err(|error| said(path, &error))?;
    match (found.is_file(), found.nlink()) {
        (false, _) => Err(format!("{} is no file", path.display())),
        (true, 0) => Ok(None),
        (true, 1) => Ok(Some(file)),
        (true, _) => Err(format!("{} has a second name besides this one", path.display())),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let (here, there) = (file.metadata(), fs::symlink_metadata(path));
    here.is_ok_and(|here| there.is_ok_and(|there| (here.dev(), here.ino()) == (there.dev(), there.ino())))
}

fn said(path: &Path, error: &io::Error) -> String {
    let place = path.display();
    match error.raw_os_error() {
        Some(nix::libc::ELOOP) => format!("{place} is a link, which is not followed"),
        _ => format!("{place}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_a_second_name_and_what_is_no_file_are_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("mine"), "precious").unwrap();
        std::os::unix::fs::symlink(at("mine"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("nowhere"), at("dangling")).unwrap();
        fs::hard_link(at("mine"), at("twin")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        for (name, why) in [
            ("link", "is a link, which is not followed"),
            ("dangling", "is a link, which is not followed"),
            ("twin", "has a second name besides this one"),
            ("folder", "directory"),
            ("fifo", "is no file"),
        ] {
            let said = LockFile::try_take(&at(name), false).unwrap_err();
            assert!(said.contains(why), "{name}: {said}");
            assert!(text_of(&at(name), 9).is_empty());
        }
        assert_eq!(fs::read_to_string(at("mine")).unwrap(), "precious");
        assert!(!at("nowhere").exists());
    }

    #[test]
    fn one_holder_keeps_out_all_and_sharers_keep_out_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert_eq!(is_held(&path), Ok(false));
        let take = |shared| LockFile::try_take(&path, shared).unwrap();
        let mut alone = take(false).unwrap();
        alone.write("me");
        assert!(take(false).is_none() && take(true).is_none() && is_held(&path).unwrap());
        assert_eq!(text_of(&path, 99), b"me");
        drop(alone);
        assert!(text_of(&path, 99).is_empty(), "the text goes with the lock");
        let (_one, _other) = (take(true).unwrap(), take(true).unwrap());
        assert!(take(false).is_none() && !is_held(&path).unwrap());
    }

    #[test]
    fn a_lock_whose_file_was_removed_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = LockFile::try_take(&path, false).unwrap().unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&first.file, &path));
        let second = LockFile::try_take(&path, false).unwrap().unwrap();
        assert!(is_at(&second.file, &path));
    }
}
