//! Advice if a repository lacks the requested commit or file, most often because CI made an incomplete clone.

use std::path::Path;

use git2::{Config, Error, ErrorClass, ErrorCode, Oid, Repository};

use gbench_model::{Exit, Fault, near};
use gbench_suite::words::{advise, listed};

const DEEPEN: &str =
    "fetch the whole history: `fetch-depth: 0` of actions/checkout, or `git fetch --unshallow`";

const MIN_DIGITS: usize = 4;

/// A repository that libgit2 cannot open. Its configuration shows the reason (git's
/// Documentation/technical/repository-version).
pub(super) fn cannot_open(folder: &Path, error: &Error) -> Fault {
    let extensions = extensions_of(folder);
    let has = |name: &str, value: &str| extensions.iter().any(|known| known == &(name.into(), value.into()));
    if has("objectformat", "sha256") {
        return Fault::at_path(
            folder,
            "the repository names its commits by SHA-256, and gbench-ci reads SHA-1 alone",
            "check each side out by hand, measure each with `gbench-ci run`, and compare the records: `gbench-ci compare \
             base.json head.json`",
        );
    }
    if has("refstorage", "reftable") {
        return Fault::at_path(
            folder,
            "the repository keeps its branches in a reftable, and gbench-ci reads branches in files alone",
            "compare in a clone with files: `git clone --ref-format=files . ../CLONE`",
        );
    }
    let what = format!("the git repository cannot be opened: {}", error.message());
    match extensions.as_slice() {
        [] => Fault::at_path(folder, what, "see whether `git status` works here"),
        [..] => {
            let names: Vec<_> = extensions.iter().map(|(name, _)| format!("extensions.{name}")).collect();
            let next = format!("compare in a clone without {}: `git clone . ../CLONE`", listed(&names));
            Fault::at_path(folder, what, next)
        }
    }
}

/// The extensions of a repository, by name and value; empty if they cannot be read.
fn extensions_of(folder: &Path) -> Vec<(String, String)> {
    let read = || -> std::result::Result<Vec<(String, String)>, Error> {
        let own = Repository::discover_path(folder, &[] as &[&Path])?;
        // A linked work tree shares the configuration of its repository.
        let common = std::fs::read_to_string(own.join("commondir"));
        let common = common.map_or(own.clone(), |text| own.join(text.trim_end()));
        let config = Config::open(&common.join("config"))?;
        let mut found = Vec::new();
        config.entries(Some(r"^extensions\."))?.for_each(|entry| {
            if let (Ok(name), Ok(value)) = (entry.name(), entry.value()) {
                let name = name.strip_prefix("extensions.").unwrap_or(name);
                found.push((name.to_owned(), value.to_lowercase()));
            }
        })?;
        Ok(found)
    };
    read().unwrap_or_default()
}

pub(super) fn cannot_check_out(origin: &Repository, commit: Oid, at: &Path, error: &Error) -> Fault {
    if error.code() == ErrorCode::NotFound && error.class() == ErrorClass::Odb {
        let place = format!("revision `{commit}`");
        return if is_partial(origin) {
            Fault::at(
                place,
                "its files are not in this clone, which is partial",
                "fetch all of them: `git fetch --refetch --no-filter`, or clone without `--filter`",
            )
        } else {
            Fault::at(
                place,
                format!("its files are not all in this clone: {}", error.message()),
                "see what `git fsck` says, and clone again",
            )
        };
    }
    let what = format!("{commit} cannot be checked out here: {}", error.message());
    let fault = Fault::at_path(at, what, "give a writable folder with enough space");
    if is_full(at) { fault.exits(Exit::Machine) } else { fault }
}

/// True if a remote has promised the objects that this clone lacks (`git clone --filter`).
fn is_partial(repository: &Repository) -> bool {
    let Ok(config) = repository.config() else { return false };
    let has = |pattern: &str| config.entries(Some(pattern)).is_ok_and(|mut all| all.next().is_some());
    has(r"^remote\..*\.promisor$") || has(r"^extensions\.partialclone$")
}

/// True if the disk of a folder, existing or not, is full for this user. libgit2 does not report why it could not write.
fn is_full(folder: &Path) -> bool {
    let there = folder.ancestors().find(|folder| folder.exists());
    let stat = there.and_then(|folder| nix::sys::statvfs::statvfs(folder).ok());
    // A file system without a fixed number of files reports 0 of 0.
    stat.is_some_and(|stat| stat.blocks_available() == 0 || stat.files() > 0 && stat.files_available() == 0)
}

/// Why an unknown name cannot be a commit, whatever else exists.
pub(super) fn obstacle(repository: &Repository, name: &str) -> Option<Fault> {
    let place = format!("revision `{name}`");
    let stem = stem(name);
    // For `main~300`, the branch may exist with a shorter history.
    let is_there = stem != name && repository.revparse_single(stem).is_ok();
    let is_unborn = repository.head().is_err_and(|error| error.code() == ErrorCode::UnbornBranch);
    if is_unborn && names(repository).is_empty() {
        let what = "the repository has no commit yet: there is nothing to compare with";
        Some(Fault::at(place, what, "commit something, or measure what is there: `gbench-ci run`"))
    } else if repository.is_shallow() {
        Some(Fault::at(place, "not in this clone, which is shallow", DEEPEN))
    } else if is_there {
        Some(Fault::at(
            place,
            "its history does not go back so far",
            "go back fewer steps, or name a commit".to_owned(),
        ))
    } else {
        None
    }
}

fn stem(name: &str) -> &str {
    name.split(['~', '^', '@', ':']).next().unwrap_or(name)
}

pub(super) fn no_revision(repository: &Repository, name: &str, error: &Error) -> Fault {
    let place = format!("revision `{name}`");
    // For fewer digits, libgit2 reports this without looking.
    if error.code() == ErrorCode::Ambiguous && name.len() >= MIN_DIGITS {
        return Fault::at(
            place,
            "more than one commit begins with these digits",
            "write more digits of the commit",
        );
    }
    if name.is_empty() {
        let next = "name a branch, a tag or a commit, or leave the word out for the default branch";
        return Fault::at("revision", "the word is empty", next);
    }
    if let Some(fault) = obstacle(repository, name) {
        return fault;
    }
    let names = names(repository);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let next = match (near(stem(name), &names).as_slice(), names.as_slice()) {
        ([], []) => "fetch it first: `git fetch`".to_owned(),
        ([], names) => format!("fetch it first (`git fetch`), or use one of {}", listed(names)),
        _ => advise(stem(name), &names),
    };
    Fault::at(place, "no branch, tag or commit has this name", next)
}

pub(super) fn no_merge_base(repository: &Repository, name: &str, head: &str) -> Fault {
    let place = format!("merge base of `{name}`");
    if repository.is_shallow() {
        Fault::at(place, format!("not in this shallow clone, for {head}"), DEEPEN)
    } else {
        Fault::at(
            place,
            format!("no history in common with {head}"),
            format!("compare with exactly that commit: `{name}..`"),
        )
    }
}

pub(super) fn no_default_branch(repository: &Repository) -> Fault {
    let next = match names(repository).as_slice() {
        [] => "name the base: `gbench-ci compare BASE..`".to_owned(),
        names => format!("name the base, one of {}", listed(names)),
    };
    Fault::at("base", "no origin/HEAD, origin/main, origin/master, main or master is here", next)
}

pub(super) fn names(repository: &Repository) -> Vec<String> {
    let Ok(references) = repository.references() else { return Vec::new() };
    let short = |reference: git2::Reference<'_>| {
        let name = reference.name().ok()?;
        let kinds = ["refs/heads/", "refs/tags/", "refs/remotes/"];
        let name = kinds.iter().find_map(|kind| name.strip_prefix(kind))?;
        Some(name.to_owned())
    };
    let mut names: Vec<String> = references.flatten().filter_map(short).collect();
    names.sort();
    names
}
