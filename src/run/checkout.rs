//! Work trees of single commits beside the user's checkout, which stays as it is.

use std::path::Path;

use git2::{Repository, WorktreeAddOptions};

use crate::model::{Fault, Result};

/// Checks a commit out into `at`, a folder that does not exist yet, as a linked work tree of the repository at
/// `repository`, with a detached head. `name`: of the work tree, unique within the repository.
///
/// `commit`: anything that names one (`git rev-parse`). Errors: it names none, or the files cannot be written.
pub fn check_out(repository: &Path, commit: &str, name: &str, at: &Path) -> Result<()> {
    let opened = Repository::open(repository)
        .map_err(|error| Fault::at_path(repository, error.message(), "name a git repository"))?;
    let target =
        opened.revparse_single(commit).and_then(|object| object.peel_to_commit()).map_err(|error| {
            Fault::at(
                format!("commit `{commit}`"),
                error.message(),
                "name a commit, a branch or a tag that is here",
            )
        })?;
    let written = || -> std::result::Result<(), git2::Error> {
        // libgit2 wants a branch to make a work tree from; the detached head replaces it at once.
        let mut branch = opened.branch(&format!("gbench-ci/{name}"), &target, true)?;
        let made = || {
            let mut options = WorktreeAddOptions::new();
            options.reference(Some(branch.get()));
            opened.worktree(name, at, Some(&options))?;
            Repository::open(at)?.set_head_detached(target.id())
        };
        // Also where nothing came of it: the branches are the user's.
        let made = made();
        branch.delete().and(made)
    };
    written().map_err(|error| {
        let what = format!("{commit} cannot be checked out here: {}", error.message());
        Fault::at_path(at, what, "give a writable folder with enough space")
    })
}
