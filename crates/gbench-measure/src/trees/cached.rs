//! The cached work tree of one side, which is kept between comparisons, so that builds are incremental.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository, TreeWalkMode, TreeWalkResult};

use super::checkout::{self, TreeState};
use super::files;
use super::home;
use super::link::RootKind;
use super::revision::{self, Revision};
use crate::store::journal::create_ignored_dir;
use gbench_host::machine::git_facts;
use gbench_model::{Exit, Fault, GitFacts, KERNEL_CACHES, Probe, Result, Sandbox, Side};

/// A prepared tree. While it exists, no other gate can prepare the same one.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    origin: (PathBuf, Oid),
    cache: PathBuf,
    /// The user's checkout; a bare repository has none.
    checkout: Option<PathBuf>,
    /// As it was prepared: a build may leave files that git does not ignore.
    git: Probe<GitFacts>,
    _lock: TreeLock,
}

#[derive(Debug)]
struct TreeLock(File);

impl Drop for TreeLock {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread has just forked has the file open until its exec.
        let _ = self.0.unlock();
    }
}

impl Tree {
    /// Makes `folder/base` or `folder/head` contain exactly the files of a revision. `repository`: a folder in the user's
    /// repository. `folder`: for both trees of a store, `.gbench/trees`.
    ///
    /// The two names have the same length on purpose: the length of a path shifts a program's memory layout, which can be
    /// worth several percent (Mytkowicz et al., ASPLOS 2009). Files that git ignores, build folders above all, are left from
    /// the last time; other files that do not belong to the revision are removed.
    ///
    /// The user's checkout is only read. Errors: another gate uses the tree (exit code 5); its place is occupied; a submodule
    /// or a file in Git LFS is not in this clone; the disk.
    pub fn prepare(repository: &Path, revision: &Revision, folder: &Path, side: Side) -> Result<Self> {
        let name = side.into_str();
        Self::prepare_as(repository, revision, folder, name, &format!("the tree of the {name}"))
    }

    /// [`Tree::prepare`] for one of many commits that are measured in turn: `folder/c000` to `folder/c999`, names as long as
    /// those of the sides.
    pub fn prepare_slot(repository: &Path, revision: &Revision, folder: &Path, slot: usize) -> Result<Self> {
        let name = format!("c{:03}", slot % 1000);
        Self::prepare_as(repository, revision, folder, &name, &format!("the tree {name}"))
    }

    fn prepare_as(
        repository: &Path,
        revision: &Revision,
        folder: &Path,
        name: &str,
        words: &str,
    ) -> Result<Self> {
        let origin = revision::open(repository)?;
        let commit = Oid::from_str(&revision.commit).map_err(|error| {
            Fault::at(
                format!("revision `{}`", revision.commit),
                error.message(),
                "name a commit by its 40 digits",
            )
        })?;
        let fault = |error: io::Error| {
            let next = "choose a writable folder with `store` in [run]";
            Fault::of_io(folder, "the folder of the trees cannot be used", &error, next)
        };
        refuse_tracked(&origin, folder)?;
        let folder = made(folder).map_err(fault)?;
        let lock = lock(&folder, name, words)?;
        let root = folder.join(name);
        let state =
            if revision.is_working_tree { TreeState::AsItStands(commit) } else { TreeState::Commit(commit) };
        checkout::fill(&origin, state, &root, RootKind::Open, Path::new(""))?;
        let cache = folder.join(format!("{name}.cache"));
        home::make_folders(&cache, &KERNEL_CACHES).map_err(fault)?;
        let checkout = origin.workdir().map(Path::to_owned);
        let origin = (origin.path().to_owned(), commit);
        let git = git_facts(&root);
        Ok(Self { root, origin, cache, checkout, git, _lock: lock })
    }

    /// A tracked file or folder that has lost its read, enter or execute permission, or belongs to another user. No sandbox
    /// prevents code of the other side from doing that, and a program may be faster or slower if it cannot open its input.
    pub fn lost_rights(&self) -> Option<PathBuf> {
        let owner = std::fs::symlink_metadata(&self.root).ok()?.uid();
        let repository = revision::open(&self.origin.0).ok()?;
        let tracked = repository.find_commit(self.origin.1).and_then(|commit| commit.tree()).ok()?;
        let mut lost = None;
        let looked = tracked.walk(TreeWalkMode::PreOrder, |parent, entry| {
            let path = files::path_of(parent, entry);
            // A build may remove and replace files of its tree.
            let Ok(found) = std::fs::symlink_metadata(self.root.join(&path)) else {
                return TreeWalkResult::Skip;
            };
            let needed = match (entry.kind(), entry.filemode()) {
                (Some(ObjectType::Tree), _) if found.is_dir() => 0o500,
                (Some(ObjectType::Blob), 0o100_755) if found.is_file() => 0o500,
                (Some(ObjectType::Blob), _) if found.is_file() => 0o400,
                _ => return TreeWalkResult::Skip,
            };
            if found.mode() & needed == needed && found.uid() == owner {
                return TreeWalkResult::Ok;
            }
            lost = Some(self.root.join(path));
            TreeWalkResult::Abort
        });
        // An abort is an error, too.
        lost.filter(|_| looked.is_err())
    }

    /// Its own folders: for its files, and for its caches.
    pub fn own(&self) -> [PathBuf; 2] {
        [self.root.clone(), self.cache.clone()]
    }

    /// Removes both, as far as possible: the next gate makes them again.
    pub fn discard(&self) {
        self.own().iter().for_each(|folder| drop(files::remove_protected(folder)));
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The facts of its repository before anything was built or listed in it.
    pub fn git(&self) -> &Probe<GitFacts> {
        &self.git
    }

    pub fn checkout(&self) -> Option<&Path> {
        self.checkout.as_deref()
    }

    /// The path in this tree of a file or folder of the user's checkout, existing or not; a relative path starts at the root
    /// of the repository. `None`: it is outside of the repository.
    pub fn path_of(&self, path: &Path) -> Option<PathBuf> {
        let below = if path.is_absolute() {
            let checkout = self.checkout.as_deref()?;
            match path.strip_prefix(checkout) {
                Ok(below) if !goes_up(below) => below.to_owned(),
                // Reached through a link or by way of `..`: git knows its root without either.
                _ => {
                    let parent = path.parent()?.canonicalize().ok()?;
                    let real = parent.join(path.file_name().unwrap_or_default());
                    real.strip_prefix(checkout.canonicalize().ok()?).ok()?.to_owned()
                }
            }
        } else {
            path.to_owned()
        };
        (!goes_up(&below)).then(|| self.root.join(below))
    }
}

fn goes_up(path: &Path) -> bool {
    path.components().any(|part| matches!(part, std::path::Component::ParentDir))
}

/// The side's own folders for compiled kernels, kept like its files: otherwise the side that runs first compiles for the other
/// one.
///
/// These override inherited variables, and the suite file overrides these: a cache named there is meant to be used.
pub fn side_environment(tree: &Tree) -> Vec<(String, String)> {
    // If the path is not UTF-8, the variable is not set: a changed path would lead to a missing folder.
    let folder = |name: &str| tree.cache.join(name).to_str().map(str::to_owned);
    KERNEL_CACHES.into_iter().filter_map(|name| Some((name.to_owned(), folder(name)?))).collect()
}

/// The sandbox of a side's processes: its tree, its caches, and its own home, which is made or refreshed. Errors: the disk.
pub fn sandbox(tree: &Tree) -> Result<Sandbox> {
    let user = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    home::fill(&tree.cache, &user).map_err(|error| {
        let next = "choose a writable folder with `store` in [run]";
        Fault::of_io(&tree.cache, "the home of this side cannot be made", &error, next)
    })?;
    let writable = vec![tree.root.clone(), tree.cache.clone()];
    Ok(Sandbox {
        writable,
        env: home::variables(&tree.cache.join(home::NAME), &user),
        own_temp: true,
        kept: true,
        ..Sandbox::default()
    })
}

/// The author of a commit must neither write the gate's own files nor choose their place by a link: base would run with caches
/// that head provided.
fn refuse_tracked(checkout: &Repository, folder: &Path) -> Result<()> {
    let (Some(root), Ok(index)) = (checkout.workdir(), checkout.index()) else { return Ok(()) };
    let Ok(below) = folder.strip_prefix(root) else { return Ok(()) };
    let path = |entry: &git2::IndexEntry| PathBuf::from(OsStr::from_bytes(&entry.path));
    let is_ours = |path: &PathBuf| path.starts_with(below) || below.starts_with(path);
    let Some(tracked) = index.iter().map(|entry| path(&entry)).find(is_ours) else { return Ok(()) };
    let what = format!("git tracks {}, and gbench-ci keeps its own files there", tracked.display());
    let next =
        format!("take it out of the commit: `git rm -r --cached {}`, and remove it", tracked.display());
    Err(Fault::at_path(folder, what, next))
}

/// The folder of the trees, hidden from git even in the user's checkout; absolute, without links.
fn made(folder: &Path) -> io::Result<PathBuf> {
    // A store that does not exist yet is hidden completely, as its first baseline would do it.
    if let Some(store) = folder.parent().filter(|store| !store.as_os_str().is_empty()) {
        create_ignored_dir(store)?;
    }
    create_ignored_dir(folder)?;
    if !folder.join(".gitignore").exists() {
        std::fs::write(folder.join(".gitignore"), "*\n")?;
    }
    folder.canonicalize()
}

/// One for each tree. It is not waited for: the other gate may take an hour, and CI should know now.
fn lock(folder: &Path, name: &str, words: &str) -> Result<TreeLock> {
    let path = folder.join(format!("{name}.lock"));
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| {
        let what = format!("cannot be opened: {error}");
        Fault::at_path(&path, what, "choose a writable folder with `store` in [run]")
    })?;
    match file.try_lock() {
        Ok(()) => Ok(TreeLock(file)),
        // The command is correct: the machine is busy with the same.
        Err(TryLockError::WouldBlock) => Err(Fault::at_path(
            folder,
            format!("another comparison uses {words}"),
            "wait until it has ended, or give this one its own `store` in [run]",
        )
        .exits(Exit::Machine)),
        Err(TryLockError::Error(error)) => {
            let what = format!("cannot be locked: {error}");
            Err(Fault::at_path(&path, what, "choose a folder on a local disk with `store` in [run]"))
        }
    }
}
