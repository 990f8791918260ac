//! Fills a work tree with the files of a commit, or of the user's checkout in its current state.
//!
//! libgit2 converts line ends (`core.autocrlf`, `text`, `eol`) and writes `$Id$` like git; [`lfs`] replaces its filter. No
//! other filter of the user's configuration runs (`filter.NAME.smudge`, as of git-crypt): such files stay as they are stored,
//! on both sides alike. Sparse checkouts are ignored: all files are written.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{ObjectType, Oid, Repository, Status, StatusOptions, TreeWalkMode, TreeWalkResult};

use super::advice;
use super::files;
use super::lfs;
use super::link::{RootKind, link};
use super::overlay::{self, Times};
use super::submodules;
use gbench_model::{Fault, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeState {
    Commit(Oid),
    /// The files of the checkout, whose HEAD is this commit.
    AsItStands(Oid),
}

impl TreeState {
    fn commit(self) -> Oid {
        match self {
            TreeState::Commit(id) | TreeState::AsItStands(id) => id,
        }
    }
}

/// Makes the work tree at `at` contain exactly `state`, plus files that git ignores: build folders stay.
///
/// `within`: the path of `at` in the tree of the outermost repository, for messages about submodules.
pub(super) fn fill(
    origin: &Repository,
    state: TreeState,
    at: &Path,
    root: RootKind,
    within: &Path,
) -> Result<()> {
    let fault = |error: git2::Error| advice::cannot_check_out(origin, state.commit(), at, &error);
    if let (TreeState::AsItStands(commit), Some(checkout)) = (state, origin.workdir()) {
        let head = origin.head().and_then(|head| head.peel_to_commit()).map_err(fault)?.id();
        if head != commit {
            let what = format!("is now at {head}, no longer at {commit}");
            return Err(Fault::at_path(
                checkout,
                what,
                "leave the checkout alone until it is copied; start again",
            ));
        }
    }
    let tree = link(origin, at, state.commit(), root)?;
    let checkout = origin.workdir().filter(|_| matches!(state, TreeState::AsItStands(_)));
    let changes = match checkout {
        Some(_) => overlay::changes(origin).map_err(fault)?,
        None => Vec::new(),
    };
    let times = checkout.map(|checkout| Times::new(at, checkout, &changes));
    let modules = match checkout {
        Some(_) => overlay::gitlinks(origin),
        None => gitlinks_of(&tree, state.commit()),
    };
    reset(&tree, state.commit(), &modules.map_err(fault)?).map_err(fault)?;
    if let (Some(checkout), Some(times)) = (checkout, times) {
        overlay::apply(checkout, at, &changes)?;
        times.restore();
    }
    lfs::fill(origin, &tree, within)?;
    let source = if checkout.is_some() { origin } else { &tree };
    for module in submodules::list(source, &tree).map_err(fault)? {
        module.fill(origin, checkout.is_some(), at, within)?;
    }
    Ok(())
}

fn gitlinks_of(repository: &Repository, commit: Oid) -> std::result::Result<HashSet<PathBuf>, git2::Error> {
    let tree = repository.find_commit(commit)?.tree()?;
    let mut found = HashSet::new();
    // Without this file there is no submodule to fill, so most repositories need no walk.
    if tree.get_name(".gitmodules").is_some() {
        tree.walk(TreeWalkMode::PreOrder, |parent, entry| {
            if entry.kind() == Some(ObjectType::Commit) {
                found.insert(files::path_of(parent, entry));
            }
            TreeWalkResult::Ok
        })?;
    }
    Ok(found)
}

/// Tracked files as in the commit, no untracked ones, ignored ones as they are. `modules`: folders of submodules, which are
/// filled later and keep the results of their builds.
fn reset(tree: &Repository, commit: Oid, modules: &HashSet<PathBuf>) -> std::result::Result<(), git2::Error> {
    if let (Some(root), Ok(before)) = (tree.workdir(), overlay::gitlinks(tree)) {
        for path in before.difference(modules) {
            // libgit2 would leave the files, and fail if something else takes their place.
            files::remove(&root.join(path)).map_err(|error| cannot_remove(path, &error))?;
        }
        if tree.index().is_ok_and(|index| !index.is_empty()) {
            // By the previous rules: files that were untracked then may be ignored by the new commit.
            clean(tree, &before.union(modules).cloned().collect())?;
        }
    }
    let target = tree.find_commit(commit)?;
    if let Some(root) = tree.workdir() {
        remove_planted(root, &target.tree()?)?;
    }
    let write = || {
        let mut how = CheckoutBuilder::new();
        how.force().recreate_missing(true);
        tree.checkout_tree(target.as_object(), Some(&mut how))
    };
    if write().is_err() {
        // A damaged index is the only problem here that a second attempt can fix.
        let _ = fs::remove_file(tree.path().join("index"));
        tree.index()?.read(true)?;
        write()?;
    }
    tree.set_head_detached(commit)?;
    clean(tree, modules)
}

/// Removes anything in the place of a tracked file or folder that is neither, such as a link planted by code of the side:
/// libgit2 would write through it.
fn remove_planted(root: &Path, target: &git2::Tree<'_>) -> std::result::Result<(), git2::Error> {
    const LINK: i32 = 0o120_000;
    let mut failed = None;
    target
        .walk(TreeWalkMode::PreOrder, |parent, entry| {
            let path = files::path_of(parent, entry);
            let at = root.join(&path);
            let Ok(found) = fs::symlink_metadata(&at) else { return TreeWalkResult::Skip };
            let kind = found.file_type();
            let is_planted = match entry.kind() {
                Some(ObjectType::Tree | ObjectType::Commit) => !kind.is_dir(),
                _ if kind.is_symlink() => entry.filemode() != LINK,
                _ => !kind.is_file() && !kind.is_dir(),
            };
            if is_planted && let Err(error) = files::remove(&at) {
                failed = Some(cannot_remove(&path, &error));
                return TreeWalkResult::Abort;
            }
            if is_planted { TreeWalkResult::Skip } else { TreeWalkResult::Ok }
        })
        .or_else(|error| failed.take().map_or(Err(error), Err))
}

fn clean(tree: &Repository, modules: &HashSet<PathBuf>) -> std::result::Result<(), git2::Error> {
    let Some(root) = tree.workdir() else { return Ok(()) };
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true);
    for entry in tree.statuses(Some(&mut options))?.iter() {
        let bytes = entry.path_bytes();
        // A repository within the tree is listed as a folder.
        let path = Path::new(OsStr::from_bytes(bytes.strip_suffix(b"/").unwrap_or(bytes)));
        if entry.status().contains(Status::WT_NEW) && !modules.contains(path) {
            let removed = files::remove_with_empty_parents(root, path);
            removed.map_err(|error| cannot_remove(path, &error))?;
        }
    }
    Ok(())
}

fn cannot_remove(path: &Path, error: &io::Error) -> git2::Error {
    git2::Error::from_str(&format!("{} cannot be removed: {error}", path.display()))
}
