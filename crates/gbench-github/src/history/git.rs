//! A history on a branch of the repository here, through its object database alone: no checkout, no index, no program.
//!
//! A writer reads the tip, makes the tree and the commit, and moves the branch on where it is still at that tip; else it begins
//! anew. Git's own lock of the branch (`refs/heads/BRANCH.lock`) is there for that last moment alone, in which no signal ends the
//! writer: it would leave the lock behind, and stop every later one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use git2::build::TreeUpdateBuilder;
use git2::{Error, ErrorCode, FileMode, ObjectType, Oid, Repository, Signature, Tree};

use nix::sys::signal::{SigSet, SigmaskHow};

use super::entry::MAX_BYTES;
use super::index::{self, Mark};
use super::layout;
use super::listed::{Appended, BesideFile, File, Listed, taken};
use super::pack::{PackedObjects, pack};
use gbench_model::{Exit, Fault, Result, RunId, backoff};

/// For another writer to finish; one needs milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// Before the second attempt at a branch that is locked.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);

pub(super) struct GitBranch {
    repository: Repository,
    branch: String,
}

/// Why a try at writing ended without a commit.
enum Stop {
    /// Another writer holds the lock.
    Locked,
    /// Another writer was faster.
    Overtaken,
    Fault(Fault),
    Git(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        match error.code() {
            ErrorCode::Locked => Self::Locked,
            ErrorCode::Modified | ErrorCode::Exists => Self::Overtaken,
            _ => Self::Git(error),
        }
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

    fn fault(&self, error: &Error) -> Fault {
        let what = format!("the repository cannot be read or written: {}", error.message());
        Fault::at(format!("git:{}", self.branch), what, "check it with `git fsck`, and who owns it")
            .exits(Exit::Unpublished)
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

    pub(super) fn is_there(&self) -> Result<bool> {
        self.tips().map(|tips| !tips.is_empty()).map_err(|error| self.fault(&error))
    }

    pub(super) fn pack(&self, dry_run: bool) -> Result<PackedObjects> {
        let tips = self.tips().map_err(|error| self.fault(&error))?;
        pack(&self.repository, &tips, dry_run).map_err(|error| {
            let objects = self.repository.commondir().join("objects");
            let next = "check it with `git fsck`, who owns it, and that the disk has space";
            Fault::of_io(objects, "the history cannot be packed", &error, next).exits(Exit::Machine)
        })
    }

    pub(super) fn need(&self) -> Result<()> {
        let address = format!("git:{}", self.branch);
        let tips = self.tips().map_err(|error| self.fault(&error))?;
        if tips.is_empty() {
            let next = format!(
                "fetch it: `git fetch origin {}`; where there is none yet, `gbench-ci publish --history {address}` \
                 makes it",
                self.branch
            );
            let what = "there is no such branch, neither here nor among those fetched from `origin`";
            return Err(Fault::at(address, what, next));
        }
        for tip in tips {
            let root = self.repository.find_commit(tip).and_then(|commit| commit.tree());
            let root = root.map_err(|error| self.fault(&error))?;
            let has_runs = self.tree_in(&root, layout::ROOT).map_err(|error| self.fault(&error))?.is_some();
            layout::is_of_a_history(has_runs, names_in(&root), &address)?;
        }
        Ok(())
    }

    /// Every file that is named like an entry, in no order.
    pub(super) fn list(&self) -> Result<Vec<Listed>> {
        let listed = || -> Result<Vec<Listed>, Error> {
            let mut all: Vec<Listed> = Vec::new();
            for tip in self.tips()? {
                let root = self.repository.find_commit(tip)?.tree()?;
                let Some(runs) = self.tree_in(&root, layout::ROOT)? else { continue };
                let marks = self.marks(&runs)?;
                for folder in folders(&runs) {
                    let Some(files) = self.tree_in(&runs, &folder)? else { continue };
                    all.extend(files.iter().filter(|item| item.kind() == Some(ObjectType::Blob)).filter_map(
                        |item| {
                            let name = item.name().ok()?;
                            let path = format!("{}/{folder}/{name}", layout::ROOT);
                            let run_id = layout::run_of(name)?;
                            let mark = marks.get(&run_id).filter(|(blob, _)| *blob == item.id());
                            let mark = mark.map(|(_, mark)| mark.clone());
                            Some(Listed { run_id, path, blob: item.id().to_string(), size: None, mark })
                        },
                    ));
                }
            }
            Ok(all)
        };
        listed().map_err(|error| self.fault(&error))
    }

    /// The entries of the index, each with the bytes that it stands for.
    fn marks(&self, runs: &Tree<'_>) -> Result<HashMap<RunId, (Oid, Mark)>, Error> {
        let mut marks = HashMap::new();
        let Some(index) = self.tree_in(runs, layout::INDEX)? else { return Ok(marks) };
        for folder in folders(&index) {
            let Some(names) = self.tree_in(&index, &folder)? else { continue };
            for item in &names {
                let path = format!("{}/{}/{folder}/", layout::ROOT, layout::INDEX);
                let mark = item.name().ok().and_then(|name| index::mark_of(&(path + name)));
                marks.extend(mark.map(|mark| (mark.run_id.clone(), (item.id(), mark))));
            }
        }
        Ok(marks)
    }

    /// The small files of a folder beside the runs, each of at most so many bytes.
    pub(super) fn beside(&self, folder: &str, most: usize) -> Result<Vec<BesideFile>> {
        let found = || -> Result<Vec<BesideFile>, Error> {
            let mut found: Vec<BesideFile> = Vec::new();
            for tip in self.tips()? {
                let root = self.repository.find_commit(tip)?.tree()?;
                let Some(runs) = self.tree_in(&root, layout::ROOT)? else { continue };
                let Some(files) = self.tree_in(&runs, folder)? else { continue };
                for item in files.iter().filter(|item| item.kind() == Some(ObjectType::Blob)) {
                    let (size, _) = self.repository.odb()?.read_header(item.id())?;
                    let Some(name) = item.name().ok().filter(|_| size <= most) else { continue };
                    let path = format!("{}/{folder}/{name}", layout::ROOT);
                    if !found.iter().any(|known| known.path == path) {
                        let bytes = self.repository.find_blob(item.id())?.content().to_vec();
                        found.push(BesideFile { path, bytes });
                    }
                }
            }
            Ok(found)
        };
        found().map_err(|error| self.fault(&error))
    }

    pub(super) fn read(&self, listed: &Listed, most: usize) -> Result<Vec<u8>, String> {
        let read = || {
            let id = Oid::from_str(&listed.blob)?;
            let (size, _) = self.repository.odb()?.read_header(id)?;
            if size > most {
                Ok(None)
            } else {
                self.repository.find_blob(id).map(|blob| Some(blob.content().to_vec()))
            }
        };
        let found = read().map_err(|error: Error| format!("it cannot be read: {}", error.message()))?;
        found.ok_or_else(|| format!("it is larger than {} MiB", most >> 20))
    }

    /// The folder of a tree; nothing if it is not there or no folder.
    fn tree_in(&self, tree: &Tree<'_>, name: &str) -> Result<Option<Tree<'_>>, Error> {
        match tree.get_name(name) {
            Some(item) if item.kind() == Some(ObjectType::Tree) => {
                self.repository.find_tree(item.id()).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Adds a file. `same`: whether what is there under its name already is the same run.
    pub(super) fn append(&self, file: &File<'_>, same: &dyn Fn(&[u8]) -> bool) -> Result<Appended> {
        let begun = Instant::now();
        let mut attempts = 0;
        loop {
            match self.try_append(file, same) {
                Ok(appended) => return Ok(appended),
                Err(Stop::Fault(fault)) => return Err(fault),
                Err(Stop::Git(error)) => return Err(self.fault(&error)),
                Err(Stop::Overtaken) => attempts = pause(attempts),
                Err(Stop::Locked) if begun.elapsed() < PATIENCE => attempts = pause(attempts),
                Err(Stop::Locked) => {
                    let lock = self.repository.commondir().join(format!("{}.lock", self.local()));
                    let what =
                        format!("the branch `{}` has been locked for {} s", self.branch, PATIENCE.as_secs());
                    let next =
                        "remove the file if no git and no gbench-ci is at work here, and publish again";
                    return Err(Fault::at_path(lock, what, next).exits(Exit::Unpublished));
                }
            }
        }
    }

    /// Moves the branch from `tip` to `commit`, or fails because somebody else has moved it. Without a tip, "there is no such
    /// branch" must be checked under the lock too: `Repository::reference` checks it before it takes the lock, and would
    /// replace a branch that another process makes in between.
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
        self.refuse_checked_out().map_err(Stop::Fault)?;
        self.refuse_namesakes()?;
        let tip = match repository.find_reference(&self.local()) {
            Ok(reference) if reference.target().is_none() => {
                let what = format!("`{}` only points to another reference", self.local());
                return Err(Stop::Fault(Fault::at(
                    format!("git:{}", self.branch),
                    what,
                    "name the branch itself",
                )));
            }
            Ok(reference) => Some(reference.peel_to_commit()?.id()),
            Err(error) if error.code() == ErrorCode::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        // What was fetched comes first: a branch that only lags behind catches up instead of growing apart.
        let fetched = self.commit_at(&format!("refs/remotes/origin/{}", self.branch))?;
        let parent = match (tip, fetched) {
            (Some(tip), Some(fetched)) if self.contains(fetched, tip) => Some(fetched),
            (tip, fetched) => tip.or(fetched),
        };
        // What came from elsewhere and is not in this branch yet must not stand here a second time either.
        if let Some(other) = fetched.filter(|other| Some(*other) != parent)
            && let Place::There(path) = self.place(&repository.find_commit(other)?.tree()?, file, same)?
        {
            return Ok(Appended { commit: other.to_string(), path, already: true });
        }
        let parent = parent.map(|id| repository.find_commit(id)).transpose()?;
        let root = parent.as_ref().map(git2::Commit::tree).transpose()?;
        let path = match (&root, &parent) {
            (Some(root), Some(parent)) => match self.place(root, file, same)? {
                Place::New(path) => path,
                Place::There(path) => {
                    return Ok(Appended { commit: parent.id().to_string(), path, already: true });
                }
            },
            _ => layout::place(file.month, None, file.run),
        };
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
        Ok(Appended { commit: commit.to_string(), path, already: false })
    }

    fn place(&self, root: &Tree<'_>, file: &File<'_>, same: &dyn Fn(&[u8]) -> bool) -> Result<Place, Stop> {
        let runs = self.tree_in(root, layout::ROOT)?;
        layout::is_of_a_history(runs.is_some(), names_in(root), &format!("git:{}", self.branch))
            .map_err(Stop::Fault)?;
        let Some(runs) = runs else { return Ok(Place::New(layout::place(file.month, None, file.run))) };
        let names = folders(&runs);
        let mut last = None;
        for folder in layout::folders_of(file.month, names.iter().map(String::as_str)) {
            let Some(files) = self.tree_in(&runs, folder)? else { continue };
            if let Some(found) = files.get_name(&layout::file_of(file.run)) {
                let path = format!("{}/{folder}/{}", layout::ROOT, layout::file_of(file.run));
                let listed = Listed {
                    run_id: RunId::clone(file.run),
                    path,
                    blob: found.id().to_string(),
                    size: None,
                    mark: None,
                };
                let there = self.read(&listed, MAX_BYTES).is_ok_and(|bytes| same(&bytes));
                return if there {
                    Ok(Place::There(listed.path))
                } else {
                    Err(Stop::Fault(taken(&format!("git:{}", self.branch), &listed.path)))
                };
            }
            last = Some((folder, files.len()));
        }
        Ok(Place::New(layout::place(file.month, last, file.run)))
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

    /// git cannot keep `a` beside `a/b`: one is a file where the other is a folder. Packed references hide that.
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
        let what = format!("the branch `{taken}` is there, and git keeps no branch of this name beside it");
        let next = "name another branch, for example gbench-history";
        Err(Stop::Fault(Fault::at(format!("git:{}", self.branch), what, next)))
    }
}

/// Waits for another writer. Gives the number of attempts so far.
fn pause(attempts: u32) -> u32 {
    std::thread::sleep(backoff::pause(SHORTEST_PAUSE, attempts));
    attempts.saturating_add(1)
}

enum Place {
    New(String),
    There(String),
}

fn names_in(tree: &Tree<'_>) -> impl Iterator<Item = String> {
    tree.iter().filter_map(|item| item.name().ok().map(str::to_owned))
}

/// The names of the folders in a tree that are a month's.
fn folders(runs: &Tree<'_>) -> Vec<String> {
    names_in(runs).filter(|name| layout::is_folder(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
