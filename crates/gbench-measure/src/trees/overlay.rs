//! Applies the changes of the working tree on top of its commit: files listed by `git status` are copied or removed.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use git2::{IndexEntry, Repository, Status, StatusOptions};

use super::files;
use gbench_model::{Fault, Result, sha256_hex};

/// The mode of an index entry that names a commit of a submodule.
pub(super) const GITLINK: u32 = 0o160_000;

/// The flag of an index entry whose file a sparse checkout leaves out.
const SKIP_WORKTREE: u16 = 1 << 14;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct TreeChange {
    pub path: PathBuf,
    pub kind: ChangeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    There,
    Gone,
    /// A submodule with another commit or with its own changes.
    Submodule,
}

/// The differences between `HEAD` and the files, whatever the index contains. Ignored files are not changes, nor are nested
/// repositories that are not submodules: git does not look into them either. Files that a sparse checkout leaves out are not
/// gone.
pub(super) fn changes(repository: &Repository) -> std::result::Result<Vec<TreeChange>, git2::Error> {
    let submodules = gitlinks(repository)?;
    let left_out = paths(repository, |entry| entry.flags_extended & SKIP_WORKTREE != 0)?;
    let root = repository.workdir().unwrap_or_else(|| repository.path());
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true);
    let mut changes = Vec::new();
    for entry in repository.statuses(Some(&mut options))?.iter() {
        let (path, status) = (PathBuf::from(OsStr::from_bytes(entry.path_bytes())), entry.status());
        if entry.path_bytes().ends_with(b"/") || status.is_ignored() {
            continue;
        }
        let is_gone = status.contains(Status::WT_DELETED)
            || status.contains(Status::INDEX_DELETED) && !status.contains(Status::WT_NEW)
            || status.is_conflicted() && fs::symlink_metadata(root.join(&path)).is_err();
        if is_gone && left_out.contains(&path) {
            continue;
        }
        let kind = match (submodules.contains(&path), is_gone) {
            (true, _) => ChangeKind::Submodule,
            (_, true) => ChangeKind::Gone,
            _ => ChangeKind::There,
        };
        changes.push(TreeChange { path, kind });
    }
    Ok(changes)
}

/// A hash over all changes: two working trees on one commit with the same hash have the same files. `None` if a submodule is
/// changed, since its own changes are not examined.
pub(super) fn fingerprint(root: &Path, changes: &[TreeChange]) -> Option<String> {
    if changes.iter().any(|change| change.kind == ChangeKind::Submodule) {
        return None;
    }
    let mut sums = String::new();
    for change in changes {
        let path = root.join(&change.path);
        let content = match change.kind {
            ChangeKind::There if path.is_symlink() => {
                fs::read_link(&path).map(|to| to.as_os_str().as_bytes().to_vec())
            }
            ChangeKind::There => fs::read(&path),
            ChangeKind::Gone | ChangeKind::Submodule => Ok(Vec::new()),
        };
        // Unreadable files lead to an error when they are copied.
        let content = sha256_hex(&content.unwrap_or_default());
        let name = sha256_hex(change.path.as_os_str().as_bytes());
        let mode = fs::symlink_metadata(&path).map_or(0, |found| found.permissions().mode());
        sums += &format!("{content} {name} {mode:o} {:?}\n", change.kind);
    }
    Some(sha256_hex(sums.as_bytes()))
}

pub(super) fn gitlinks(repository: &Repository) -> std::result::Result<HashSet<PathBuf>, git2::Error> {
    paths(repository, |entry| entry.mode == GITLINK)
}

fn paths(
    repository: &Repository,
    which: impl Fn(&IndexEntry) -> bool,
) -> std::result::Result<HashSet<PathBuf>, git2::Error> {
    let index = repository.index()?;
    let entries = index.iter().filter(|entry| which(entry));
    Ok(entries.map(|entry| PathBuf::from(OsStr::from_bytes(&entry.path))).collect())
}

/// The modification times of a tree's files that already have their final content.
pub(super) struct Times(Vec<(PathBuf, SystemTime)>);

impl Times {
    /// Call this before the tree is reset to its commit.
    pub(super) fn new(tree: &Path, checkout: &Path, changes: &[TreeChange]) -> Self {
        let time = |change: &TreeChange| {
            let path = tree.join(&change.path);
            let is_same =
                change.kind == ChangeKind::There && files::are_equal(&path, &checkout.join(&change.path));
            let time =
                is_same.then(|| fs::metadata(&path).and_then(|found| found.modified()).ok()).flatten()?;
            Some((path, time))
        };
        Self(changes.iter().filter_map(time).collect())
    }

    /// Shows a build system that nothing is new since its last build. Without this, a build only takes longer.
    pub(super) fn restore(&self) {
        for (path, time) in &self.0 {
            // Opened for reading: the file may be write-protected, but its owner can still set its time.
            let _ = File::open(path).and_then(|file| file.set_modified(*time));
        }
    }
}

/// Makes the files of `tree`, which is at the commit, those of `checkout`. The user's index and objects are not written: files
/// are copied directly.
pub(super) fn apply(checkout: &Path, tree: &Path, changes: &[TreeChange]) -> Result<()> {
    let fault = |path: &Path, error: io::Error| {
        let next = "check that it can be read, and that the disk has space";
        Fault::of_io(tree.join(path), "cannot be copied from the working tree", &error, next)
    };
    // Removals come first: a file may have become a folder of the same name.
    for change in changes.iter().filter(|change| change.kind == ChangeKind::Gone) {
        files::remove_with_empty_parents(tree, &change.path).map_err(|error| fault(&change.path, error))?;
    }
    for change in changes.iter().filter(|change| change.kind == ChangeKind::There) {
        let copied = files::copy(&checkout.join(&change.path), tree, &change.path);
        copied.map_err(|error| fault(&change.path, error))?;
    }
    Ok(())
}
