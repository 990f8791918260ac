//! What is said where a comparison cannot begin: each hint names what is the matter, and what it advises helps.

use std::path::Path;
use std::process::Command;

use crate::support::cli::{Ran, ran};
use crate::support::git;

const SUITE: &str = "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"a\"\nshell = \"sleep 0.01\"\n";

/// A repository with two commits on `main`, and its folder.
fn repository() -> (tempfile::TempDir, git2::Repository) {
    let folder = crate::support::tempdir().unwrap();
    let repository = git::init(&folder.path().join("here"));
    std::fs::write(folder.path().join("here/gbench.toml"), SUITE).unwrap();
    for text in ["one", "two"] {
        std::fs::write(folder.path().join("here/file"), text).unwrap();
        git::commit_all(&repository);
    }
    (folder, repository)
}

fn git(folder: &Path, words: &str) {
    let output = Command::new("git").args(words.split_whitespace()).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Compares two commits in few rounds; what they come to does not matter here.
#[track_caller]
fn compares(folder: &Path) {
    let Ran { code, out, err } = ran(folder, "compare HEAD~1..HEAD --rounds 4");
    assert!(matches!(code, 0 | 1 | 3), "{code}: {out}\n{err}");
}

#[test]
fn n25_a_word_that_names_nothing_is_answered_by_the_names_that_are_near() {
    let (folder, _repository) = repository();
    let here = folder.path().join("here");
    for line in
        ["compare mian", "compare mian --rounds 5", "compare mian --budget 5s", "compare mian --resume"]
    {
        let ran = ran(&here, line).exits(2).says("no commit, baseline or file is called so");
        ran.says("`mian`").says("write `main`");
    }
    ran(&here, "run --quiet").exits(0);
    ran(&here, "baseline save nightly --busy").exits(0);
    ran(&here, "compare nihgtly --rounds 5").exits(2).says("write `nightly`");
    ran(&here, "compare unlike-anything").exits(2).says("git fetch").says("baseline save unlike-anything");
    // A baseline is there: only now the flag is what does not fit.
    ran(&here, "compare nightly --rounds 5").exits(2).says("--rounds").says("only applies when two commits");
    // Too short for a commit's digits, whatever libgit2 says of it.
    ran(&here, "compare b..HEAD").exits(2).says("no branch, tag or commit has this name");
    // Without a repository there are baselines alone.
    std::fs::write(folder.path().join("gbench.toml"), SUITE).unwrap();
    ran(folder.path(), "compare mian").exits(2).says("no such baseline");
}

#[test]
fn n25_a_repository_without_a_commit_is_not_told_to_fetch() {
    let folder = crate::support::tempdir().unwrap();
    git::init(folder.path());
    std::fs::write(folder.path().join("gbench.toml"), SUITE).unwrap();
    for line in ["compare HEAD..HEAD", "compare main", "compare main --rounds 5", "compare a..b", "compare"] {
        let ran = ran(folder.path(), line).exits(2).says("no commit yet").says("commit something");
        assert!(!ran.err.contains("fetch"), "{line}: {}", ran.err);
    }
}

#[test]
fn n25_a_partial_clone_is_told_how_to_get_the_rest_and_that_helps() {
    let (folder, repository) = repository();
    repository.config().unwrap().set_bool("uploadpack.allowFilter", true).unwrap();
    let from =
        format!("clone --quiet --filter=blob:none file://{} partial", folder.path().join("here").display());
    git(folder.path(), &from);
    let partial = folder.path().join("partial");
    let advice = "git fetch --refetch --no-filter";
    ran(&partial, "compare HEAD~1..HEAD").exits(2).says("partial").says(advice);
    git(&partial, &advice[4..]);
    compares(&partial);
}

#[test]
fn n25_a_bare_repository_is_called_so_and_a_work_tree_of_it_compares() {
    let (folder, _repository) = repository();
    git(folder.path(), "clone --quiet --bare here bare");
    let bare = folder.path().join("bare");
    for line in ["compare HEAD~1..HEAD", "compare HEAD~1", "compare"] {
        ran(&bare, line).exits(2).says("bare repository").says("git worktree add ../CHECKOUT");
    }
    git(&bare, "worktree add --quiet ../checkout");
    compares(&folder.path().join("checkout"));
}

#[test]
fn n30_repositories_that_cannot_be_read_are_told_why_by_their_own_configuration() {
    for (extension, what, next) in [
        ("objectformat = sha256", "by SHA-256", "compare base.json head.json"),
        ("refstorage = reftable", "in a reftable", "git clone --ref-format=files . ../CLONE"),
        ("somethingnew = true", "cannot be opened", "without `extensions.somethingnew`"),
    ] {
        let (folder, _repository) = repository();
        let here = folder.path().join("here");
        let config = std::fs::read_to_string(here.join(".git/config")).unwrap();
        let config = config.replace("repositoryformatversion = 0", "repositoryformatversion = 1");
        std::fs::write(here.join(".git/config"), format!("{config}[extensions]\n\t{extension}\n")).unwrap();
        for line in ["compare HEAD~1..HEAD", "compare main", "compare"] {
            ran(&here, line).exits(2).says(what).says(next);
        }
    }
}
