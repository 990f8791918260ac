//! The words of a comparison, looked up in real repositories: what each means, and how it is shown.

use std::path::Path;

use gbench_ci::trees::{Range, Sides, names_revision, resolve};
use git2::Oid;

use crate::support::git::Sandbox;

/// `main` has two commits; `topic`, checked out, left it after the first and has one of its own.
struct Forked {
    sandbox: Sandbox,
    first: Oid,
    main: Oid,
    topic: Oid,
}

fn forked() -> Forked {
    let sandbox = Sandbox::new();
    let first = sandbox.commit(&[("a", "1")]);
    let main = sandbox.commit(&[("a", "2")]);
    sandbox.branch("topic", first);
    sandbox.switch("topic");
    let topic = sandbox.commit(&[("b", "1")]);
    sandbox.tag("v1.2", first);
    Forked { sandbox, first, main, topic }
}

fn sides(folder: &Path, text: Option<&str>) -> Sides {
    resolve(folder, &Range::parse(text)).unwrap()
}

fn short(id: Oid) -> String {
    id.to_string()[..10].to_owned()
}

#[test]
fn dots_choose_between_a_commit_and_the_common_ancestor() {
    let Forked { sandbox, first, main, topic } = forked();
    let commits = |text: &str| {
        let sides = sides(&sandbox.root(), Some(text));
        (sides.base.commit, sides.head.commit, sides.head.is_working_tree)
    };
    let expected = |base: Oid, head: Oid, is_tree| (base.to_string(), head.to_string(), is_tree);
    assert_eq!(commits("main..topic"), expected(main, topic, false));
    assert_eq!(commits("main...topic"), expected(first, topic, false));
    assert_eq!(commits("topic...main"), expected(first, main, false));
    assert_eq!(commits("main.."), expected(main, topic, true));
    assert_eq!(commits("main"), expected(first, topic, true));
    assert_eq!(commits("main..."), expected(first, topic, true));
    assert_eq!(commits("..main"), expected(topic, main, false));
}

#[test]
fn branches_tags_hashes_and_steps_back_are_all_names() {
    let Forked { sandbox, first, main, topic } = forked();
    let hash = topic.to_string();
    let words = |name: &str| {
        let side = sides(&sandbox.root(), Some(&format!("{name}..HEAD"))).base;
        (side.commit, side.words)
    };
    for (name, id) in [("main", main), ("v1.2", first), ("HEAD~1", first), ("main^", first), ("@", topic)] {
        assert_eq!(words(name), (id.to_string(), format!("{name} ({})", short(id))));
    }
    for name in [&hash[..7], &hash] {
        assert_eq!(words(name), (hash.clone(), short(topic)), "a hash needs no second one beside it");
    }
}

#[test]
fn the_words_of_a_merge_base_say_so_unless_it_is_the_branch_itself() {
    let Forked { sandbox, first, topic, .. } = forked();
    let of = |text| sides(&sandbox.root(), Some(text));
    assert_eq!(of("main").base.words, format!("merge base with main ({})", short(first)));
    assert_eq!(of("v1.2").base.words, format!("v1.2 ({})", short(first)));
    assert_eq!(of("main").head.words, format!("working tree at {}, no changes", short(topic)));
}

#[test]
fn a_working_tree_counts_its_changes() {
    let Forked { sandbox, topic, .. } = forked();
    sandbox.write("a", "changed");
    sandbox.write("new/x", "");
    sandbox.write("new/y", "");
    let head = sides(&sandbox.root(), Some("main")).head;
    assert_eq!((head.changed, head.is_working_tree), (3, true));
    assert_eq!(head.words, format!("working tree at {}, 3 files changed", short(topic)));
    // From a folder below the root it is the same repository.
    assert_eq!(sides(&sandbox.root().join("new"), Some("main")).head, head);
}

#[test]
fn the_default_is_the_remotes_head_then_the_usual_names() {
    let Forked { sandbox, first, main, topic } = forked();
    let base = || sides(&sandbox.root(), None).base.words;
    let set = |name: &str, id| sandbox.repository.reference(name, id, true, "").unwrap();
    assert_eq!(base(), format!("merge base with main ({})", short(first)));
    set("refs/remotes/origin/main", first);
    assert_eq!(base(), format!("origin/main ({})", short(first)));
    set("refs/remotes/origin/develop", topic);
    let repository = &sandbox.repository;
    let target = "refs/remotes/origin/develop";
    repository.reference_symbolic("refs/remotes/origin/HEAD", target, true, "").unwrap();
    assert_eq!(base(), format!("origin/develop ({})", short(topic)));
    let _ = main;
}

#[test]
fn one_state_against_itself_is_allowed_and_said() {
    let Forked { sandbox, topic, .. } = forked();
    let same = sides(&sandbox.root(), Some("HEAD.."));
    assert!(same.are_the_same());
    assert_eq!(same.head.words, format!("working tree at {}, no changes, same as base", short(topic)));
    let same = sides(&sandbox.root(), Some("topic..topic"));
    assert_eq!(same.head.words, format!("topic ({}), same as base", short(topic)));
    sandbox.write("a", "changed");
    assert!(!sides(&sandbox.root(), Some("HEAD..")).are_the_same());
}

#[test]
fn a_bare_repository_has_commits_to_compare() {
    let Forked { sandbox, first, main, .. } = forked();
    let bare = sandbox.folder.path().join("bare");
    git2::build::RepoBuilder::new().bare(true).clone(sandbox.root().to_str().unwrap(), &bare).unwrap();
    let sides = sides(&bare, Some("v1.2..origin/main"));
    assert_eq!((sides.base.commit, sides.head.commit), (first.to_string(), main.to_string()));
}

#[test]
fn a_word_is_told_from_a_baseline_and_a_file() {
    let Forked { sandbox, topic, .. } = forked();
    let is_one = |text: &str| names_revision(&sandbox.root(), text);
    for text in ["main", "v1.2..topic", "main...", "HEAD~1", "..", &topic.to_string()[..8]] {
        assert!(is_one(text), "{text}");
    }
    for text in ["nightly", "base.json", "../head.json", "main..nightly", "", "HEAD~99"] {
        assert!(!is_one(text), "{text}");
    }
    assert!(!names_revision(sandbox.folder.path(), "main"), "no repository is here");
}
