//! Files in which a program leaves its results, at a path of its own. What is there before a process is put aside meanwhile, so that what is
//! there behind it is its own; then it is put back, and nothing of the user's is lost.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, open, openat2, renameat};
use nix::sys::stat::Mode;

/// What stands in each file, or why it cannot be used.
pub(super) type LeftFiles = BTreeMap<String, Result<Vec<u8>, String>>;

/// Bytes of a file that are read at most.
const MAX_BYTES: u64 = 256 << 20;

/// Files that are put aside under other names beside them, and put back when this is dropped: the folder, and both names.
#[must_use]
pub(super) struct PutAside(Vec<(File, OsString, OsString)>);

impl PutAside {
    /// Puts those of the files aside that are there. `confined`: code in a sandbox can write to the folder, and no link on the way to a file
    /// is followed. Errors: one cannot be; the others are put back.
    pub(super) fn new<'a>(
        files: impl Iterator<Item = &'a str>,
        folder: &Path,
        confined: bool,
    ) -> Result<Self, String> {
        let mut aside = Self(Vec::new());
        for file in files {
            let path = folder.join(file);
            let fault =
                |cause: String| format!("the file {file} that is there already cannot be put aside: {cause}");
            match std::fs::symlink_metadata(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(fault(error.to_string())),
                Ok(metadata) if metadata.is_dir() => return Err(fault("it is a folder".into())),
                Ok(_) => {}
            }
            let name = path.file_name().unwrap_or_default().to_owned();
            let mut other = OsString::from(".");
            other.push(&name);
            other.push(format!(".gbench-ci-{:08x}", rand::random::<u32>()));
            let put = parent(&path, confined).and_then(|parent| {
                renameat(&parent, name.as_os_str(), &parent, other.as_os_str())?;
                Ok(parent)
            });
            let parent = put.map_err(|error| {
                fault(match error {
                    Errno::ELOOP => "a folder on the way to it is a link".into(),
                    error => std::io::Error::from(error).to_string(),
                })
            })?;
            aside.0.push((parent, name, other));
        }
        Ok(aside)
    }
}

impl Drop for PutAside {
    fn drop(&mut self) {
        for (parent, name, other) in self.0.drain(..) {
            // Where that fails, it stays there under its other name.
            let _ = renameat(&parent, other.as_os_str(), &parent, name.as_os_str());
        }
    }
}

/// The folder that a file lies in.
fn parent(path: &Path, confined: bool) -> nix::Result<File> {
    let folder = path.parent().ok_or(Errno::ENOENT)?;
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    match confined.then(|| openat2(AT_FDCWD, folder, how)) {
        // Before Linux 5.6, and under filters that do not know the call.
        None | Some(Err(Errno::ENOSYS | Errno::EPERM)) => open(folder, flags, Mode::empty()),
        Some(opened) => opened,
    }
    .map(File::from)
}

/// Reads files by their paths from a folder.
pub(super) fn read<'a>(files: impl Iterator<Item = &'a str>, folder: &Path) -> LeftFiles {
    files.map(|file| (file.to_owned(), one(&folder.join(file)))).collect()
}

/// One file. Errors in words: it is not there, is none, or is too large.
pub(super) fn one(path: &Path) -> Result<Vec<u8>, String> {
    let words = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "the process did not write it".to_owned(),
        _ => error.to_string(),
    };
    let metadata = std::fs::symlink_metadata(path).map_err(words)?;
    if !metadata.is_file() {
        return Err("it is no regular file".into());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(words)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(words)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it has more than the {} MiB that are read", MAX_BYTES >> 20));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_where_the_process_wrote_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        assert_eq!(one(&path).unwrap_err(), "the process did not write it");
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(one(&path).unwrap(), b"{}");
        let aside = PutAside::new(["r.json", "other"].into_iter(), folder.path(), false).unwrap();
        assert!(one(&path).is_err());
        std::fs::write(&path, "[]").unwrap();
        drop(aside);
        assert_eq!(one(&path).unwrap(), b"{}", "what was there is there again");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        assert!(one(&path).unwrap_err().contains("no regular file"));
        std::fs::create_dir(folder.path().join("d")).unwrap();
        let refused = PutAside::new(["r.json", "d"].into_iter(), folder.path(), false).err().unwrap();
        assert!(refused.contains("it is a folder") && path.is_symlink(), "{refused}");
    }

    #[test]
    fn of_code_in_a_sandbox_no_link_on_the_way_to_a_file_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let (victim, folder) = (place.path().join("victim"), place.path().join("tree"));
        std::fs::create_dir(&victim).unwrap();
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(victim.join("config"), "whole").unwrap();
        std::os::unix::fs::symlink(&victim, folder.join("x")).unwrap();
        let refused = PutAside::new(["x/config"].into_iter(), &folder, true).err().unwrap();
        assert!(refused.contains("is a link"), "{refused}");
        assert!(victim.join("config").exists());
        // A file that was put aside comes back into its own folder, whatever stands for it by then.
        let own = folder.join("y");
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("config"), "own").unwrap();
        let aside = PutAside::new(["y/config"].into_iter(), &folder, true).unwrap();
        std::fs::rename(&own, folder.join("moved")).unwrap();
        std::os::unix::fs::symlink(&victim, &own).unwrap();
        drop(aside);
        assert_eq!(std::fs::read_to_string(victim.join("config")).unwrap(), "whole");
        assert_eq!(std::fs::read_to_string(folder.join("moved/config")).unwrap(), "own");
    }
}
