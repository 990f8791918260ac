//! Resolves words to commits: the two states of a repository in a range, and their names in reports.

use std::path::Path;

use git2::{ErrorCode, Oid, Repository};

use super::advice;
use super::overlay;
use super::range::{Base, Range};
use gbench_host::machine;
use gbench_model::text::{count, short_commit};
use gbench_model::{Fault, Result};

/// One side: a commit, or the user's working tree on top of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// The commit, 40 hexadecimal digits; for a working tree, its HEAD.
    pub commit: String,
    /// For reports: `main (1a2b3c4d5e)`, `working tree at 1a2b3c4d5e, 3 files changed`.
    pub words: String,
    /// The name that led to the commit; absent for a working tree.
    pub name: Option<String>,
    /// The name is another commit, and this commit is its merge base with the head.
    pub is_merge_base: bool,
    pub is_working_tree: bool,
    /// Files of a working tree that differ from its commit, untracked ones included.
    pub changed: usize,
    /// SHA-256 over those files, their paths and their contents; absent if there are none, or if a submodule is among them.
    pub fingerprint: Option<String>,
}

impl Revision {
    fn of_commit(id: Oid, name: &str, words: String) -> Self {
        Self { commit: id.to_string(), words, name: Some(name.to_owned()), ..Self::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    pub base: Revision,
    pub head: Revision,
}

impl Sides {
    /// One state compared with itself (A/A), which shows the machine's noise. The head's words mention it.
    pub fn are_the_same(&self) -> bool {
        self.base.commit == self.head.commit && self.head.changed == 0
    }
}

/// Finds the two sides in the repository that contains `repository`. Reads only.
///
/// Errors: no repository, a name that is unknown or ambiguous, no common ancestor, no commit yet, a truncated history (shallow
/// clone), a working tree in a bare repository.
pub fn resolve(repository: &Path, range: &Range) -> Result<Sides> {
    let opened = open(repository)?;
    let head = match &range.head {
        Some(name) => named(&opened, name)?,
        None => working_tree(&opened, repository)?,
    };
    let base = match &range.base {
        Base::Exactly(name) => named(&opened, name)?,
        Base::Common(name) => common(&opened, name, &head)?,
        Base::Default => common(&opened, &default_branch(&opened)?, &head)?,
    };
    let mut sides = Sides { base, head };
    if sides.are_the_same() {
        sides.head.words.push_str(", same as base");
    }
    Ok(sides)
}

/// True if every name in `text` is a commit of the repository that contains `repository`. For command lines whose words may
/// also be baselines and files; false without a repository.
pub fn names_revision(repository: &Path, text: &str) -> bool {
    let Ok(opened) = machine::open_repository(repository) else { return false };
    let range = Range::parse(Some(text));
    range.names().all(|name| commit_of(&opened, name).is_ok())
}

pub(super) fn open(folder: &Path) -> Result<Repository> {
    machine::open_repository(folder).map_err(|error| match error.code() {
        ErrorCode::NotFound => Fault::at_path(
            folder,
            "no git repository holds this folder",
            "go into a clone, or compare two records: `gbench-ci compare base.json head.json`",
        ),
        _ => advice::cannot_open(folder, &error),
    })
}

#[derive(Debug)]
pub enum Unknown {
    NoRepository,
    /// The name cannot exist: there is no commit yet, the clone is shallow, it cannot be read; or the branch exists and its
    /// history is too short.
    Because(Fault),
    Names(Vec<String>),
}

/// Why `text` names no commit of the repository that contains `folder`; call it if [`names_revision`] is false.
pub fn why_unknown(folder: &Path, text: &str) -> Unknown {
    match machine::open_repository(folder) {
        Err(error) if error.code() == ErrorCode::NotFound => Unknown::NoRepository,
        Err(error) => Unknown::Because(advice::cannot_open(folder, &error)),
        Ok(repository) => match advice::obstacle(&repository, text) {
            Some(fault) => Unknown::Because(fault),
            None => Unknown::Names(advice::names(&repository)),
        },
    }
}

/// True if a folder is, or is in, a bare repository.
pub fn is_bare(folder: &Path) -> bool {
    machine::open_repository(folder).is_ok_and(|repository| repository.workdir().is_none())
}

fn commit_of(repository: &Repository, name: &str) -> std::result::Result<Oid, git2::Error> {
    Ok(repository.revparse_single(name)?.peel_to_commit()?.id())
}

pub(super) fn find(repository: &Repository, name: &str) -> Result<Oid> {
    let id = commit_of(repository, name).map_err(|error| advice::no_revision(repository, name, &error))?;
    let of = |kind: &str| commit_of(repository, &format!("refs/{kind}/{name}")).ok();
    match (of("tags"), of("heads")) {
        // git takes the tag with a warning, which is overlooked in CI.
        (Some(tag), Some(branch)) if tag != branch => Err(Fault::at(
            format!("revision `{name}`"),
            format!("is a tag ({}) and a branch ({})", short(tag), short(branch)),
            format!("write `tags/{name}` or `heads/{name}`"),
        )),
        _ => Ok(id),
    }
}

fn named(repository: &Repository, name: &str) -> Result<Revision> {
    let id = find(repository, name)?;
    let is_hash = id.to_string().starts_with(&name.to_lowercase());
    let shown = if is_hash { short(id) } else { format!("{name} ({})", short(id)) };
    Ok(Revision::of_commit(id, name, shown))
}

fn working_tree(repository: &Repository, folder: &Path) -> Result<Revision> {
    if repository.workdir().is_none() {
        return Err(Fault::at_path(
            folder,
            "a bare repository has no working tree to compare",
            "name both sides: `gbench-ci compare BASE..HEAD`",
        ));
    }
    let head =
        repository.head().and_then(|head| head.peel_to_commit()).map_err(|error| match error.code() {
            ErrorCode::UnbornBranch | ErrorCode::NotFound => Fault::at_path(
                folder,
                "has no commit yet: there is nothing to compare with",
                "commit something",
            ),
            _ => Fault::at_path(folder, format!("HEAD cannot be read: {}", error.message()), "mend HEAD"),
        })?;
    let changes = overlay::changes(repository).map_err(|error| {
        let what = format!("its changes cannot be read: {}", error.message());
        Fault::at_path(folder, what, "see whether `git status` works here")
    })?;
    let changed = changes.len();
    let root = repository.workdir().unwrap_or(folder);
    let fingerprint = (changed > 0).then(|| overlay::fingerprint(root, &changes)).flatten();
    let state = match changed {
        0 => "no changes".to_owned(),
        _ => format!("{} changed", count(changed, "file")),
    };
    let words = format!("working tree at {}, {state}", short(head.id()));
    let commit = head.id().to_string();
    Ok(Revision { commit, words, is_working_tree: true, changed, fingerprint, ..Revision::default() })
}

fn common(repository: &Repository, name: &str, head: &Revision) -> Result<Revision> {
    let (theirs, ours) = (find(repository, name)?, find(repository, &head.commit)?);
    let id = repository
        .merge_base(theirs, ours)
        .map_err(|_| advice::no_merge_base(repository, name, &head.words))?;
    let is_merge_base = id != theirs;
    let relation = if is_merge_base { "merge base with " } else { "" };
    let words = format!("{relation}{name} ({})", short(id));
    Ok(Revision { is_merge_base, ..Revision::of_commit(id, name, words) })
}

fn default_branch(repository: &Repository) -> Result<String> {
    const USUAL: [&str; 4] = ["origin/main", "origin/master", "main", "master"];
    let remote = repository.find_reference("refs/remotes/origin/HEAD").ok();
    let remote = remote.and_then(|head| head.symbolic_target().ok().flatten().map(str::to_owned));
    let remote = remote.and_then(|target| target.strip_prefix("refs/remotes/").map(str::to_owned));
    let mut names = remote.into_iter().chain(USUAL.map(str::to_owned));
    let place = |name: &String| {
        if name.starts_with("origin/") {
            format!("refs/remotes/{name}")
        } else {
            format!("refs/heads/{name}")
        }
    };
    names
        .find(|name| commit_of(repository, &place(name)).is_ok())
        .ok_or_else(|| advice::no_default_branch(repository))
}

fn short(id: Oid) -> String {
    short_commit(&id.to_string()).to_owned()
}
