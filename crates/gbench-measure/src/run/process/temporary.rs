//! Folders for what lives as long as a process of the gate: FIFOs, empty caches.
//!
//! ```text
//! $TMPDIR/gbench-ci-run-XXXXXX/
//!   owner     locked (flock) as long as the owner lives, however it ends
//!   ...       what the owner puts there
//! ```
//!
//! A gate that is killed with SIGKILL removes nothing. The next one does: if a folder's `owner` can be locked, its owner is
//! gone. A process id would not be as certain: ids are reused, and a container that shares the folder has its own.
//!
//! The measured program knows the path of its folder and can replace it by a link or another folder. Everything here therefore
//! works below a descriptor that is open since the creation, and nothing is removed if the path leads elsewhere.

use std::ffi::CString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::executor::{Execution, StopReason};
use crate::store::remove::{FOLDER, MAX_DEPTH, empty, open_folder, remove_below};

const PREFIX: &str = "gbench-ci-run-";
const OWNER: &str = "owner";
/// Attempts to make a folder, because another gate may take it for abandoned between its creation and its lock.
const TRIES: usize = 10;
/// An empty folder older than this, without an owner file, is abandoned: its gate was killed before the next step.
const OLD: Duration = Duration::from_secs(3600);

/// A temporary folder; removed when dropped, or by the next gate if this one is killed.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    /// The folder itself, whatever its path leads to by now.
    folder: File,
    /// Kept until the folder is gone. `None` if the file system has no locks; no gate removes such a folder.
    _owner: Option<File>,
}

impl Temporary {
    /// Makes an empty folder, private to this user. Errors: the folder for temporary files cannot be written.
    pub(crate) fn make() -> io::Result<Self> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(place: &Path) -> io::Result<Self> {
        let private = fs::Permissions::from_mode(0o700);
        for _ in 0..TRIES {
            let builder =
                tempfile::Builder::new().prefix(PREFIX).permissions(private.clone()).tempdir_in(place)?;
            // Dropping it would remove whatever its path leads to.
            let path = builder.keep();
            let made = open_folder(&path).and_then(|folder| Ok((new_owner(&folder)?, folder)));
            let (owner, folder) = match made {
                Ok(made) => made,
                // Already removed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let _ = fs::remove_dir(&path);
                    return Err(error);
                }
            };
            match owner.try_lock() {
                // The gate that briefly had the lock has removed the file: its name leads nowhere.
                Ok(()) if owner.metadata()?.nlink() > 0 => {
                    return Ok(Self { path, folder, _owner: Some(owner) });
                }
                // That gate removes the folder, too.
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(_)) => return Ok(Self { path, folder, _owner: None }),
            }
        }
        Err(io::Error::other("every folder that is made there is taken away at once"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn folder(&self) -> &File {
        &self.folder
    }

    /// True if a folder in a subfolder exists, is private to its owner, and is empty.
    pub(super) fn is_empty_inner(&self, outer: &str, name: &str) -> bool {
        let open =
            |folder: &File, name: &str| openat(folder, name, FOLDER, Mode::empty()).map(File::from).ok();
        let Some(inner) = open(&self.folder, outer).and_then(|outer| open(&outer, name)) else {
            return false;
        };
        let is_private = inner.metadata().is_ok_and(|found| found.mode() & 0o7777 == 0o700);
        let entries = Dir::openat(inner.as_fd(), ".", FOLDER, Mode::empty());
        is_private && entries.is_ok_and(|mut entries| entries.iter().take(3).count() == 2)
    }

    /// Makes an empty folder in a subfolder, and removes an earlier one as far as possible. Errors: the disk.
    pub(super) fn empty_inner(&self, outer: &str, name: &str, before: &str) -> io::Result<PathBuf> {
        match nix::sys::stat::mkdirat(&self.folder, outer, Mode::S_IRWXU) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let folder = File::from(openat(&self.folder, outer, FOLDER, Mode::empty())?);
        if let Ok(before) = CString::new(before) {
            remove_below(&folder, before, MAX_DEPTH);
        }
        // A process may have created this name already: remove it.
        match nix::sys::stat::mkdirat(&folder, name, Mode::S_IRWXU) {
            Err(Errno::EEXIST) => {
                empty(&folder, None, MAX_DEPTH);
                nix::sys::stat::mkdirat(&folder, name, Mode::S_IRWXU)?;
            }
            other => other?,
        }
        Ok(self.path.join(outer).join(name))
    }

    pub(super) fn is_in_place(&self) -> bool {
        let (Ok(named), Ok(ours)) = (fs::symlink_metadata(&self.path), self.folder.metadata()) else {
            return false;
        };
        (named.dev(), named.ino()) == (ours.dev(), ours.ino())
    }

    /// Turns the execution into a failed one if the folder is not in its place afterwards.
    pub(crate) fn guarded(&self, call: impl FnOnce() -> Execution) -> Execution {
        let mut execution = call();
        if !self.is_in_place() {
            execution.stopped.get_or_insert(StopReason::FolderReplaced);
        }
        execution
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.is_in_place() {
            remove(&self.folder, &self.path);
        }
    }
}

fn new_owner(folder: &File) -> io::Result<File> {
    let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(folder, OWNER, flags, Mode::from_bits_truncate(0o666))?.into())
}

/// Removes a temporary folder with its contents. If something cannot be removed, the owner's file stays, too, so that the next
/// gate recognises the folder.
fn remove(folder: &File, path: &Path) {
    // Ordered: a gate that is killed half-way through must leave a recognisable folder.
    if empty(folder, Some(OWNER), MAX_DEPTH) {
        // A benchmark may have removed it already.
        let _ = unlinkat(folder, OWNER, UnlinkatFlags::NoRemoveDir);
        // Follows no link, and leaves a folder that is not empty.
        let _ = fs::remove_dir(path);
    }
}

/// Removes abandoned folders of this user's gates; never those of a living gate. If something cannot be removed, it stays
/// until the next time.
pub(super) fn remove_abandoned() {
    remove_abandoned_in(&std::env::temp_dir());
}

fn remove_abandoned_in(place: &Path) {
    let me = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            continue;
        }
        // A link leads to foreign files, and is not opened.
        let path = entry.path();
        let Ok(folder) = open_folder(&path) else { continue };
        let Ok(found) = folder.metadata() else { continue };
        if found.uid() == me {
            let age = found.modified().ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
            remove_if_abandoned(&folder, &path, age);
        }
    }
}

fn remove_if_abandoned(folder: &File, path: &Path, age: Duration) {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    match openat(folder, OWNER, flags, Mode::empty()).map(File::from) {
        Ok(owner) if owner.try_lock().is_ok() => remove(folder, path),
        Err(Errno::ENOENT) if age > OLD => {
            // This only removes an empty folder.
            let _ = fs::remove_dir(path);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(place: &Path) -> Vec<String> {
        let entries = fs::read_dir(place).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    fn left_behind(place: &Path) -> std::path::PathBuf {
        let path = place.join(format!("{PREFIX}dead"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join(OWNER), "").unwrap();
        fs::create_dir_all(path.join("cold/CUDA_CACHE_PATH")).unwrap();
        fs::write(path.join("cold/CUDA_CACHE_PATH/kernel"), "x").unwrap();
        path
    }

    #[test]
    fn n25_only_folders_whose_owner_is_dead_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let alive = Temporary::make_in(place.path()).unwrap();
        fs::write(alive.path().join("events0"), "").unwrap();
        let dead = left_behind(place.path());
        // Neither ours by name, nor ours by contents, nor a folder at all.
        let others = ["gbench-ci-demo-1", "gbench-ci-run-strange", "else"];
        for name in others {
            fs::create_dir(place.path().join(name)).unwrap();
            fs::write(place.path().join(name).join("keep"), "").unwrap();
        }
        let elsewhere = tempfile::tempdir().unwrap();
        let target = left_behind(elsewhere.path());
        std::os::unix::fs::symlink(&target, place.path().join("gbench-ci-run-link")).unwrap();

        remove_abandoned_in(place.path());
        assert!(!dead.exists());
        assert!(alive.path().join("events0").exists());
        assert!(target.join("cold/CUDA_CACHE_PATH/kernel").exists(), "nothing behind a link is touched");
        assert_eq!(names(place.path()).len(), 1 + others.len() + 1, "{:?}", names(place.path()));
        drop(alive);
        remove_abandoned_in(place.path());
        assert_eq!(names(place.path()).len(), others.len() + 1);
    }

    #[test]
    fn n25_a_folder_whose_maker_was_killed_before_it_had_an_owner_goes_once_it_is_old() {
        let place = tempfile::tempdir().unwrap();
        let empty = place.path().join("gbench-ci-run-empty");
        fs::create_dir(&empty).unwrap();
        let folder = open_folder(&empty).unwrap();
        remove_if_abandoned(&folder, &empty, Duration::from_secs(60));
        assert!(empty.exists());
        remove_if_abandoned(&folder, &empty, OLD * 2);
        assert!(!empty.exists());
    }

    #[test]
    fn n25_gates_that_start_and_clear_at_once_take_nothing_from_each_other() {
        let place = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        remove_abandoned_in(place.path());
                        let made = Temporary::make_in(place.path()).unwrap();
                        fs::write(made.path().join("file"), "x").unwrap();
                        remove_abandoned_in(place.path());
                        assert!(made.path().join("file").exists());
                    }
                });
            }
        });
        assert_eq!(names(place.path()), [""; 0]);
    }

    /// Hostile replacements of our folder: a link to a victim, a victim itself, a link inside of ours.
    #[test]
    fn what_a_benchmark_puts_in_place_of_the_folder_is_not_touched() {
        let place = tempfile::tempdir().unwrap();
        let victim = |name: &str| {
            let victim = place.path().join(name);
            fs::create_dir_all(victim.join("sub")).unwrap();
            fs::write(victim.join("sub/keep"), "x").unwrap();
            fs::write(victim.join(OWNER), "").unwrap();
            victim
        };
        let is_whole = |victim: &Path| victim.join("sub/keep").exists() && victim.join(OWNER).exists();

        let (linked, ours) = (victim("linked"), Temporary::make_in(place.path()).unwrap());
        fs::remove_dir_all(ours.path()).unwrap();
        std::os::unix::fs::symlink(&linked, ours.path()).unwrap();
        assert!(!ours.is_in_place());
        let path = ours.path().to_owned();
        drop(ours);
        remove_abandoned_in(place.path());
        assert!(is_whole(&linked) && path.is_symlink());
        fs::remove_file(path).unwrap();

        let (moved, ours) = (victim("moved"), Temporary::make_in(place.path()).unwrap());
        fs::rename(ours.path(), place.path().join("away")).unwrap();
        fs::rename(&moved, ours.path()).unwrap();
        assert!(!ours.is_in_place());
        let path = ours.path().to_owned();
        drop(ours);
        assert!(is_whole(&path));
        fs::remove_dir_all(path).unwrap();

        let ours = Temporary::make_in(place.path()).unwrap();
        fs::remove_file(ours.path().join(OWNER)).unwrap();
        let path = ours.path().to_owned();
        drop(ours);
        assert!(!path.exists(), "a folder without its owner's file is left");

        let (inside, ours) = (victim("inside"), Temporary::make_in(place.path()).unwrap());
        fs::create_dir(ours.path().join("deep")).unwrap();
        std::os::unix::fs::symlink(&inside, ours.path().join("deep/link")).unwrap();
        std::os::unix::fs::symlink(&inside, ours.path().join("link")).unwrap();
        assert!(ours.is_in_place());
        let path = ours.path().to_owned();
        drop(ours);
        assert!(is_whole(&inside) && !path.exists());
    }
}
