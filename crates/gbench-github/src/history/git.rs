//! A history on a branch of the repository here, through its object database alone: no checkout, no index, no program.
//!
//! A writer reads the tip, makes the tree and the commit, and moves the branch on where it is still at that tip; else it
//! starts again. Git's own lock of the branch (`refs/heads/BRANCH.lock`) is there for that last moment alone, in which no
//! signal ends the writer: it would leave the lock behind, and stop every later one.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use git2::build::TreeUpdateBuilder;
use git2::{Error, ErrorCode, FileMode, ObjectType, Oid, Repository, Signature};

use nix::sys::signal::{SigSet, SigmaskHow};

use super::listed::{Appended, File};
use super::pack::{PackedObjects, pack};
use super::store::BranchStore;
use super::{index, layout};
use crate::api::address::Sha;
use crate::api::branch::{TreeItem, TreeKind};
use gbench_model::{Exit, Fault, Result, backoff};

/// For another writer to finish; one needs milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Before the second attempt at a branch that is locked.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);

pub(super) struct GitBranch {
    repository: Repository,
    branch: String,
}

/// Why the repository gave no answer, or a try at writing ended without a commit.
pub(super) enum Stop {
    Fault(Fault),
    Git(Error),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Git(error)
    }
}

impl GitBranch {
    /// `folder`: one in the repository. Errors: none holds it.
    pub(super) fn open(folder: &Path, branch: &str) -> Result<Self> {
        let repository = match Repository::discover(folder) {
            // Of another user, as in a container. Its files do not matter here, and without them it may be opened.
            Err(error) if error.code() == ErrorCode::Owner => {
                Repository::discover_path(folder, &[] as &[&Path]).and_then(Repository::open_bare)
            }
            other => other,
        };
        let repository = repository.map_err(|error| match error.code() {
            ErrorCode::NotFound => {
                let next = "go to the repository, or name one on GitHub: github:OWNER/REPO@BRANCH";
                Fault::at_path(
                    folder,
                    format!("no git repository holds it, and git:{branch} is a branch of one"),
                    next,
                )
            }
            _ => Fault::at_path(
                folder,
                format!("the repository cannot be opened: {}", error.message()),
                "check it with `git status`",
            ),
        })?;
        Ok(Self { repository, branch: branch.to_owned() })
    }

    fn local(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    fn commit_at(&self, name: &str) -> Result<Option<Oid>, Error> {
        match self.repository.find_reference(name) {
            Ok(reference) => Ok(Some(reference.peel_to_commit()?.id())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The commits that together are the history: that of the branch here and that of `origin` as last fetched. The
    /// newer one speaks for both where one contains the other; where they grew apart, each has runs that the other
    /// lacks.
    fn tips(&self) -> Result<Vec<Oid>, Error> {
        let local = self.commit_at(&self.local())?;
        let fetched = self.commit_at(&format!("refs/remotes/origin/{}", self.branch))?;
        Ok(match (local, fetched) {
            (Some(local), Some(fetched)) if local == fetched || self.contains(local, fetched) => vec![local],
            (Some(local), Some(fetched)) if self.contains(fetched, local) => vec![fetched],
            (local, fetched) => local.into_iter().chain(fetched).collect(),
        })
    }

    /// A shallow clone may not know: then they count as grown apart, and both are read.
    fn contains(&self, newer: Oid, older: Oid) -> bool {
        self.repository.graph_descendant_of(newer, older).unwrap_or(false)
    }

    pub(super) fn pack(&self, dry_run: bool) -> Result<PackedObjects> {
        let tips = self.tips().map_err(|error| self.fault(error.into()))?;
        pack(&self.repository, &tips, dry_run).map_err(|error| {
            let objects = self.repository.commondir().join("objects");
            let next = "check it with `git fsck`, who owns it, and that the disk has space";
            Fault::of_io(objects, "the history cannot be packed", &error, next).exits(Exit::Machine)
        })
    }

    /// Moves the branch from `tip` to `commit`, or fails because another process has moved it. Without a tip, "there is
    /// no such branch" must be checked under the lock too: `Repository::reference` checks it before it takes the lock,
    /// and would replace a branch that another process makes in between.
    fn move_on(&self, tip: Option<Oid>, commit: Oid, subject: &str) -> Result<(), Stop> {
        let held = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
        let expected = tip.unwrap_or(Oid::ZERO_SHA1);
        let moved = self.repository.reference_matching(&self.local(), commit, true, expected, subject);
        // Signals that arrived meanwhile take effect here.
        held.and_then(|before| before.thread_set_mask()).ok();
        moved.map(drop).map_err(Stop::from)
    }

    fn try_append(&self, file: &File<'_>, same: &dyn Fn(&[u8]) -> bool) -> Result<Appended, Stop> {
        let repository = &self.repository;
        self.refuse_checked_out()?;
        self.refuse_namesakes()?;
        let tip = match repository.find_reference(&self.local()) {
            Ok(reference) if reference.target().is_none() => {
                let what = format!("`{}` only points to another reference", self.local());
                return Err(Fault::at(self.address(), what, "name the branch itself").into());
            }
            Ok(reference) => Some(reference.peel_to_commit()?.id()),
            Err(error) if error.code() == ErrorCode::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        // The fetched tip comes first: a branch that only lags behind catches up instead of growing apart.
        let fetched = self.commit_at(&format!("refs/remotes/origin/{}", self.branch))?;
        let parent = match (tip, fetched) {
            (Some(tip), Some(fetched)) if self.contains(fetched, tip) => Some(fetched),
            (tip, fetched) => tip.or(fetched),
        };
        // A run that was fetched and is not in this branch yet must not be added a second time either.
        if let Some(other) = fetched.filter(|other| Some(*other) != parent)
            && let (path, true) = self.place(&repository.find_commit(other)?.tree_id().into(), file, same)?
        {
            return Ok(Appended { version: other.to_string(), path, already: true });
        }
        let parent = parent.map(|id| repository.find_commit(id)).transpose()?;
        let path = match &parent {
            None => layout::place(file.month, None, file.run),
            Some(parent) => match self.place(&parent.tree_id().into(), file, same)? {
                (path, false) => path,
                (path, true) => {
                    return Ok(Appended { version: parent.id().to_string(), path, already: true });
                }
            },
        };
        let root = parent.as_ref().map(git2::Commit::tree).transpose()?;
        let blob = repository.blob(file.bytes)?;
        let mut update = TreeUpdateBuilder::new();
        update.upsert(path.as_str(), blob, FileMode::Blob);
        update.upsert(index::place_of(&path, file.mark).as_str(), blob, FileMode::Blob);
        for beside in file.beside {
            let is_there = root.as_ref().is_some_and(|root| root.get_path(Path::new(&beside.path)).is_ok());
            if !is_there {
                update.upsert(beside.path.as_str(), repository.blob(&beside.bytes)?, FileMode::Blob);
            }
        }
        let baseline = match root {
            Some(root) => root,
            None => {
                update.upsert(
                    "README.md",
                    repository.blob(layout::readme(&self.branch).as_bytes())?,
                    FileMode::Blob,
                );
                repository.find_tree(repository.treebuilder(None)?.write()?)?
            }
        };
        let tree = repository.find_tree(update.create_updated(repository, &baseline)?)?;
        let author =
            repository.signature().or_else(|_| Signature::now("gbench-ci", "gbench-ci@localhost"))?;
        let parents: Vec<_> = parent.iter().collect();
        let commit = repository.commit(None, &author, &author, file.message, &tree, &parents)?;
        let subject = file.message.lines().next().unwrap_or_default();
        self.move_on(tip, commit, subject)?;
        Ok(Appended { version: commit.to_string(), path, already: false })
    }

    /// A user who has the branch checked out would find all its files changed.
    fn refuse_checked_out(&self) -> Result<()> {
        let common = self.repository.commondir();
        let linked = std::fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
        let is_bare =
            self.repository.config().and_then(|config| config.get_bool("core.bare")).unwrap_or(false);
        let mut folders: Vec<PathBuf> = linked.map(|entry| entry.path()).collect();
        folders.extend((!is_bare).then(|| common.to_owned()));
        let head = format!("ref: {}", self.local());
        let holder = folders.iter().find(|folder| {
            std::fs::read_to_string(folder.join("HEAD")).is_ok_and(|text| text.trim_end() == head)
        });
        let Some(holder) = holder else { return Ok(()) };
        let link = std::fs::read_to_string(holder.join("gitdir")).ok();
        let tree = link.as_deref().map_or(holder.as_path(), |link| Path::new(link.trim_end()));
        Err(Fault::at_path(
            tree.parent().unwrap_or(tree),
            format!(
                "the branch `{}` is checked out here, and adding to it would change it under your feet",
                self.branch
            ),
            "switch to another branch there: `git switch main`",
        )
        .exits(Exit::Unpublished))
    }

    /// git cannot keep both `a` and `a/b`: one is a file where the other is a folder. Packed references hide that.
    fn refuse_namesakes(&self) -> Result<(), Stop> {
        let above = self.branch.match_indices('/').map(|(at, _)| &self.branch[..at]);
        let mut taken = None;
        for name in above {
            if self.repository.find_reference(&format!("refs/heads/{name}")).is_ok() {
                taken = Some(name.to_owned());
            }
        }
        let mut below = self.repository.references_glob(&format!("{}/*", self.local()))?;
        if let Some(Ok(name)) = below.names().next() {
            taken = Some(name.trim_start_matches("refs/heads/").to_owned());
        }
        let Some(taken) = taken else { return Ok(()) };
        let what =
            format!("the branch `{taken}` is there, and git cannot have a branch of this name as well");
        let next = "name another branch, for example gbench-history";
        Err(Fault::at(self.address(), what, next).into())
    }
}

impl BranchStore for GitBranch {
    type Error = Stop;

    fn address(&self) -> String {
        format!("git:{}", self.branch)
    }

    fn missing(&self) -> Fault {
        let (address, branch) = (self.address(), &self.branch);
        let next = format!(
            "fetch it: `git fetch origin {branch}`; where there is none yet, `gbench-ci publish --history {address}` makes it"
        );
        let what = "there is no such branch, neither here nor among those fetched from `origin`";
        Fault::at(address, what, next)
    }

    fn roots(&self) -> Result<Vec<Sha>, Stop> {
        let root = |tip: Oid| Ok(self.repository.find_commit(tip)?.tree_id().into());
        self.tips()?.into_iter().map(root).collect()
    }

    fn folder(&self, id: &Sha) -> Result<Vec<TreeItem>, Stop> {
        let tree = self.repository.find_tree(Oid::from_str(id.as_str())?)?;
        let item = |entry: git2::TreeEntry<'_>| {
            let kind = match entry.kind() {
                Some(ObjectType::Blob) => TreeKind::File,
                Some(ObjectType::Tree) => TreeKind::Folder,
                _ => TreeKind::Other,
            };
            Some(TreeItem { path: entry.name().ok()?.to_owned(), id: entry.id().into(), kind, size: None })
        };
        Ok(tree.iter().filter_map(item).collect())
    }

    fn files(&self, root: &Sha) -> Result<Vec<TreeItem>, Stop> {
        let is_runs = |item: &TreeItem| item.kind == TreeKind::Folder && item.path == layout::ROOT;
        let runs = self.folder(root)?.into_iter().find(is_runs);
        let (mut open, mut files) = (VecDeque::from_iter(runs), Vec::new());
        while let Some(folder) = open.pop_front() {
            for item in self.folder(&folder.id)? {
                let item = TreeItem { path: format!("{}/{}", folder.path, item.path), ..item };
                match item.kind {
                    TreeKind::File => files.push(item),
                    TreeKind::Folder => open.push_back(item),
                    TreeKind::Other => {}
                }
            }
        }
        Ok(files)
    }

    fn blob(&self, id: &Sha, _: Option<u64>, most: usize) -> Result<Option<Vec<u8>>, Stop> {
        let id = Oid::from_str(id.as_str())?;
        let (size, _) = self.repository.odb()?.read_header(id)?;
        let blob = (size <= most).then(|| self.repository.find_blob(id)).transpose()?;
        Ok(blob.map(|blob| blob.content().to_vec()))
    }

    fn fault(&self, error: Stop) -> Fault {
        match error {
            Stop::Fault(fault) => fault,
            Stop::Git(error) => {
                let what = format!("the repository cannot be read or written: {}", error.message());
                Fault::at(self.address(), what, "check it with `git fsck`, and who owns it")
                    .exits(Exit::Unpublished)
            }
        }
    }

    fn unreadable(&self, error: Stop) -> Result<String> {
        match error {
            Stop::Fault(fault) => Err(fault),
            Stop::Git(error) => Ok(format!("it cannot be read: {}", error.message())),
        }
    }

    fn append(&self, file: &File<'_>, same: &dyn Fn(&[u8]) -> bool) -> Result<Appended> {
        let begun = Instant::now();
        let mut attempts = 0;
        loop {
            let error = match self.try_append(file, same) {
                Ok(appended) => return Ok(appended),
                Err(error) => error,
            };
            match &error {
                Stop::Git(git) if matches!(git.code(), ErrorCode::Modified | ErrorCode::Exists) => {}
                Stop::Git(git) if git.code() == ErrorCode::Locked && begun.elapsed() < PATIENCE => {}
                Stop::Git(git) if git.code() == ErrorCode::Locked => {
                    let lock = self.repository.commondir().join(format!("{}.lock", self.local()));
                    let what =
                        format!("the branch `{}` has been locked for {} s", self.branch, PATIENCE.as_secs());
                    let next =
                        "remove the file if no git and no gbench-ci is at work here, and publish again";
                    return Err(Fault::at_path(lock, what, next).exits(Exit::Unpublished));
                }
                _ => return Err(self.fault(error)),
            }
            std::thread::sleep(backoff::pause(SHORTEST_PAUSE, attempts));
            attempts = attempts.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::RunId;

    #[test]
    fn a12_a_writer_that_looks_at_what_is_there_holds_no_lock_that_its_end_would_leave() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init(folder.path()).unwrap();
        let branch = GitBranch::open(folder.path(), "history").unwrap();
        let lock = repository.path().join("refs/heads/history.lock");
        let run: RunId = "20261127T010203.000Z-c0ffee".parse().unwrap();
        let file =
            File { run: &run, month: "2026-11", bytes: b"1", message: "a run", mark: "m", beside: &[] };
        assert!(!branch.append(&file, &|_| unreachable!()).unwrap().already);
        let same = |bytes: &[u8]| {
            assert!(!lock.exists());
            bytes == b"1"
        };
        assert!(branch.append(&file, &same).unwrap().already);
        assert!(!lock.exists());
    }

    #[test]
    fn of_two_writers_that_make_the_branch_at_once_one_is_overtaken() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init(folder.path()).unwrap();
        let nobody = Signature::now("nobody", "nobody@example.invalid").unwrap();
        let tree = repository.treebuilder(None).unwrap().write().unwrap();
        let tree = repository.find_tree(tree).unwrap();
        let commits = ["one", "two"]
            .map(|subject| repository.commit(None, &nobody, &nobody, subject, &tree, &[]).unwrap());
        for number in 0..1000 {
            let branch = format!("history-{number}");
            let start = std::sync::Barrier::new(2);
            let made = std::thread::scope(|scope| {
                let write = |commit| {
                    let writer = GitBranch::open(folder.path(), &branch).unwrap();
                    start.wait();
                    writer.move_on(None, commit, "a run").is_ok()
                };
                let writers = commits.map(|commit| scope.spawn(move || write(commit)));
                writers.map(|writer| writer.join().unwrap())
            });
            assert_eq!(made.iter().filter(|made| **made).count(), 1, "{branch}");
        }
    }
}
