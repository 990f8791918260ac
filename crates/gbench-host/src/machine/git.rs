//! The state of the measured repository; no other file asks git about it.
//!
//! In container jobs the work tree usually belongs to another user: the runner checks out as one user, the container
//! runs as root. libgit2 then refuses to open it, because the owner's configuration could make it run something.
//! Reading facts runs nothing: libgit2 has no hooks, external filters or file-system monitor. Such a tree is therefore
//! opened by its git folder, which libgit2 does not check. Switching the check off would affect the whole process, and
//! would be `unsafe` while other threads open repositories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git2::{ErrorCode, ObjectType, Repository, Status, StatusOptions};

use gbench_model::{DirtyFacts, GitFacts, Probe};

/// The facts of the repository that contains `folder`. Having no repository is not an error.
pub fn git(folder: &Path) -> Probe<GitFacts> {
    let repository = match open_repository(folder) {
        Ok(repository) => repository,
        Err(error) if error.code() == ErrorCode::NotFound => {
            return Probe::Absent(format!("no git repository holds {}", folder.display()));
        }
        Err(error) => return Probe::Failed(format!("the repository cannot be opened: {}", error.message())),
    };
    match facts(&repository) {
        Ok(facts) => Probe::Known(facts),
        Err(error) => Probe::Failed(format!("the repository cannot be read: {}", error.message())),
    }
}

/// The repository that contains a folder, even if it belongs to another user.
pub fn open_repository(folder: &Path) -> Result<Repository, git2::Error> {
    match Repository::discover(folder) {
        Err(error) if error.code() == ErrorCode::Owner => {
            let git_folder = Repository::discover_path(folder, &[] as &[&Path])?;
            let repository = Repository::open_bare(&git_folder)?;
            if let Some(tree) = work_tree(&repository, &git_folder) {
                repository.set_workdir(&tree, false)?;
            }
            Ok(repository)
        }
        other => other,
    }
}

/// Returns a test whether git ignores an absolute path. Outside of a repository nothing is ignored.
pub fn ignored_by_git(folder: &Path) -> impl Fn(&Path) -> bool {
    let repository = open_repository(folder).ok();
    let tree = repository.as_ref().and_then(|it| it.workdir()?.canonicalize().ok());
    move |path| {
        let (Some(repository), Some(tree)) = (&repository, &tree) else { return false };
        path.strip_prefix(tree).is_ok_and(|path| repository.is_path_ignored(path).unwrap_or(false))
    }
}

/// The work tree of a git folder: linked work trees and submodules record it, an ordinary checkout is the parent of
/// `.git`, a bare repository has none.
fn work_tree(repository: &Repository, git_folder: &Path) -> Option<PathBuf> {
    if let Ok(link) = std::fs::read_to_string(git_folder.join("gitdir")) {
        return Path::new(link.trim()).parent().map(Path::to_owned);
    }
    if let Ok(tree) = repository.config().and_then(|config| config.get_path("core.worktree")) {
        return Some(git_folder.join(tree));
    }
    git_folder
        .file_name()
        .filter(|name| *name == ".git")
        .and_then(|_| git_folder.parent())
        .map(Path::to_owned)
}

fn facts(repository: &Repository) -> Result<GitFacts, git2::Error> {
    let head = match repository.head() {
        Ok(head) => Some(head.peel_to_commit()?),
        Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => None,
        Err(error) => return Err(error),
    };
    Ok(GitFacts {
        commit: head.as_ref().map(|commit| commit.id().to_string()),
        commit_time: head.as_ref().and_then(|commit| utc(commit.time().seconds())),
        branch: branch(repository),
        detached: repository.head_detached()?,
        shallow: repository.is_shallow(),
        worktree: is_linked(repository),
        dirty: dirty(repository)?,
        merge_parents: match &head {
            Some(commit) => merge_parents(repository, commit.id())?,
            None => vec![],
        },
        submodules: submodules(repository)?,
    })
}

/// `None` before 1970 and after 9999, which `humantime` cannot write.
fn utc(seconds: i64) -> Option<String> {
    const END_OF_9999: u64 = 253_402_300_799;
    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds <= END_OF_9999)?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

fn branch(repository: &Repository) -> Option<String> {
    let head = repository.find_reference("HEAD").ok()?;
    let target = head.symbolic_target().ok().flatten()?;
    Some(target.strip_prefix("refs/heads/").unwrap_or(target).to_owned())
}

/// Compares folders, because `is_worktree` is false for a repository that was opened by its git folder.
fn is_linked(repository: &Repository) -> bool {
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    canonical(repository.path()) != canonical(repository.commondir())
}

/// A file that is staged and then edited is in both counts.
fn dirty(repository: &Repository) -> Result<DirtyFacts, git2::Error> {
    let mut counts = DirtyFacts::default();
    if repository.workdir().is_none() {
        return Ok(counts);
    }
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true);
    for entry in repository.statuses(Some(&mut options))?.iter() {
        let status = entry.status();
        let tracked = Status::WT_MODIFIED
            | Status::WT_DELETED
            | Status::WT_TYPECHANGE
            | Status::WT_RENAMED
            | Status::WT_UNREADABLE
            | Status::CONFLICTED;
        let staged = Status::INDEX_NEW
            | Status::INDEX_MODIFIED
            | Status::INDEX_DELETED
            | Status::INDEX_RENAMED
            | Status::INDEX_TYPECHANGE;
        counts.tracked += u32::from(status.intersects(tracked));
        counts.staged += u32::from(status.intersects(staged));
        counts.untracked += u32::from(status.intersects(Status::WT_NEW));
    }
    Ok(counts)
}

/// The parents that the commit object names. In a shallow clone of a pull request's merge, libgit2's history has no
/// parents, but the object still names them.
fn merge_parents(repository: &Repository, commit: git2::Oid) -> Result<Vec<String>, git2::Error> {
    let database = repository.odb()?;
    let object = database.read(commit)?;
    if object.kind() != ObjectType::Commit {
        return Ok(vec![]);
    }
    let parents: Vec<String> = String::from_utf8_lossy(object.data())
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("parent "))
        .map(str::to_owned)
        .collect();
    Ok(if parents.len() > 1 { parents } else { vec![] })
}

fn submodules(repository: &Repository) -> Result<BTreeMap<String, String>, git2::Error> {
    if repository.workdir().is_none() {
        return Ok(BTreeMap::new());
    }
    let checked_out = |module: &git2::Submodule<'_>| {
        // Prefers the submodule's own HEAD: the cached id dates from libgit2's last look.
        let opened = module.open().and_then(|inner| inner.head()?.peel_to_commit().map(|commit| commit.id()));
        opened.ok().or_else(|| module.workdir_id()).map_or_else(String::new, |id| id.to_string())
    };
    Ok(repository
        .submodules()?
        .iter()
        .map(|module| (module.path().display().to_string(), checked_out(module)))
        .collect())
}
