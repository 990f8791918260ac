//! Files in which a program leaves its results at a fixed path. Existing files are moved out of the way meanwhile, so that
//! whatever is found afterwards is the program's; then they are moved back, so that the user loses nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, open, openat2, renameat};
use nix::sys::stat::Mode;

pub(crate) type LeftFiles = BTreeMap<String, Result<Vec<u8>, String>>;

const MAX_BYTES: u64 = 256 << 20;

/// Files that were renamed within their folders, and get their names back on drop: the folder, and both names.
#[must_use]
pub(crate) struct PutAside(Vec<(File, OsString, OsString)>);

impl PutAside {
    /// Renames the files that exist. `confined`: sandboxed code can write to the folder, so no link on the way to a file is
    /// followed. Errors: a file cannot be renamed; the others are restored.
    pub(crate) fn new<'a>(
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
            // If that fails, the file keeps its other name.
            let _ = renameat(&parent, other.as_os_str(), &parent, name.as_os_str());
        }
    }
}

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

pub(crate) fn read<'a>(files: impl Iterator<Item = &'a str>, folder: &Path) -> LeftFiles {
    files.map(|file| (file.to_owned(), one(&folder.join(file)))).collect()
}

/// Reads one file. Errors in words: it is missing, not a regular file, or too large.
pub(crate) fn one(path: &Path) -> Result<Vec<u8>, String> {
    let words = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "the process did not write it".to_owned(),
        _ => error.to_string(),
    };
    let metadata = std::fs::symlink_metadata(path).map_err(words)?;
    if !metadata.is_file() {
        return Err("it is not a regular file".into());
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
        assert!(one(&path).unwrap_err().contains("not a regular file"));
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
        // A file that was moved away returns to its own folder, whatever has replaced that folder.
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
