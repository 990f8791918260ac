//! Git LFS without its program: replaces pointers by the content in the clone.
//!
//! A pointer (git-lfs, docs/spec.md) names its content by SHA-256 and size. The content is in `.git/lfs/objects/aa/bb/<oid>`,
//! where git-lfs also looks first. Nothing is downloaded.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{AttrCheckFlags, IndexEntry, IndexTime, Repository};

use super::files;
use gbench_model::{Fault, Result};

const FIRST_LINE: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// A pointer is smaller by its specification.
const LARGEST: u32 = 1024;

#[derive(Debug, PartialEq, Eq)]
struct Pointer {
    /// SHA-256, hexadecimal.
    oid: String,
    size: u64,
}

impl Pointer {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let rest = std::str::from_utf8(bytes.strip_prefix(FIRST_LINE)?).ok()?;
        let value = |key: &str| rest.lines().find_map(|line| line.strip_prefix(key));
        let oid = value("oid sha256:")?;
        let is_hash = oid.len() == 64 && oid.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(Self { oid: oid.to_owned(), size: value("size ")?.parse().ok()? }).filter(|_| is_hash)
    }

    fn object(&self, storage: &Path) -> PathBuf {
        storage.join("objects").join(&self.oid[..2]).join(&self.oid[2..4]).join(&self.oid)
    }
}

/// Replaces the pointers among files under `filter=lfs` that were just checked out.
///
/// Errors: a content is not in this clone, or cannot be written.
pub(super) fn fill(origin: &Repository, tree: &Repository, within: &Path) -> Result<()> {
    let Some(root) = tree.workdir() else { return Ok(()) };
    let unreadable = |error: git2::Error| {
        Fault::at_path(
            root,
            format!("its index cannot be used: {}", error.message()),
            "free some space, try again",
        )
    };
    let mut index = tree.index().map_err(unreadable)?;
    // By the index only: content from the last time has its own size there.
    let small = index.iter().filter(|entry| (FIRST_LINE.len() as u32..LARGEST).contains(&entry.file_size));
    let pointers: Vec<(IndexEntry, Pointer)> =
        small.filter_map(|entry| pointer_of(tree, root, &entry).map(|pointer| (entry, pointer))).collect();
    if pointers.is_empty() || is_switched_off(origin) {
        return Ok(());
    }
    let storage = storage(origin);
    let is_there = |pointer: &Pointer| {
        fs::metadata(pointer.object(&storage))
            .is_ok_and(|found| found.is_file() && found.len() == pointer.size)
    };
    let missing: Vec<_> = pointers.iter().filter(|(_, pointer)| !is_there(pointer)).collect();
    if let Some((entry, _)) = missing.first() {
        let others = match missing.len() - 1 {
            0 => String::new(),
            1 => ", like that of 1 other".to_owned(),
            more => format!(", like that of {more} others"),
        };
        let commit = tree.head().and_then(|head| head.peel_to_commit()).map(|head| head.id().to_string());
        return Err(Fault::at(
            format!("file `{}`", within.join(path_of(entry)).display()),
            format!("is kept in Git LFS, and its content is not in this clone{others}"),
            format!("run `git lfs fetch origin {}`", commit.unwrap_or_default()),
        ));
    }
    for (entry, pointer) in &pointers {
        let path = root.join(path_of(entry));
        put(&pointer.object(&storage), &path, entry.mode).map_err(|error| {
            let next = "free some space, and check that the folder can be written";
            Fault::of_io(&path, "its Git LFS content cannot be written", &error, next)
        })?;
    }
    // git assumes that a file as old as the index may have changed since.
    std::thread::sleep(Duration::from_millis(20));
    for (entry, _) in pointers {
        let found = fs::metadata(root.join(path_of(&entry)));
        if let Ok(found) = found {
            index.add(&seen(entry, &found)).map_err(unreadable)?;
        }
    }
    index.write().map_err(unreadable)
}

fn path_of(entry: &IndexEntry) -> &Path {
    Path::new(OsStr::from_bytes(&entry.path))
}

/// The pointer on disk; `None` if the working tree has other content there.
fn pointer_of(tree: &Repository, root: &Path, entry: &IndexEntry) -> Option<Pointer> {
    let path = root.join(path_of(entry));
    let is_small =
        fs::symlink_metadata(&path).is_ok_and(|found| found.is_file() && found.len() < LARGEST.into());
    let bytes = is_small.then(|| fs::read(&path).ok()).flatten()?;
    let pointer = Pointer::parse(&bytes)?;
    let filter = tree.get_attr_bytes(path_of(entry), "filter", AttrCheckFlags::FILE_THEN_INDEX).ok()?;
    (filter == Some(b"lfs")).then_some(pointer)
}

/// `git lfs install --skip-smudge`: the user works with pointers.
fn is_switched_off(origin: &Repository) -> bool {
    let smudge = origin.config().and_then(|config| config.get_string("filter.lfs.smudge"));
    smudge.is_ok_and(|command| command.split_whitespace().any(|word| word == "--skip"))
}

fn storage(origin: &Repository) -> PathBuf {
    let given = origin.config().and_then(|config| config.get_path("lfs.storage"));
    origin.commondir().join(given.unwrap_or("lfs".into()))
}

fn put(object: &Path, path: &Path, mode: u32) -> io::Result<()> {
    files::remove(path)?;
    fs::copy(object, path)?;
    fs::set_permissions(path, Permissions::from_mode(if mode & 0o100 == 0 { 0o644 } else { 0o755 }))
}

/// The entry with the metadata of its new file, so that the next checkout keeps the file and git does not show it as changed.
/// git does the same after its filter.
fn seen(entry: IndexEntry, found: &fs::Metadata) -> IndexEntry {
    // The index stores the lower half of longer values, like git.
    let time = |seconds: i64, nanoseconds: i64| IndexTime::new(seconds as i32, nanoseconds as u32);
    IndexEntry {
        ctime: time(found.ctime(), found.ctime_nsec()),
        mtime: time(found.mtime(), found.mtime_nsec()),
        dev: found.dev() as u32,
        ino: found.ino() as u32,
        uid: found.uid(),
        gid: found.gid(),
        file_size: found.len() as u32,
        ..entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_read_and_anything_else_is_a_file_like_others() {
        let oid = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
        let text = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12345\n");
        let pointer = Pointer::parse(text.as_bytes()).unwrap();
        assert_eq!(pointer, Pointer { oid: oid.into(), size: 12345 });
        let object = pointer.object(Path::new("/r/.git/lfs"));
        assert_eq!(object, Path::new("/r/.git/lfs/objects/4d/7a").join(oid));
        for other in [
            "",
            "version 2\n",
            &text.replace("sha256", "sha1"),
            &text.replace("4d7a", "../."),
            &text.replace("size 12345", "size many"),
        ] {
            assert_eq!(Pointer::parse(other.as_bytes()), None, "{other}");
        }
    }
}
