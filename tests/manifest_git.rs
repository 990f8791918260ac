//! The repository's facts, of real repositories, through the binary. No `git` and no configuration of the user is
//! needed to make them.

use std::path::Path;

use gbench_ci::model::{DirtyFacts, GitFacts, Manifest, Probe};
use git2::{Oid, Repository, RepositoryInitOptions, Signature, Time};

use crate::manifest::gbench;

fn repository(folder: &Path) -> Repository {
    Repository::init_opts(folder, RepositoryInitOptions::new().initial_head("trunk").external_template(false))
        .unwrap()
}

fn signature() -> Signature<'static> {
    Signature::new("Ada", "ada@example.org", &Time::new(1_700_000_000, 0)).unwrap()
}

/// Writes and stages a file.
fn stage(repository: &Repository, name: &str, text: &str) {
    std::fs::write(repository.workdir().unwrap().join(name), text).unwrap();
    let mut index = repository.index().unwrap();
    index.add_path(Path::new(name)).unwrap();
    index.write().unwrap();
}

/// Commits what is staged onto the head, with further parents.
fn commit(repository: &Repository, others: &[Oid]) -> Oid {
    let tree = repository.find_tree(repository.index().unwrap().write_tree().unwrap()).unwrap();
    let head = repository.head().ok().map(|head| head.peel_to_commit().unwrap());
    let others: Vec<_> = others.iter().map(|id| repository.find_commit(*id).unwrap()).collect();
    let parents: Vec<_> = head.iter().chain(&others).collect();
    repository.commit(Some("HEAD"), &signature(), &signature(), "a step", &tree, &parents).unwrap()
}

/// A repository with one committed file `a`.
fn with_a_commit(folder: &Path) -> (Repository, Oid) {
    let repository = repository(folder);
    stage(&repository, "a", "1");
    let id = commit(&repository, &[]);
    (repository, id)
}

/// Without tools to ask and without a user's configuration, which could hide files.
fn probe(folder: &Path) -> Probe<GitFacts> {
    let mut command = gbench(folder);
    command.env("PATH", "/nowhere").env("HOME", "/nowhere").env("XDG_CONFIG_HOME", "/nowhere");
    let output = command.args(["manifest", "show", "--json"]).assert().success().get_output().stdout.clone();
    serde_json::from_slice::<Manifest>(&output).unwrap().git
}

fn facts(folder: &Path) -> GitFacts {
    match probe(folder) {
        Probe::Known(facts) => facts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_clean_tree_has_a_commit_a_time_and_a_branch() {
    let folder = crate::support::tempdir().unwrap();
    let (_, id) = with_a_commit(folder.path());
    let expected = GitFacts {
        commit: Some(id.to_string()),
        commit_time: Some("2023-11-14T22:13:20Z".into()),
        branch: Some("trunk".into()),
        detached: false,
        shallow: false,
        worktree: false,
        dirty: DirtyFacts::default(),
        merge_parents: vec![],
        submodules: [].into(),
    };
    assert_eq!(facts(folder.path()), expected);
}

#[test]
fn a_folder_below_the_root_finds_its_repository() {
    let folder = crate::support::tempdir().unwrap();
    let (_, id) = with_a_commit(folder.path());
    let below = folder.path().join("x/y");
    std::fs::create_dir_all(&below).unwrap();
    assert_eq!(facts(&below).commit, Some(id.to_string()));
}

#[test]
fn changed_staged_and_untracked_files_are_counted_apart() {
    let folder = crate::support::tempdir().unwrap();
    let (repository, _) = with_a_commit(folder.path());
    let counts = |tracked, staged, untracked| DirtyFacts { tracked, staged, untracked };

    std::fs::write(folder.path().join("a"), "2 tracked").unwrap();
    assert_eq!(facts(folder.path()).dirty, counts(1, 0, 0));
    stage(&repository, "a", "2 staged");
    assert_eq!(facts(folder.path()).dirty, counts(0, 1, 0));
    std::fs::write(folder.path().join("a"), "2 staged and changed again").unwrap();
    assert_eq!(facts(folder.path()).dirty, counts(1, 1, 0));
    commit(&repository, &[]);
    stage(&repository, "a", "3");
    commit(&repository, &[]);
    std::fs::create_dir(folder.path().join("new")).unwrap();
    std::fs::write(folder.path().join("new/b"), "").unwrap();
    std::fs::write(folder.path().join("new/c"), "").unwrap();
    assert_eq!(facts(folder.path()).dirty, counts(0, 0, 2));
    std::fs::write(folder.path().join(".gitignore"), "new/\n.gitignore\n").unwrap();
    assert_eq!(facts(folder.path()).dirty, counts(0, 0, 0));
    std::fs::remove_file(folder.path().join("a")).unwrap();
    assert_eq!(facts(folder.path()).dirty, counts(1, 0, 0));
}

#[test]
fn a_detached_head_has_a_commit_and_no_branch() {
    let folder = crate::support::tempdir().unwrap();
    let (repository, id) = with_a_commit(folder.path());
    repository.set_head_detached(id).unwrap();
    let facts = facts(folder.path());
    assert_eq!((facts.detached, facts.branch, facts.commit), (true, None, Some(id.to_string())));
}

#[test]
fn a_merge_names_its_base_and_its_head_also_in_a_shallow_clone() {
    let folder = crate::support::tempdir().unwrap();
    let (repository, base) = with_a_commit(folder.path());
    let tree = repository.find_commit(base).unwrap().tree().unwrap();
    let parent = repository.find_commit(base).unwrap();
    let head = repository.commit(None, &signature(), &signature(), "the change", &tree, &[&parent]).unwrap();
    let merge = commit(&repository, &[head]);
    let merged = facts(folder.path());
    assert_eq!(merged.merge_parents, [base.to_string(), head.to_string()]);
    assert!(!merged.shallow);

    std::fs::write(repository.path().join("shallow"), format!("{merge}\n")).unwrap();
    let shallow = facts(folder.path());
    assert!(shallow.shallow);
    assert_eq!(shallow.commit, Some(merge.to_string()));
    assert_eq!(shallow.merge_parents, [base.to_string(), head.to_string()]);
}

#[test]
fn no_repository_is_in_order_and_a_broken_one_is_not() {
    let folder = crate::support::tempdir().unwrap();
    assert!(matches!(probe(folder.path()), Probe::Absent(_)));
    let (repository, _) = with_a_commit(folder.path());
    std::fs::write(repository.path().join("refs/heads/trunk"), format!("{}\n", "1".repeat(40))).unwrap();
    assert!(matches!(probe(folder.path()), Probe::Failed(_)));
}

#[test]
fn a_repository_before_its_first_commit_has_a_branch_and_untracked_files() {
    let folder = crate::support::tempdir().unwrap();
    repository(folder.path());
    std::fs::write(folder.path().join("a"), "").unwrap();
    let facts = facts(folder.path());
    assert_eq!((facts.commit, facts.branch.as_deref(), facts.detached), (None, Some("trunk"), false));
    assert_eq!(facts.dirty, DirtyFacts { tracked: 0, staged: 0, untracked: 1 });
}

#[test]
fn a_bare_repository_has_nothing_dirty() {
    let folder = crate::support::tempdir().unwrap();
    Repository::init_bare(folder.path()).unwrap();
    let facts = facts(folder.path());
    assert_eq!((facts.commit, facts.dirty), (None, DirtyFacts::default()));
}

#[test]
fn a_linked_work_tree_has_its_own_branch_and_changes() {
    let folder = crate::support::tempdir().unwrap();
    let (repository, id) = with_a_commit(&folder.path().join("main"));
    repository.worktree("side", &folder.path().join("side"), None).unwrap();
    std::fs::write(folder.path().join("side/a"), "changed here").unwrap();
    let side = facts(&folder.path().join("side"));
    assert_eq!((side.worktree, side.branch.as_deref()), (true, Some("side")));
    assert_eq!((side.commit, side.dirty.tracked), (Some(id.to_string()), 1));
    let main = facts(&folder.path().join("main"));
    assert_eq!((main.worktree, main.dirty.any()), (false, false));
}

#[test]
fn submodules_name_the_commit_that_is_checked_out() {
    let folder = crate::support::tempdir().unwrap();
    let (_, inner) = with_a_commit(&folder.path().join("inner"));
    let (outer, _) = with_a_commit(&folder.path().join("outer"));
    let url = folder.path().join("inner").display().to_string();
    let mut module = outer.submodule(&url, Path::new("lib"), true).unwrap();
    module.clone(None).unwrap();
    module.add_finalize().unwrap();
    commit(&outer, &[]);
    let checked_out = facts(&folder.path().join("outer"));
    assert_eq!(checked_out.submodules, [("lib".to_owned(), inner.to_string())].into());
    assert!(!checked_out.dirty.any(), "{checked_out:?}");

    std::fs::remove_dir_all(folder.path().join("outer/lib")).unwrap();
    std::fs::create_dir(folder.path().join("outer/lib")).unwrap();
    assert_eq!(facts(&folder.path().join("outer")).submodules, [("lib".to_owned(), String::new())].into());
}

/// As in a container job: the runner's user checked out, root measures. Only root can give files away, so that
/// others see the ordinary case here.
#[test]
fn a_tree_of_another_user_is_read_like_ones_own() {
    let folder = crate::support::tempdir().unwrap();
    let (repository, id) = with_a_commit(&folder.path().join("main"));
    repository.worktree("side", &folder.path().join("side"), None).unwrap();
    std::fs::write(folder.path().join("main/b"), "").unwrap();
    std::fs::write(folder.path().join("side/a"), "changed").unwrap();
    if nix::unistd::geteuid().is_root() {
        give_away(folder.path());
    }
    let main = facts(&folder.path().join("main"));
    assert_eq!((main.commit, main.branch.as_deref()), (Some(id.to_string()), Some("trunk")));
    assert_eq!((main.worktree, main.dirty.untracked, main.dirty.tracked), (false, 1, 0));
    let side = facts(&folder.path().join("side"));
    assert_eq!((side.worktree, side.branch.as_deref(), side.dirty.tracked), (true, Some("side"), 1));
}

fn give_away(path: &Path) {
    std::os::unix::fs::lchown(path, Some(12_345), Some(12_345)).unwrap();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path());
        }
    }
}
