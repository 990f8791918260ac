//! What to do where a repository has not what was asked for. Most often a clone of CI was cut short.

use git2::{Error, ErrorCode, Repository};

use crate::model::Fault;
use crate::suite::words::{advise, listed, near};

/// For shallow clones, as most CI makes them.
const DEEPEN: &str =
    "fetch the whole history: `fetch-depth: 0` of actions/checkout, or `git fetch --unshallow`";

/// A name that is no commit: a slip of the pen, or a history that ends too soon.
pub(super) fn no_revision(repository: &Repository, name: &str, error: &Error) -> Fault {
    let place = format!("revision `{name}`");
    if error.code() == ErrorCode::Ambiguous {
        return Fault::at(place, "more than one commit begins so", "write more digits of the commit");
    }
    if name.is_empty() {
        let next = "name a branch, a tag or a commit, or leave the word out for the default branch";
        return Fault::at("revision", "the word is empty", next);
    }
    let names = names(repository);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // Of `main~300` the branch may be there, only not so much of its history.
    let stem = name.split(['~', '^', '@', ':']).next().unwrap_or(name);
    let near = near(stem, &names);
    let is_there = stem != name && repository.revparse_single(stem).is_ok();
    match (is_there, repository.is_shallow(), near.as_slice()) {
        (_, true, _) => Fault::at(place, "not in this clone, which is shallow", DEEPEN),
        (true, ..) => Fault::at(
            place,
            "its history does not go back so far",
            "go back fewer steps, or name a commit".to_owned(),
        ),
        (_, _, []) => Fault::at(
            place,
            "no branch, tag or commit is called so",
            match names.as_slice() {
                [] => "fetch it first: `git fetch`".to_owned(),
                names => format!("fetch it first (`git fetch`), or use one of {}", listed(names)),
            },
        ),
        _ => Fault::at(place, "no branch, tag or commit is called so", advise(stem, &names)),
    }
}

pub(super) fn no_merge_base(repository: &Repository, name: &str, head: &str) -> Fault {
    let place = format!("merge base of `{name}`");
    match repository.is_shallow() {
        true => Fault::at(place, format!("not in this shallow clone, for {head}"), DEEPEN),
        false => Fault::at(
            place,
            format!("no history in common with {head}"),
            format!("compare with exactly that commit: `{name}..`"),
        ),
    }
}

pub(super) fn no_default_branch(repository: &Repository) -> Fault {
    let next = match names(repository).as_slice() {
        [] => "name the base: `gbench-ci compare BASE..`".to_owned(),
        names => format!("name the base, one of {}", listed(names)),
    };
    Fault::at("base", "no origin/HEAD, origin/main, origin/master, main or master is here", next)
}

/// Branches, remote branches and tags, as a user writes them.
fn names(repository: &Repository) -> Vec<String> {
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
