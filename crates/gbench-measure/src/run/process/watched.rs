//! Detects whether a process has changed files of the other side.
//!
//! Without Landlock, the inode, size, mode and change time of every file are compared before and after a process. Only the
//! kernel sets the change time, so that even a file that is written and restored is detected. With Landlock, which does not
//! cover modes, times and flags, the change times are checked once, at the end.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use gbench_model::RunTimes;

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    mode: u32,
    changed: (i64, i64),
}

pub(super) struct Watched {
    folders: Vec<PathBuf>,
    before: BTreeMap<PathBuf, Stamp>,
}

impl Watched {
    /// Records everything below the folders. Links are not followed.
    pub(crate) fn begin(folders: &[PathBuf]) -> Self {
        Self { folders: folders.to_vec(), before: stamps(folders) }
    }

    pub(crate) fn changed(&self) -> Option<PathBuf> {
        let after = stamps(&self.folders);
        let all = self.before.keys().chain(after.keys());
        all.filter(|path| self.before.get(*path) != after.get(*path)).min().cloned()
    }
}

/// The first file, by name, that was last changed while processes of a time ran. A change within the first tick of the
/// kernel's clock, some milliseconds, may have the time before it.
pub fn changed_during(folders: &[PathBuf], times: &RunTimes) -> Option<PathBuf> {
    let changed = |(_, stamp): &(PathBuf, Stamp)| {
        let (seconds, nanoseconds) = stamp.changed;
        let since = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?);
        Some(times.hold(SystemTime::UNIX_EPOCH + since))
    };
    let mut all = stamps(folders).into_iter();
    all.find(|it| changed(it).unwrap_or(false)).map(|(path, _)| path)
}

fn stamps(folders: &[PathBuf]) -> BTreeMap<PathBuf, Stamp> {
    let mut stamps = BTreeMap::new();
    let mut left = folders.to_vec();
    while let Some(path) = left.pop() {
        // A file that is gone meanwhile has no stamp.
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.is_dir() {
            left.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
        let stamp = Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            mode: metadata.mode(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        };
        stamps.insert(path, stamp);
    }
    stamps
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_change_below_shows_and_reading_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("built/deep/kernel");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "1").unwrap();
        let watched = || Watched::begin(&[folder.path().join("built")]);
        let changed = |change: &dyn Fn(&Path)| {
            let watched = watched();
            // Stamps within one tick of the clock are equal.
            std::thread::sleep(std::time::Duration::from_millis(20));
            change(&file);
            watched.changed()
        };
        assert_eq!(changed(&|file| drop(std::fs::read(file).unwrap())), None);
        let found = Some(file.clone());
        assert_eq!(changed(&|file| std::fs::write(file, "2").unwrap()), found);
        let all = std::fs::Permissions::from_mode(0o777);
        assert_eq!(changed(&|file| std::fs::set_permissions(file, all.clone()).unwrap()), found);
        let put_back = |file: &Path| {
            let time = std::fs::metadata(file).unwrap().modified().unwrap();
            std::fs::write(file, "2").unwrap();
            std::fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
        };
        assert_eq!(changed(&put_back), found);
        assert!(changed(&|file| std::fs::write(file.with_file_name("new"), "").unwrap()).is_some());
        assert!(changed(&|file| std::fs::remove_file(file).unwrap()).is_some());
        assert_eq!(watched().changed(), None);
    }
}
