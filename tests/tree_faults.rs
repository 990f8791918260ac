//! What a user is told where two sides cannot be had: the snapshots hold the words.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use gbench_ci::cli::terminal::error::render_fault;
use gbench_ci::model::{Exit, Fault, Side};
use gbench_ci::trees::{Range, Tree, resolve};
use git2::Repository;

use crate::support::git::{Sandbox, add_submodule, commit_all, commit_index, init, write};
use crate::trees::lfs_file;

fn check(name: &str, fault: &Fault, folder: &Path) {
    let mut bytes = Vec::new();
    render_fault(fault, false, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("error: ") && text.contains("next: "), "{text}");
    let indented = regex::Regex::new(r"\n {7,}").unwrap();
    let text = indented.replace_all(&text, " ").replace(&folder.display().to_string(), "DIR");
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/trees");
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, format!("exit code {}\n\n{text}", fault.exit.code())));
}

fn unresolved(folder: &Path, range: Option<&str>) -> Fault {
    resolve(folder, &Range::parse(range)).unwrap_err()
}

#[test]
fn names_that_are_not_there_get_the_next_best_advice() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder.path();
    let root = sandbox.root();
    check("no_commit_yet", &unresolved(&root, None), folder);
    let first = sandbox.commit(&[("a", "1")]);
    check("no_repository", &unresolved(folder, Some("main")), folder);
    sandbox.branch("topic", first);
    sandbox.tag("v1.2", first);
    check("near_name", &unresolved(&root, Some("topc..")), folder);
    check("far_name", &unresolved(&root, Some("zebra..main")), folder);
    check("empty_name", &unresolved(&root, Some("")), folder);
    check("history_too_short", &unresolved(&root, Some("HEAD~300..")), folder);
    sandbox.commit(&[("a", "2")]);
    sandbox.tag("main", first);
    check("tag_and_branch", &unresolved(&root, Some("main..")), folder);
}

#[test]
fn a_history_that_does_not_meet_is_said() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1")]);
    let tree = sandbox.repository.head().unwrap().peel_to_tree().unwrap();
    let who = git2::Signature::new("Ada", "ada@example.org", &git2::Time::new(1_600_000_000, 0)).unwrap();
    let orphan = sandbox.repository.commit(None, &who, &who, "another beginning", &tree, &[]).unwrap();
    sandbox.branch("pages", orphan);
    let folder = sandbox.folder.path();
    check("no_merge_base", &unresolved(&sandbox.root(), Some("pages")), folder);
    sandbox.branch("trunk", orphan);
    sandbox.switch("trunk");
    sandbox.repository.find_branch("main", git2::BranchType::Local).unwrap().delete().unwrap();
    check("no_default_branch", &unresolved(&sandbox.root(), None), folder);
}

#[test]
fn a_shallow_clone_is_to_be_deepened() {
    let sandbox = Sandbox::new();
    let first = sandbox.commit(&[("a", "1")]);
    sandbox.branch("topic", first);
    let head = sandbox.commit(&[("a", "2")]);
    // What makes a clone shallow is a list of the commits that have lost their parents.
    fs::write(sandbox.repository.path().join("shallow"), format!("{head}\n")).unwrap();
    let folder = sandbox.folder.path();
    check("shallow", &unresolved(&sandbox.root(), Some("release-1.0")), folder);
    check("shallow_history", &unresolved(&sandbox.root(), Some("HEAD~1..")), folder);
    check("shallow_merge_base", &unresolved(&sandbox.root(), Some("topic")), folder);
}

#[test]
fn a_bare_repository_has_no_working_tree() {
    let folder = crate::support::tempdir().unwrap();
    Repository::init_bare(folder.path()).unwrap();
    check("bare", &unresolved(folder.path(), Some("main")), folder.path());
}

/// Prepares the base at `HEAD`.
fn refused(sandbox: &Sandbox, trees: &Path) -> Fault {
    let sides = resolve(&sandbox.root(), &Range::parse(Some("HEAD.."))).unwrap();
    Tree::prepare(&sandbox.root(), &sides.base, trees, Side::Base).unwrap_err()
}

#[test]
fn a_tree_in_use_is_not_taken_away() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1")]);
    let trees = sandbox.folder.path().join("trees");
    let sides = resolve(&sandbox.root(), &Range::parse(Some("HEAD.."))).unwrap();
    let first = Tree::prepare(&sandbox.root(), &sides.base, &trees, Side::Base).unwrap();
    let fault = refused(&sandbox, &trees);
    assert_eq!(fault.exit, Exit::Machine);
    check("in_use", &fault, sandbox.folder.path());
    drop(first);
    Tree::prepare(&sandbox.root(), &sides.base, &trees, Side::Base).unwrap();
}

#[test]
fn what_is_not_ours_is_left_where_it_is() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1")]);
    let folder = sandbox.folder.path();
    let place = |name: &str| folder.join(name).join("base");

    write(&place("files").join("thesis.txt"), "the only copy");
    check("foreign_files", &refused(&sandbox, &folder.join("files")), folder);
    assert_eq!(fs::read_to_string(place("files").join("thesis.txt")).unwrap(), "the only copy");

    init(&place("clone"));
    check("foreign_repository", &refused(&sandbox, &folder.join("clone")), folder);

    fs::create_dir(folder.join("worktree")).unwrap();
    sandbox.repository.worktree("mine", &place("worktree"), None).unwrap();
    write(&place("worktree").join("a"), "edited");
    check("foreign_work_tree", &refused(&sandbox, &folder.join("worktree")), folder);
    assert_eq!(fs::read_to_string(place("worktree").join("a")).unwrap(), "edited");

    fs::create_dir(folder.join("linked")).unwrap();
    symlink(folder.join("clone"), place("linked")).unwrap();
    check("foreign_link", &refused(&sandbox, &folder.join("linked")), folder);

    let other = Sandbox::new();
    other.commit(&[("b", "1")]);
    let trees = folder.join("shared");
    let sides = resolve(&other.root(), &Range::parse(Some("HEAD.."))).unwrap();
    drop(Tree::prepare(&other.root(), &sides.base, &trees, Side::Base).unwrap());
    let fault = refused(&sandbox, &trees);
    assert!(fault.what.contains(&*other.root().to_string_lossy()), "{fault}");
    assert!(place("shared").join("b").is_file());
}

#[test]
fn a_folder_that_cannot_be_written_is_a_fault() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1")]);
    write(&sandbox.folder.path().join("file"), "");
    check("no_folder", &refused(&sandbox, &sandbox.folder.path().join("file/trees")), sandbox.folder.path());
    let unwritable = sandbox.folder.path().join("unwritable");
    fs::create_dir(&unwritable).unwrap();
    fs::set_permissions(&unwritable, fs::Permissions::from_mode(0o555)).unwrap();
    // Root writes everywhere.
    if !nix::unistd::geteuid().is_root() {
        check("unwritable", &refused(&sandbox, &unwritable.join("trees")), sandbox.folder.path());
    }
}

#[test]
fn a_submodule_that_is_not_here_is_named() {
    let sandbox = Sandbox::new();
    let inner = init(&sandbox.folder.path().join("inner"));
    write(&sandbox.folder.path().join("inner/lib.h"), "1");
    commit_all(&inner);
    add_submodule(&sandbox.repository, &sandbox.folder.path().join("inner"), "deps/lib");
    commit_index(&sandbox.repository);
    let trees = sandbox.folder.path().join("trees");

    // The parent records a commit that was never fetched.
    let unknown = git2::Oid::from_str(&"1".repeat(40)).unwrap();
    let mut index = sandbox.repository.index().unwrap();
    let mut entry = index.get_path(Path::new("deps/lib"), 0).unwrap();
    entry.id = unknown;
    index.add(&entry).unwrap();
    index.write().unwrap();
    commit_index(&sandbox.repository);
    check("submodule_commit", &refused(&sandbox, &trees), sandbox.folder.path());

    fs::remove_dir_all(sandbox.root().join("deps/lib")).unwrap();
    fs::create_dir(sandbox.root().join("deps/lib")).unwrap();
    fs::remove_dir_all(sandbox.repository.path().join("modules")).unwrap();
    check("submodule", &refused(&sandbox, &trees), sandbox.folder.path());
}

#[test]
fn a_file_in_git_lfs_that_is_not_here_is_named() {
    let sandbox = Sandbox::new();
    let (pointer, object) = lfs_file(&sandbox, "weights");
    let (other, _) = lfs_file(&sandbox, "more weights");
    sandbox.commit(&[
        (".gitattributes", "*.bin filter=lfs -text\n"),
        ("x/w.bin", &pointer),
        ("v.bin", &other),
    ]);
    let trees = sandbox.folder.path().join("trees");
    check("lfs", &refused(&sandbox, &trees), sandbox.folder.path());
    // Half of a download is no content.
    write(&object, "wei");
    let fault = refused(&sandbox, &trees);
    assert!(fault.what.ends_with("like that of 1 other"), "{fault}");
}

#[test]
fn a_head_that_moves_in_between_is_noticed() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1")]);
    let sides = resolve(&sandbox.root(), &Range::parse(Some("HEAD.."))).unwrap();
    sandbox.commit(&[("a", "2")]);
    let trees = sandbox.folder.path().join("trees");
    let fault = Tree::prepare(&sandbox.root(), &sides.head, &trees, Side::Head).unwrap_err();
    check("head_moved", &fault, sandbox.folder.path());
}
