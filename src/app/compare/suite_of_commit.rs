//! The suite file as a commit has it, without a work tree.

use std::path::{Path, PathBuf};

use git2::Repository;

use crate::suite::{Benchmark, Suite};

/// The path of a file from the root of its repository. Links below the root are not followed: a change could lead them to
/// another file. `None`: it is not below the root.
pub(crate) fn path_in(repository: &Repository, file: &Path) -> Option<PathBuf> {
    let root = repository.workdir()?.canonicalize().ok()?;
    let file = std::path::absolute(file).ok()?;
    let is_root = |folder: &&Path| folder.canonicalize().is_ok_and(|folder| folder == root);
    let outermost = file.ancestors().skip(1).filter(is_root).last()?;
    Some(file.strip_prefix(outermost).ok()?.to_owned())
}

/// `commit`: in full. `file`: from the root. `None`: the commit has no such file, or it is not a suite file.
pub(crate) fn suite_of_commit(
    repository: &Repository,
    commit: &str,
    file: &Path,
    builtins: &[Benchmark],
) -> Option<Suite> {
    let tree = repository.find_commit(git2::Oid::from_str(commit).ok()?).ok()?.tree().ok()?;
    let blob = tree.get_path(file).ok()?.to_object(repository).ok()?.into_blob().ok()?;
    let text = std::str::from_utf8(blob.content()).ok()?;
    Suite::parse(&repository.workdir()?.join(file), text, builtins).ok()
}
