//! Kept trees of real repositories: they hold exactly what they should, and the user's checkout does not notice.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use gbench_ci::model::Side;
use gbench_ci::trees::{Range, Tree, resolve, side_environment};
use git2::Repository;

use crate::support::git::{
    Sandbox, add_submodule, commit_all, commit_index, fingerprint, init, status, write,
};

/// The folder of the trees as the gate has it: in the user's checkout.
fn trees(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join(".gbench/trees")
}

/// Both sides of a range, prepared; the user's repository must be as it was.
fn prepared(sandbox: &Sandbox, range: &str) -> (Tree, Tree) {
    let before = fingerprint(&sandbox.repository);
    let sides = resolve(&sandbox.root(), &Range::parse(Some(range))).unwrap();
    let prepare = |revision, side| Tree::prepare(&sandbox.root(), revision, &trees(sandbox), side).unwrap();
    let both = (prepare(&sides.base, Side::Base), prepare(&sides.head, Side::Head));
    assert_eq!(fingerprint(&sandbox.repository), before, "the user's repository has changed");
    both
}

/// Every file below a folder, with its content; links as `-> target`.
fn content(root: &Path) -> Vec<String> {
    fn walk(root: &Path, folder: &Path, into: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if name == ".git" || name.ends_with("/.git") {
                continue;
            }
            if path.is_symlink() {
                into.push(format!("{name} -> {}", fs::read_link(&path).unwrap().display()));
            } else if path.is_dir() {
                walk(root, &path, into);
            } else {
                into.push(format!("{name} = {}", fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut found);
    found.sort();
    found
}

#[test]
fn each_side_has_its_commit_in_folders_of_equal_length() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1"), ("d/b", "1")]);
    sandbox.commit(&[("a", "2"), ("c", "new")]);
    let (base, head) = prepared(&sandbox, "HEAD~1..HEAD");
    assert_eq!(content(base.root()), ["a = 1", "d/b = 1"]);
    assert_eq!(content(head.root()), ["a = 2", "c = new", "d/b = 1"]);
    assert_eq!(base.root().as_os_str().len(), head.root().as_os_str().len());
    assert_eq!(status(&Repository::open(base.root()).unwrap()), "", "the tree of a commit is clean");
    assert!(Repository::open(base.root()).unwrap().head_detached().unwrap());
    assert_eq!(status(&sandbox.repository), "", "git does not see the trees");
}

#[test]
fn a_kept_tree_loses_strays_and_keeps_what_was_built() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1"), (".gitignore", "target/\n*.o\n"), ("old/x", "")]);
    fs::remove_dir_all(sandbox.root().join("old")).unwrap();
    sandbox.commit(&[("a", "2")]);
    let (_, head) = prepared(&sandbox, "HEAD~1..HEAD~1");
    let root = head.root().to_owned();
    drop(head);
    for file in ["target/built", "a.o", "stray", "strays/deep/one"] {
        write(&root.join(file), "left");
    }
    write(&root.join("a"), "edited by a build");
    init(&root.join("cloned"));
    write(&root.join("cloned/file"), "");
    prepared(&sandbox, "HEAD~1..HEAD");
    let expected = [".gitignore = target/\n*.o\n", "a = 2", "a.o = left", "target/built = left"];
    assert_eq!(content(&root), expected);
    assert!(!root.join("strays").exists() && !root.join("cloned").exists() && !root.join("old").exists());
}

#[test]
fn a_file_that_is_unchanged_keeps_its_time_so_that_nothing_is_built_twice() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1"), ("same", "1")]);
    sandbox.write("a", "edited");
    sandbox.write("new", "untracked");
    let times = || {
        let (_, head) = prepared(&sandbox, "HEAD..");
        ["a", "same", "new"].map(|name| fs::metadata(head.root().join(name)).unwrap().modified().unwrap())
    };
    let before = times();
    assert_eq!(times(), before);
    sandbox.write("a", "EDITED");
    let after = times();
    assert!(after[0] > before[0], "an edit of the same length is new to the build");
    assert_eq!(after[1..], before[1..]);
}

#[test]
fn the_working_tree_is_copied_as_it_stands() {
    let sandbox = Sandbox::new();
    let names = ["changed", "deleted", "staged", "half", "unstaged", "file-to-folder", "to-link", "run.sh"];
    for name in names {
        sandbox.write(name, "committed");
    }
    sandbox.commit(&[("folder/to-file", "committed"), ("renamed", "committed"), (".gitignore", "*.o\n")]);
    let root = sandbox.root();
    let mut index = sandbox.repository.index().unwrap();
    let mut stage = |name: &str| {
        index.add_path(Path::new(name)).unwrap();
        index.write().unwrap();
    };
    sandbox.write("changed", "edited");
    fs::remove_file(root.join("deleted")).unwrap();
    sandbox.write("staged", "staged");
    stage("staged");
    sandbox.write("half", "staged");
    stage("half");
    sandbox.write("half", "edited after staging");
    sandbox.write("added", "added");
    stage("added");
    sandbox.write("vanished", "added");
    stage("vanished");
    fs::remove_file(root.join("vanished")).unwrap();
    fs::remove_file(root.join("file-to-folder")).unwrap();
    sandbox.write("file-to-folder/x", "now a folder");
    fs::remove_dir_all(root.join("folder")).unwrap();
    sandbox.write("folder", "now a file");
    fs::remove_file(root.join("to-link")).unwrap();
    symlink("changed", root.join("to-link")).unwrap();
    fs::rename(root.join("renamed"), root.join("with a new näme")).unwrap();
    sandbox.write("new/deep/untracked", "untracked");
    sandbox.write("ignored.o", "ignored");
    fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    index.remove_path(Path::new("unstaged")).unwrap();
    index.write().unwrap();

    let (base, head) = prepared(&sandbox, "HEAD..");
    let expected = [
        ".gitignore = *.o\n",
        "added = added",
        "changed = edited",
        "file-to-folder/x = now a folder",
        "folder = now a file",
        "half = edited after staging",
        "new/deep/untracked = untracked",
        "run.sh = committed",
        "staged = staged",
        "to-link -> changed",
        "unstaged = committed",
        "with a new näme = committed",
    ];
    assert_eq!(content(head.root()), expected);
    let mode = |tree: &Tree| fs::metadata(tree.root().join("run.sh")).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&base) & 0o111, mode(&head)), (0, 0o755));
    assert_eq!(content(base.root()).len(), 11);
    drop((base, head));

    // Back to the commit: nothing of the changes is left.
    let (_, head) = prepared(&sandbox, "HEAD..HEAD");
    assert_eq!(content(head.root()).len(), 11);
    assert!(head.root().join("folder/to-file").is_file() && head.root().join("file-to-folder").is_file());
}

#[test]
fn nothing_is_copied_or_removed_through_a_link() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("d/f", "committed"), ("e/f", "committed")]);
    let outside = sandbox.folder.path().join("outside");
    write(&outside.join("f"), "not ours");
    for folder in ["d", "e"] {
        fs::remove_dir_all(sandbox.root().join(folder)).unwrap();
    }
    symlink(&outside, sandbox.root().join("d")).unwrap();
    symlink(&outside, sandbox.root().join("e")).unwrap();
    let (_, head) = prepared(&sandbox, "HEAD..");
    let link = format!("-> {}", outside.display());
    assert_eq!(content(head.root()), [format!("d {link}"), format!("e {link}")]);
    drop(head);
    fs::remove_file(sandbox.root().join("d")).unwrap();
    sandbox.write("d/f", "a folder again");
    let (_, head) = prepared(&sandbox, "HEAD..");
    assert_eq!(content(head.root()), ["d/f = a folder again".to_owned(), format!("e {link}")]);
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "not ours");
}

#[test]
fn spaces_and_letters_of_all_kinds_are_in_order() {
    let sandbox = Sandbox::called("my répository 日本");
    sandbox.commit(&[("a b/ü.txt", "1")]);
    sandbox.write("a b/ü.txt", "2");
    sandbox.write("日本/x y", "new");
    let (base, head) = prepared(&sandbox, "HEAD..");
    assert_eq!(content(base.root()), ["a b/ü.txt = 1"]);
    assert_eq!(content(head.root()), ["a b/ü.txt = 2", "日本/x y = new"]);
    drop((base, head));
    prepared(&sandbox, "HEAD..");
}

#[test]
fn a_suite_below_the_root_is_found_in_each_tree() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("benches/gpu/gbench.toml", "")]);
    let (base, head) = prepared(&sandbox, "HEAD..");
    let suite = sandbox.root().join("benches/gpu/gbench.toml");
    assert_eq!(base.path_of(&suite).unwrap(), base.root().join("benches/gpu/gbench.toml"));
    assert!(head.path_of(&suite).unwrap().is_file());
    assert_eq!(head.path_of(Path::new("benches")), Some(head.root().join("benches")));
    assert_eq!(head.path_of(&sandbox.root()), Some(head.root().to_owned()));
    assert_eq!(head.path_of(sandbox.folder.path()), None);
    assert_eq!(head.path_of(Path::new("../x")), None);
    let link = sandbox.folder.path().join("link");
    symlink(sandbox.root(), &link).unwrap();
    assert_eq!(head.path_of(&link.join("benches/gpu/gbench.toml")), head.path_of(&suite));
}

#[test]
fn each_side_compiles_its_kernels_into_its_own_folders() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1")]);
    let (base, head) = prepared(&sandbox, "HEAD..");
    let (base, head) = (side_environment(&base), side_environment(&head));
    assert_eq!(base.len(), head.len());
    assert!(base.iter().any(|(name, _)| name == "TRITON_CACHE_DIR"));
    for ((name, of_base), (same, of_head)) in base.iter().zip(&head) {
        assert_eq!((name, of_base.len()), (same, of_head.len()));
        assert_ne!(of_base, of_head);
        assert!(Path::new(of_base).is_dir(), "{of_base}");
    }
}

#[test]
fn a_submodule_is_filled_from_the_users_own_clone() {
    let sandbox = Sandbox::new();
    let inner = init(&sandbox.folder.path().join("inner"));
    write(&sandbox.folder.path().join("inner/lib.h"), "1");
    write(&sandbox.folder.path().join("inner/.gitignore"), "*.o\n");
    commit_all(&inner);
    sandbox.commit(&[("a", "1")]);
    add_submodule(&sandbox.repository, &sandbox.folder.path().join("inner"), "deps/lib");
    commit_index(&sandbox.repository);
    // Nothing is fetched.
    fs::remove_dir_all(sandbox.folder.path().join("inner")).unwrap();
    let module = Repository::open(sandbox.root().join("deps/lib")).unwrap();
    let before = fingerprint(&module);

    let lib = |tree: &Tree| fs::read_to_string(tree.root().join("deps/lib/lib.h")).unwrap();
    let (base, head) = prepared(&sandbox, "HEAD..HEAD");
    assert_eq!((lib(&base), lib(&head)), ("1".into(), "1".into()));
    assert_eq!(status(&Repository::open(base.root()).unwrap()), "");
    write(&head.root().join("deps/lib/built.o"), "left");
    write(&head.root().join("deps/lib/stray"), "left");
    let root = head.root().to_owned();
    drop((base, head));

    write(&sandbox.root().join("deps/lib/lib.h"), "2, not committed");
    write(&sandbox.root().join("deps/lib/new.h"), "new");
    let (base, head) = prepared(&sandbox, "HEAD..");
    assert_eq!((lib(&base), lib(&head)), ("1".into(), "2, not committed".into()));
    let has = |name: &str| root.join("deps/lib").join(name).exists();
    assert_eq!(["new.h", "built.o", "stray"].map(has), [true, true, false]);
    drop((base, head));

    // A newer commit of the submodule, not yet recorded by its parent, is what the working tree holds.
    commit_all(&module);
    let (base, head) = prepared(&sandbox, "HEAD..");
    assert_eq!((lib(&base), lib(&head)), ("1".into(), "2, not committed".into()));
    assert_ne!(fingerprint(&module), before, "the test itself has committed");
    drop((base, head));

    // Before the submodule was added there is none, and nothing of it is left.
    let (_, head) = prepared(&sandbox, "HEAD..HEAD~1");
    assert_eq!(content(head.root()), ["a = 1"]);
    drop(head);
    let (_, head) = prepared(&sandbox, "HEAD~1..HEAD");
    assert_eq!(lib(&head), "1");
}

#[test]
fn a_submodule_that_the_user_left_out_stays_empty() {
    let sandbox = Sandbox::new();
    let inner = init(&sandbox.folder.path().join("inner"));
    write(&sandbox.folder.path().join("inner/lib.h"), "1");
    commit_all(&inner);
    add_submodule(&sandbox.repository, &sandbox.folder.path().join("inner"), "lib");
    commit_index(&sandbox.repository);
    fs::remove_dir_all(sandbox.root().join("lib")).unwrap();
    fs::create_dir(sandbox.root().join("lib")).unwrap();
    fs::remove_dir_all(sandbox.repository.path().join("modules")).unwrap();
    sandbox.repository.config().unwrap().set_str("submodule.lib.update", "none").unwrap();
    let (base, head) = prepared(&sandbox, "HEAD..");
    assert_eq!(fs::read_dir(base.root().join("lib")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(head.root().join("lib")).unwrap().count(), 0);
}

/// A file as git stores it, and its content where git-lfs keeps it.
pub fn lfs_file(sandbox: &Sandbox, content: &str) -> (String, PathBuf) {
    let oid = gbench_ci::model::sha256_hex(content.as_bytes());
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {}\n", content.len());
    let folder = sandbox.repository.commondir().join("lfs/objects").join(&oid[..2]).join(&oid[2..4]);
    (pointer, folder.join(oid))
}

#[test]
fn a_file_in_git_lfs_has_its_content_and_is_written_once() {
    let sandbox = Sandbox::new();
    let (pointer, object) = lfs_file(&sandbox, "weights of a network");
    write(&object, "weights of a network");
    sandbox.commit(&[
        (".gitattributes", "*.bin filter=lfs -text\n"),
        ("w.bin", &pointer),
        ("w.txt", &pointer),
    ]);
    sandbox.commit(&[("a", "2")]);
    let (base, head) = prepared(&sandbox, "HEAD~1..HEAD");
    let path = base.root().join("w.bin");
    assert_eq!(fs::read_to_string(&path).unwrap(), "weights of a network");
    assert_eq!(fs::read_to_string(head.root().join("w.bin")).unwrap(), "weights of a network");
    let other = fs::read_to_string(base.root().join("w.txt")).unwrap();
    assert_eq!(other, pointer, "without the attribute it is a text like others");
    assert_eq!(status(&Repository::open(base.root()).unwrap()), "", "the content is no change");
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    drop((base, head));
    let (_base, _head) = prepared(&sandbox, "HEAD..HEAD");
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
}

#[test]
fn a_file_in_git_lfs_that_is_edited_needs_no_stored_content() {
    let sandbox = Sandbox::new();
    let (pointer, _) = lfs_file(&sandbox, "weights");
    sandbox.commit(&[("a", "1"), (".gitattributes", "*.bin filter=lfs -text\n")]);
    sandbox.commit(&[("w.bin", &pointer)]);
    sandbox.write("w.bin", "other weights");
    let (_base, head) = prepared(&sandbox, "HEAD~1..");
    assert_eq!(fs::read_to_string(head.root().join("w.bin")).unwrap(), "other weights");
}

#[test]
fn a_user_who_works_with_pointers_gets_pointers() {
    let sandbox = Sandbox::new();
    let (pointer, _) = lfs_file(&sandbox, "weights");
    sandbox.commit(&[(".gitattributes", "*.bin filter=lfs -text\n"), ("w.bin", &pointer)]);
    sandbox.repository.config().unwrap().set_str("filter.lfs.smudge", "git-lfs smudge --skip -- %f").unwrap();
    let (base, _head) = prepared(&sandbox, "HEAD..");
    assert_eq!(fs::read_to_string(base.root().join("w.bin")).unwrap(), pointer);
}

#[test]
fn a_damaged_tree_is_mended_with_its_build_folder_kept() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1"), (".gitignore", "target\n")]);
    let (base, head) = prepared(&sandbox, "HEAD..");
    let root = base.root().to_owned();
    let admin = Repository::open(&root).unwrap().path().to_owned();
    drop((base, head));
    write(&root.join("target/built"), "left");
    let damages: [(&str, &dyn Fn()); 7] = [
        ("pruned", &|| fs::remove_dir_all(&admin).unwrap()),
        ("its .git is gone", &|| fs::remove_file(root.join(".git")).unwrap()),
        ("no index", &|| fs::remove_file(admin.join("index")).unwrap()),
        ("bad index", &|| fs::write(admin.join("index"), "rubbish").unwrap()),
        ("bad head", &|| fs::write(admin.join("HEAD"), "rubbish").unwrap()),
        ("a lock of a killed gate", &|| fs::write(admin.join("index.lock"), "").unwrap()),
        ("its back link is elsewhere", &|| fs::write(admin.join("gitdir"), "/elsewhere/.git\n").unwrap()),
    ];
    for (what, damage) in damages {
        write(&root.join("a"), "edited");
        write(&root.join("stray"), "left");
        damage();
        prepared(&sandbox, "HEAD..");
        assert_eq!(content(&root), [".gitignore = target\n", "a = 1", "target/built = left"], "{what}");
    }
    fs::remove_dir_all(&root).unwrap();
    prepared(&sandbox, "HEAD..");
    assert_eq!(content(&root), [".gitignore = target\n", "a = 1"]);
}

#[test]
fn a_moved_repository_takes_its_trees_along() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1"), (".gitignore", "target\n")]);
    let (base, head) = prepared(&sandbox, "HEAD..");
    write(&base.root().join("target/built"), "left");
    drop((base, head));
    let moved = sandbox.folder.path().join("moved");
    fs::rename(sandbox.root(), &moved).unwrap();
    let sandbox = Sandbox { repository: Repository::open(&moved).unwrap(), folder: sandbox.folder };
    let (base, _head) = prepared(&sandbox, "HEAD..");
    assert_eq!(content(base.root()), [".gitignore = target\n", "a = 1", "target/built = left"]);
}

#[test]
fn a_linked_work_tree_and_a_bare_repository_have_trees_too() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1")]);
    let last = sandbox.commit(&[("a", "2")]);
    let side = sandbox.folder.path().join("side");
    sandbox.repository.worktree("side", &side, None).unwrap();
    write(&side.join("a"), "edited here");
    let sides = resolve(&side, &Range::parse(Some("HEAD~1.."))).unwrap();
    let folder = side.join(".gbench/trees");
    let head = Tree::prepare(&side, &sides.head, &folder, Side::Head).unwrap();
    assert_eq!(content(head.root()), ["a = edited here"]);
    assert_eq!(content(&sandbox.root()), ["a = 2"]);

    let bare = sandbox.folder.path().join("bare");
    git2::build::RepoBuilder::new().bare(true).clone(sandbox.root().to_str().unwrap(), &bare).unwrap();
    let range = format!("{last}~1..{last}");
    let sides = resolve(&bare, &Range::parse(Some(&range))).unwrap();
    let folder = sandbox.folder.path().join("trees");
    let base = Tree::prepare(&bare, &sides.base, &folder, Side::Base).unwrap();
    let head = Tree::prepare(&bare, &sides.head, &folder, Side::Head).unwrap();
    assert_eq!((content(base.root()), content(head.root())), (vec!["a = 1".into()], vec!["a = 2".into()]));
    assert_eq!(base.path_of(Path::new("a")), Some(base.root().join("a")));
}

#[test]
fn line_ends_are_converted_as_git_would() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[(".gitattributes", "*.bat text eol=crlf\n"), ("x.bat", "one\r\n"), ("y", "one\n")]);
    let (base, _head) = prepared(&sandbox, "HEAD..");
    assert_eq!(fs::read_to_string(base.root().join("x.bat")).unwrap(), "one\r\n");
    assert_eq!(fs::read_to_string(base.root().join("y")).unwrap(), "one\n");
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_on_both_sides() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1"), ("huge/b", "1")]);
    let mut index = sandbox.repository.index().unwrap();
    let mut entry = index.get_path(Path::new("huge/b"), 0).unwrap();
    // SKIP_WORKTREE, and the flag that says that there are such flags.
    entry.flags_extended |= 1 << 14;
    entry.flags |= 1 << 14;
    index.add(&entry).unwrap();
    index.write().unwrap();
    fs::remove_dir_all(sandbox.root().join("huge")).unwrap();
    let (base, head) = prepared(&sandbox, "HEAD..");
    assert_eq!(content(head.root()), content(base.root()));
    assert!(head.root().join("huge/b").is_file());
}

/// A merge that stopped: what lies there is what will be built, markers and all.
#[test]
fn an_unfinished_merge_is_copied_as_it_stands() {
    let sandbox = Sandbox::new();
    let first = sandbox.commit(&[("a", "1"), ("b", "1")]);
    sandbox.branch("topic", first);
    sandbox.commit(&[("a", "ours"), ("b", "ours")]);
    sandbox.switch("topic");
    fs::remove_file(sandbox.root().join("b")).unwrap();
    let theirs = sandbox.commit(&[("a", "theirs")]);
    sandbox.switch("main");
    let theirs = sandbox.repository.find_annotated_commit(theirs).unwrap();
    sandbox.repository.merge(&[&theirs], None, None).unwrap();
    let _ = fs::remove_file(sandbox.root().join("b"));
    let (_, head) = prepared(&sandbox, "HEAD..");
    assert!(fs::read_to_string(head.root().join("a")).unwrap().contains("<<<<<<<"));
    assert_eq!(content(head.root()).len(), 1);
}

/// As in a container job: another user checked out. Only root can give files away, so that others see the ordinary
/// case here.
#[test]
fn a_checkout_of_another_user_has_trees_too() {
    fn give_away(path: &Path) {
        std::os::unix::fs::lchown(path, Some(12_345), Some(12_345)).unwrap();
        if path.is_dir() && !path.is_symlink() {
            fs::read_dir(path).unwrap().for_each(|entry| give_away(&entry.unwrap().path()));
        }
    }
    let sandbox = Sandbox::new();
    sandbox.commit(&[("a", "1")]);
    sandbox.write("a", "edited");
    if nix::unistd::geteuid().is_root() {
        give_away(sandbox.folder.path());
    }
    let (base, head) = prepared(&sandbox, "HEAD..");
    assert_eq!(
        (content(base.root()), content(head.root())),
        (vec!["a = 1".into()], vec!["a = edited".into()])
    );
}
