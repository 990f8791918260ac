//! Folders for what lives as long as a process of the gate: FIFOs, empty caches.
//!
//! ```text
//! $TMPDIR/gbench-ci-run-XXXXXX/
//!   owner     locked (flock) as long as the owner lives, however it ends
//!   ...       what the owner puts there
//! ```
//!
//! A gate that is killed with SIGKILL removes nothing. The next one does: a folder whose `owner` can be locked has no
//! owner any more. A lock tells that for certain where a process id does not: ids are used again, and a container that shares
//! the folder has its own.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use nix::fcntl::OFlag;
use tempfile::TempDir;

/// The beginning of the names of our folders.
const PREFIX: &str = "gbench-ci-run-";
const OWNER: &str = "owner";
/// How often a folder is made anew because another gate took it for a dead one's, between its making and its lock.
const TRIES: usize = 10;
/// From this age on an empty folder without an owner has no owner any more: the gate that made it was killed before the next step.
const OLD: Duration = Duration::from_secs(3600);

/// A folder of ours; removed when dropped, or by the next gate where this one is killed.
#[derive(Debug)]
pub(super) struct Temporary {
    folder: TempDir,
    /// Held after the folder is gone. Absent where the file system knows no locks: no gate takes such a folder away.
    _owner: Option<File>,
}

impl Temporary {
    /// Makes an empty folder, private to this user. Errors: the folder for temporary files cannot be written.
    pub(super) fn make() -> io::Result<Self> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(place: &Path) -> io::Result<Self> {
        let private = fs::Permissions::from_mode(0o700);
        for _ in 0..TRIES {
            let folder =
                tempfile::Builder::new().prefix(PREFIX).permissions(private.clone()).tempdir_in(place)?;
            let path = folder.path().join(OWNER);
            let owner = File::options().create_new(true).write(true).open(&path);
            let owner = match owner {
                Ok(owner) => owner,
                // Taken away already.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            match owner.try_lock() {
                // The gate that held the lock for a moment has removed the file: its name leads nowhere.
                Ok(()) if owner.metadata()?.nlink() > 0 => return Ok(Self { folder, _owner: Some(owner) }),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(_)) => return Ok(Self { folder, _owner: None }),
            }
        }
        Err(io::Error::other("every folder that is made there is taken away at once"))
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Not in any order: a gate that is killed half-way through must leave what the next one knows again.
        empty(self.folder.path());
    }
}

/// Removes everything in a folder but the owner's file. True if nothing else is left.
fn empty(folder: &Path) -> bool {
    let others = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all_gone = true;
    for other in others.filter(|entry| entry.file_name() != OWNER) {
        let is_folder = other.file_type().is_ok_and(|kind| kind.is_dir());
        let path = other.path();
        let gone = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        all_gone &= gone.is_ok();
    }
    all_gone
}

/// Removes the folders that gates of this user have left behind; never those of one that lives. What cannot be removed
/// stays for the next time.
pub(super) fn remove_abandoned() {
    remove_abandoned_in(&std::env::temp_dir());
}

fn remove_abandoned_in(place: &Path) {
    let me = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        // Of the entry itself: a link leads to what is not ours.
        let found =
            fs::symlink_metadata(&path).ok().filter(|found| ours && found.is_dir() && found.uid() == me);
        if let Some(found) = found {
            let age = found.modified().ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
            remove_if_abandoned(&path, age);
        }
    }
}

fn remove_if_abandoned(folder: &Path, age: Duration) {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    match File::options().read(true).custom_flags(flags).open(folder.join(OWNER)) {
        Ok(owner) => {
            let is_dead = owner.try_lock().is_ok();
            // The owner's file goes last: if anything else cannot be removed now, it can be the next time.
            if is_dead && empty(folder) {
                let _ = fs::remove_dir_all(folder);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && age > OLD => {
            // Only an empty one goes by this.
            let _ = fs::remove_dir(folder);
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

    /// A folder as a killed gate leaves it.
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
        // Neither ours by name, nor ours by what lies in it, nor a folder at all.
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
        remove_if_abandoned(&empty, Duration::from_secs(60));
        assert!(empty.exists());
        remove_if_abandoned(&empty, OLD * 2);
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
}
