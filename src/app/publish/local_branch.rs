//! Where no event says what branch a run is of, the repository here does.

use git2::{Oid, Repository};

use super::target::unpublished;
use crate::app::paths::current_folder;
use crate::machine::open_repository;
use crate::model::Result;
use crate::model::text::short_commit;

/// The repository that this folder lies in, if one does.
pub(super) fn repository() -> Option<Repository> {
    open_repository(&current_folder().ok()?).ok()
}

pub(super) fn checked_out(repository: &Repository) -> Option<String> {
    let head = repository.head().ok()?;
    head.is_branch().then(|| head.shorthand().ok().map(str::to_owned)).flatten()
}

/// Refuses a run of anything but the default branch, as in CI: later runs are judged by it.
pub(super) fn refuse_other(repository: &Repository, branch: &str, commit: &str) -> Result<()> {
    let Some(default) = default_branch(repository) else {
        let next = "say which: `git remote set-head origin --auto`, or without a remote `git config \
                    init.defaultBranch BRANCH`";
        return Err(unpublished("the history", "it is not known which branch is the default one", next));
    };
    if branch != default {
        let what =
            format!("it takes runs of the default branch alone, {default}, and this one is of {branch}");
        let next = format!("merge the change, and measure it on {default}");
        return Err(unpublished("the history", what, &next));
    }
    let places = [format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}")];
    let holds = |target: &String| {
        let tip = repository.find_reference(target).and_then(|tip| tip.peel_to_commit()).ok()?.id();
        let commit = Oid::from_str(commit).ok()?;
        Some(tip == commit || repository.graph_descendant_of(tip, commit).unwrap_or(false))
    };
    if places.iter().filter_map(holds).any(|holds| holds) {
        Ok(())
    } else {
        let short = short_commit(commit);
        let what =
            format!("it only accepts commits of {default}, and {short} is not one that this clone knows");
        Err(unpublished("the history", what, "merge it, or fetch the branch, and publish again"))
    }
}

/// The branch that the remote's head names, else the one of `init.defaultBranch`, else the one of the usual names that is there.
fn default_branch(repository: &Repository) -> Option<String> {
    let remote = repository.find_reference("refs/remotes/origin/HEAD").ok();
    let remote = remote.and_then(|head| head.symbolic_target().ok().flatten().map(str::to_owned));
    if let Some(name) = remote.as_deref().and_then(|target| target.strip_prefix("refs/remotes/origin/")) {
        return Some(name.to_owned());
    }
    let is_there = |name: &str| repository.find_reference(&format!("refs/heads/{name}")).is_ok();
    let first = repository.config().and_then(|config| config.get_string("init.defaultBranch"));
    if let Some(name) = first.ok().filter(|name| is_there(name)) {
        return Some(name);
    }
    match ["main", "master"].map(|name| is_there(name).then_some(name)) {
        [Some(name), None] | [None, Some(name)] => Some(name.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Exit;

    fn with(branches: &[&str], configured: Option<&str>) -> (tempfile::TempDir, Repository, String) {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init(folder.path()).unwrap();
        let ada = git2::Signature::now("Ada", "ada@example.org").unwrap();
        let tree = repository.treebuilder(None).unwrap().write().unwrap();
        let commit = {
            let tree = repository.find_tree(tree).unwrap();
            repository.commit(None, &ada, &ada, "a step", &tree, &[]).unwrap()
        };
        for branch in branches {
            repository.reference(&format!("refs/heads/{branch}"), commit, true, "made").unwrap();
        }
        // The machine's configuration must not decide here.
        repository.config().unwrap().set_str("init.defaultBranch", configured.unwrap_or("none")).unwrap();
        (folder, repository, commit.to_string())
    }

    #[test]
    fn the_default_branch_is_the_remotes_head_then_gits_own_then_a_usual_name() {
        for (branches, configured, expected) in [
            (&["main", "topic"][..], None, Some("main")),
            (&["master"], None, Some("master")),
            (&["main", "master"], None, None),
            (&["trunk"], None, None),
            (&["trunk", "main"], Some("trunk"), Some("trunk")),
            (&["main"], Some("gone"), Some("main")),
        ] {
            let (_folder, repository, _) = with(branches, configured);
            assert_eq!(default_branch(&repository).as_deref(), expected, "{branches:?} {configured:?}");
        }
        let (_folder, repository, _) = with(&["main", "trunk"], Some("main"));
        let head = "refs/remotes/origin/HEAD";
        repository.reference_symbolic(head, "refs/remotes/origin/trunk", true, "told").unwrap();
        assert_eq!(default_branch(&repository).as_deref(), Some("trunk"));
    }

    #[test]
    fn a_run_of_another_branch_or_of_a_commit_beside_it_is_refused() {
        let (_folder, repository, commit) = with(&["main", "topic"], None);
        assert!(refuse_other(&repository, "main", &commit).is_ok());
        for (branch, commit, words) in [
            ("topic", commit.as_str(), "this one is of topic"),
            (
                "main",
                "00112233445566778899aabbccddeeff00112233",
                "0011223344 is not one that this clone knows",
            ),
        ] {
            let fault = refuse_other(&repository, branch, commit).unwrap_err();
            assert!(fault.what.contains(words) && fault.exit == Exit::Unpublished, "{fault}");
        }
        let (_folder, repository, commit) = with(&["main", "master"], None);
        let fault = refuse_other(&repository, "main", &commit).unwrap_err();
        assert!(fault.next.contains("git remote set-head origin --auto"), "{fault}");
    }
}
