//! The history on a branch of a repository on this disk: what lands, what is refused, what stays untouched.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use gbench_ci::history::{Appended, HistoryBranch, HistoryEntry};
use gbench_ci::model::{DirtyFacts, Exit, Outcome, Probe, RecordState};
use git2::{ObjectType, Oid, Repository};

use crate::support::git::{self, Sandbox};
use crate::support::history::{entry, recent};

const BRANCH: &str = "gbench-history";

fn open(folder: &Path, branch: &str) -> HistoryBranch<'static> {
    HistoryBranch::open(&format!("git:{branch}").parse().unwrap(), folder, None).unwrap()
}

fn append(folder: &Path, entry: &HistoryEntry) -> Appended {
    open(folder, BRANCH).append(entry).unwrap()
}

fn numbers(folder: &Path) -> Vec<String> {
    open(folder, BRANCH).list().unwrap().into_iter().map(|listed| listed.run_id.to_string()).collect()
}

fn bare(at: &Path) -> Repository {
    let mut options = git2::RepositoryInitOptions::new();
    Repository::init_opts(at, options.bare(true).initial_head("main").external_template(false)).unwrap()
}

/// Commits on the branch, each with exactly one parent but the first.
fn commits(repository: &Repository, branch: &str) -> usize {
    let mut walk = repository.revwalk().unwrap();
    walk.push_ref(&format!("refs/heads/{branch}")).unwrap();
    walk.map(|id| assert!(repository.find_commit(id.unwrap()).unwrap().parent_count() <= 1)).count()
}

/// Puts files on the branch as a person would, by path; a missing content removes the file.
fn by_hand(repository: &Repository, branch: &str, files: &[(&str, Option<&[u8]>)]) -> Oid {
    let name = format!("refs/heads/{branch}");
    let parent = repository.find_reference(&name).ok().map(|reference| reference.peel_to_commit().unwrap());
    let empty = || repository.find_tree(repository.treebuilder(None).unwrap().write().unwrap()).unwrap();
    let tree = parent.as_ref().map_or_else(empty, |parent| parent.tree().unwrap());
    let mut update = git2::build::TreeUpdateBuilder::new();
    for (path, bytes) in files {
        match bytes {
            Some(bytes) => update.upsert(*path, repository.blob(bytes).unwrap(), git2::FileMode::Blob),
            None => update.remove(*path),
        };
    }
    let tree = repository.find_tree(update.create_updated(repository, &tree).unwrap()).unwrap();
    let (who, parents) = (git::signature(), parent.iter().collect::<Vec<_>>());
    repository.commit(Some(&name), &who, &who, "by hand", &tree, &parents).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[test]
fn a_run_reads_back_as_it_was_written_and_stands_where_the_layout_says() {
    let sandbox = Sandbox::new();
    let written = entry(1);
    let appended = append(&sandbox.root(), &written);
    assert_eq!(appended.path, "history/2026-11/20261121T000001.000Z-000001.json.gz");
    assert!(!appended.already);

    let history = open(&sandbox.root(), BRANCH);
    let listed = history.list().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(history.read(&listed[0]).unwrap(), written);

    let commit = sandbox.repository.find_commit(Oid::from_str(&appended.version).unwrap()).unwrap();
    assert_eq!(commit.parent_count(), 0, "it shares no commit with the code");
    let readme =
        commit.tree().unwrap().get_name("README.md").unwrap().to_object(&sandbox.repository).unwrap();
    let readme = String::from_utf8(readme.as_blob().unwrap().content().to_vec()).unwrap();
    assert!(readme.contains("git show gbench-history:history/2026-11/RUN.json.gz | zcat"), "{readme}");
    assert!(commit.message().unwrap().contains("[skip ci]"), "a push of it starts no workflow");
}

#[test]
fn the_same_run_twice_is_there_once_whenever_it_is_added() {
    let sandbox = Sandbox::new();
    let first = append(&sandbox.root(), &entry(1));
    append(&sandbox.root(), &entry(2));
    let later = HistoryEntry { appended: "2026-12-24T18:00:00Z".into(), ..entry(1) };
    let second = append(&sandbox.root(), &later);
    assert!(second.already);
    assert_eq!(second.path, first.path);
    assert_eq!(commits(&sandbox.repository, BRANCH), 2);

    let mut other = entry(1);
    other.record.cases[0].metrics[0].processes[0].values[0] *= 2.0;
    let fault = open(&sandbox.root(), BRANCH).append(&other).unwrap_err();
    assert!(fault.what.contains("is there with another content"), "{fault}");
    assert_eq!(numbers(&sandbox.root()).len(), 2);
}

#[test]
fn the_same_entry_is_the_same_blob_on_every_machine_and_day() {
    let ids: Vec<_> = (0..2)
        .map(|_| {
            let sandbox = Sandbox::new();
            let appended = append(&sandbox.root(), &entry(7));
            let commit = sandbox.repository.find_commit(Oid::from_str(&appended.version).unwrap()).unwrap();
            commit.tree().unwrap().get_path(Path::new(&appended.path)).unwrap().id()
        })
        .collect();
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn a_run_that_was_cut_short_or_measured_nothing_never_enters() {
    let sandbox = Sandbox::new();
    let mut cut = entry(1);
    cut.record.state = RecordState::Interrupted;
    let mut killed = entry(2);
    killed.record.state = RecordState::Recovered;
    let mut nothing = entry(3);
    nothing.record.cases[0].outcome =
        Outcome::Skipped { code: None, cause: "no GPU".into(), advice: "use one".into() };
    for (entry, words) in [
        (cut, "the run was cut short"),
        (killed, "the run was cut short"),
        (nothing, "nothing in it was measured"),
    ] {
        let fault = open(&sandbox.root(), BRANCH).append(&entry).unwrap_err();
        assert_eq!((fault.what.as_str(), fault.exit), (words, Exit::Failed));
    }
    assert!(open(&sandbox.root(), BRANCH).need().unwrap_err().what.contains("there is no such branch"));
}

#[test]
fn the_users_checkout_and_index_stay_untouched_in_a_linked_work_tree_too() {
    let sandbox = Sandbox::new();
    let head = sandbox.commit(&[("code.txt", "one")]);
    sandbox.branch("feature", head);
    sandbox.write("code.txt", "two");
    sandbox.write("new.txt", "new");
    let mut index = sandbox.repository.index().unwrap();
    index.add_path(Path::new("new.txt")).unwrap();
    index.write().unwrap();
    let linked = sandbox.folder.path().join("linked");
    let feature = sandbox.repository.find_reference("refs/heads/feature").unwrap();
    let mut options = git2::WorktreeAddOptions::new();
    sandbox.repository.worktree("linked", &linked, Some(options.reference(Some(&feature)))).unwrap();
    git::write(&linked.join("loose.txt"), "loose");

    // Objects and the history's own branch are what may be new.
    let seen = |repository: &Repository| {
        let lines = git::fingerprint(repository);
        let lines = lines.lines().filter(|line| !line.contains(BRANCH) && !line.ends_with("objects"));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    let linked_repository = Repository::open(&linked).unwrap();
    let before = [seen(&sandbox.repository), seen(&linked_repository)];
    append(&sandbox.root(), &entry(1));
    append(&linked, &entry(2));
    assert_eq!([seen(&sandbox.repository), seen(&linked_repository)], before);
    assert_eq!(numbers(&sandbox.root()).len(), 2);
    assert_eq!(numbers(&linked).len(), 2);
}

#[test]
fn a_branch_that_is_checked_out_anywhere_is_not_moved_under_its_user() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("code.txt", "one")]);
    append(&sandbox.root(), &entry(1));
    let refused = |folder: &Path, at: &Path| {
        let fault = open(&sandbox.root(), BRANCH).append(&entry(2)).unwrap_err();
        assert!(fault.what.contains("is checked out here"), "{fault}");
        assert!(fault.next.contains("git switch"), "{fault}");
        assert_eq!(fault.place.to_string(), at.canonicalize().unwrap().display().to_string());
        assert_eq!(numbers(folder).len(), 1);
    };
    let linked = sandbox.folder.path().join("linked");
    let history = sandbox.repository.find_reference("refs/heads/gbench-history").unwrap();
    let mut options = git2::WorktreeAddOptions::new();
    let tree =
        sandbox.repository.worktree("linked", &linked, Some(options.reference(Some(&history)))).unwrap();
    refused(&sandbox.root(), &linked);
    std::fs::remove_dir_all(&linked).unwrap();
    tree.prune(None).unwrap();

    sandbox.switch(BRANCH);
    refused(&sandbox.root(), &sandbox.root());
    sandbox.switch("main");
    append(&sandbox.root(), &entry(2));
}

#[test]
fn a_branch_that_was_made_for_something_else_is_refused() {
    let sandbox = Sandbox::new();
    let head = sandbox.commit(&[("src/main.rs", "fn main() {}")]);
    sandbox.branch("release", head);
    let fault = open(&sandbox.root(), "release").append(&entry(1)).unwrap_err();
    assert!(fault.what.contains("made for something else"), "{fault}");
    by_hand(&sandbox.repository, "file", &[("history", Some(b"a file"))]);
    assert!(open(&sandbox.root(), "file").append(&entry(1)).is_err());
    by_hand(&sandbox.repository, "pruned", &[("README.md", Some(b"mine")), (".gitattributes", Some(b""))]);
    open(&sandbox.root(), "pruned").append(&entry(1)).unwrap();
}

#[test]
fn a_nested_name_is_in_order_and_one_beside_its_own_folder_is_not() {
    let sandbox = Sandbox::new();
    let head = sandbox.commit(&[("code.txt", "one")]);
    open(&sandbox.root(), "bench/nightly/größe").append(&entry(1)).unwrap();
    assert_eq!(open(&sandbox.root(), "bench/nightly/größe").list().unwrap().len(), 1);
    for (name, beside) in [("bench", "bench/nightly/größe"), ("bench/nightly", "bench/nightly/größe")] {
        let fault = open(&sandbox.root(), name).append(&entry(1)).unwrap_err();
        assert!(fault.what.contains(&format!("`{beside}` is there")), "{fault}");
    }
    sandbox.branch("a", head);
    // As `git gc` leaves it: no file is in the way, and still git could not keep both.
    let packed = format!("# pack-refs with: peeled fully-peeled sorted \n{head} refs/heads/a\n");
    std::fs::write(sandbox.repository.path().join("packed-refs"), packed).unwrap();
    std::fs::remove_file(sandbox.repository.path().join("refs/heads/a")).unwrap();
    let fault = open(&sandbox.root(), "a/b").append(&entry(1)).unwrap_err();
    assert!(fault.what.contains("`a` is there"), "{fault}");
}

#[test]
fn what_was_fetched_counts_too_and_a_branch_that_lags_behind_catches_up() {
    let sandbox = Sandbox::new();
    let repository = &sandbox.repository;
    let root = sandbox.root();
    let fetched = "refs/remotes/origin/gbench-history";
    let here = "refs/heads/gbench-history";
    let point = |name: &str, at: &str| {
        drop(repository.reference(name, Oid::from_str(at).unwrap(), true, "").unwrap())
    };

    let first = append(&root, &entry(1)).version;
    let second = append(&root, &entry(2)).version;
    point(fetched, &second);
    repository.find_reference(here).unwrap().delete().unwrap();
    assert_eq!(numbers(&root).len(), 2, "a clone has only what it fetched");
    point(here, &first);
    assert_eq!(numbers(&root).len(), 2, "the newer of the two speaks");
    assert!(append(&root, &entry(2)).already);
    let third = append(&root, &entry(3)).version;
    let third = repository.find_commit(Oid::from_str(&third).unwrap()).unwrap();
    assert_eq!(third.parent_id(0).unwrap().to_string(), second);

    // Grown apart: here 1 and 4, at the origin 1 and 2.
    point(here, &first);
    repository.find_reference(fetched).unwrap().delete().unwrap();
    append(&root, &entry(4));
    point(fetched, &second);
    assert_eq!(numbers(&root), [1, 2, 4].map(|number| entry(number).run_id.to_string()));
    assert!(append(&root, &entry(2)).already, "it is not added a second time beside the fetched one");
    append(&root, &entry(5));
    assert_eq!(numbers(&root).len(), 4);
}

#[test]
fn a_branch_that_someone_reset_is_gone_on_with_from_where_it_is() {
    let sandbox = Sandbox::new();
    let first = append(&sandbox.root(), &entry(1)).version;
    append(&sandbox.root(), &entry(2));
    let history = open(&sandbox.root(), BRANCH);
    sandbox
        .repository
        .reference("refs/heads/gbench-history", Oid::from_str(&first).unwrap(), true, "")
        .unwrap();
    history.append(&entry(3)).unwrap();
    assert_eq!(numbers(&sandbox.root()), [1, 3].map(|number| entry(number).run_id.to_string()));
}

#[test]
fn a_month_of_more_than_a_thousand_runs_goes_on_in_a_second_folder() {
    let sandbox = Sandbox::new();
    let names: Vec<_> =
        (0..1_000).map(|number| format!("history/2026-11/{}.json.gz", entry(number).run_id)).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), Some(b"x".as_slice()))).collect();
    by_hand(&sandbox.repository, BRANCH, &files);
    let appended = append(&sandbox.root(), &entry(2_000));
    assert!(appended.path.starts_with("history/2026-11.2/"), "{}", appended.path);
    assert!(append(&sandbox.root(), &entry(2_000)).already);
    assert!(append(&sandbox.root(), &entry(2_001)).path.starts_with("history/2026-11.2/"));
    assert_eq!(numbers(&sandbox.root()).len(), 1_002);
    // What stands in the first folder is not written into the second.
    assert!(open(&sandbox.root(), BRANCH).append(&entry(5)).unwrap_err().what.contains("another content"));
}

#[test]
fn what_is_no_entry_is_said_and_does_not_keep_the_others_from_being_read() {
    let sandbox = Sandbox::new();
    append(&sandbox.root(), &entry(1));
    let good = serde_json::to_vec(&entry(2)).unwrap();
    let packed = gzip(&good);
    let text = |change: fn(&mut serde_json::Value)| {
        let mut value = serde_json::to_value(entry(2)).unwrap();
        change(&mut value);
        gzip(&serde_json::to_vec(&value).unwrap())
    };
    let bomb = gzip(&vec![b' '; (64 << 20) + 1]);
    let cases: [(&str, Vec<u8>); 9] = [
        ("it cannot be unpacked", packed[..packed.len() / 2].to_vec()),
        ("it cannot be unpacked", b"by hand".to_vec()),
        ("it cannot be unpacked", Vec::new()),
        ("it unpacks to more than 64 MiB", bomb),
        ("it is not an entry of a history", gzip(b"{}")),
        (
            "its schema is `gbench-ci/history/v2`",
            text(|value| value["schema"] = "gbench-ci/history/v2".into()),
        ),
        ("its `branch` is not what", text(|value| value["branch"] = "main\u{1b}[31m".into())),
        ("the run was cut short", text(|value| value["record"]["state"] = "interrupted".into())),
        ("it holds another run than it is named for", gzip(&serde_json::to_vec(&entry(9)).unwrap())),
    ];
    let path = format!("history/2026-11/{}.json.gz", entry(2).run_id);
    for (words, bytes) in cases {
        by_hand(&sandbox.repository, BRANCH, &[(&path, Some(&bytes)), ("history/notes.txt", Some(b"mine"))]);
        let history = open(&sandbox.root(), BRANCH);
        let listed = history.list().unwrap();
        assert_eq!(listed.len(), 2);
        let fault = history.read(&listed[1]).unwrap_err();
        assert!(fault.what.contains(words), "{words}: {fault}");
        let (seen, warnings) = recent(&history, 9);
        assert_eq!(seen, [entry(1)]);
        assert!(warnings.len() == 1 && warnings[0].contains(words), "{warnings:?}");
    }
    by_hand(&sandbox.repository, BRANCH, &[(&path, Some(&packed))]);
    assert_eq!(recent(&open(&sandbox.root(), BRANCH), 1), (vec![entry(2)], vec![]));
}

#[test]
fn runs_are_shown_newest_first_until_enough_was_seen() {
    let sandbox = Sandbox::new();
    for number in 1..=4 {
        append(&sandbox.root(), &entry(number));
    }
    let history = open(&sandbox.root(), BRANCH);
    assert_eq!(recent(&history, 9).0, [4, 3, 2, 1].map(entry));
    assert_eq!(recent(&history, 2).0, [4, 3].map(entry));
}

#[test]
fn a_branch_that_is_not_there_or_is_none_of_a_history_is_told_apart_from_an_empty_one() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("code.txt", "one")]);
    let need = |branch: &str| open(&sandbox.root(), branch).need();
    let gone = need("nowhere").unwrap_err();
    assert!(
        gone.what.contains("there is no such branch") && gone.next.contains("git fetch origin nowhere"),
        "{gone}"
    );
    let code = need("main").unwrap_err();
    assert!(code.what.contains("the branch has no history"), "{code}");
    by_hand(&sandbox.repository, "empty", &[("README.md", Some(b"to come"))]);
    need("empty").unwrap();
    append(&sandbox.root(), &entry(1));
    need(BRANCH).unwrap();
}

#[test]
fn what_was_measured_with_changes_that_are_in_no_commit_never_enters() {
    let sandbox = Sandbox::new();
    for dirty in [
        DirtyFacts { tracked: 1, ..DirtyFacts::default() },
        DirtyFacts { staged: 1, ..DirtyFacts::default() },
        DirtyFacts { untracked: 1, ..DirtyFacts::default() },
    ] {
        let mut changed = entry(1);
        let Probe::Known(git) = &mut changed.record.manifest.git else { panic!("the manifest knows git") };
        git.dirty = dirty;
        let fault = open(&sandbox.root(), BRANCH).append(&changed).unwrap_err();
        assert!(fault.what.contains("changes that are in no commit"), "{fault}");
        assert_eq!(fault.exit, Exit::Failed);
    }
    assert!(sandbox.repository.find_reference("refs/heads/gbench-history").is_err());
}

#[test]
fn the_git_program_reads_the_branch_and_finds_nothing_wrong_with_it() {
    let here = Command::new("git").arg("--version").output();
    if !here.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "SKIPPED the_git_program_reads_the_branch_and_finds_nothing_wrong_with_it: git is not installed"
        );
        return;
    }
    let sandbox = Sandbox::new();
    append(&sandbox.root(), &entry(1));
    let appended = append(&sandbox.root(), &entry(2));
    let line = format!("git show gbench-history:{} | gzip -dc && git fsck --strict >&2", appended.path);
    let output = Command::new("sh").args(["-c", &line]).current_dir(sandbox.root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(serde_json::from_slice::<HistoryEntry>(&output.stdout).unwrap(), entry(2));
}

#[test]
fn a_repository_that_is_not_there_is_said() {
    let folder = crate::support::tempdir().unwrap();
    let address = "git:gbench-history".parse().unwrap();
    let fault = HistoryBranch::open(&address, folder.path(), None).err().unwrap();
    assert!(fault.what.contains("no git repository holds it"), "{fault}");
    let fault = HistoryBranch::open(&"dir:x".parse().unwrap(), folder.path(), None).err().unwrap();
    assert!(fault.what.contains("this is a folder"), "{fault}");
}

const WRITERS: u32 = 8;
const COMMITS: u32 = 25;

/// Every run of every writer once, each commit on the one before it, and nothing else.
fn all_are_there(repository: &Repository, folder: &Path) {
    let history = open(folder, BRANCH);
    let mut listed = history.list().unwrap();
    assert_eq!(listed.len(), (WRITERS * COMMITS) as usize);
    listed.dedup_by(|one, other| one.run_id == other.run_id);
    assert_eq!(listed.len(), (WRITERS * COMMITS) as usize);
    assert_eq!(commits(repository, BRANCH), (WRITERS * COMMITS) as usize);
    for (listed, number) in listed.iter().zip(0..) {
        assert_eq!(history.read(listed).unwrap(), entry(number));
    }
    let tip = repository.find_reference("refs/heads/gbench-history").unwrap().peel_to_tree().unwrap();
    let mut files = 0;
    tip.walk(git2::TreeWalkMode::PreOrder, |_, item| {
        files += u32::from(item.kind() == Some(ObjectType::Blob));
        git2::TreeWalkResult::Ok
    })
    .unwrap();
    assert_eq!(files, 2 * WRITERS * COMMITS + 1, "the runs, their names in the index, and the README");
}

#[test]
fn eight_writers_at_once_lose_nothing_in_a_bare_repository() {
    let folder = crate::support::tempdir().unwrap();
    let repository = bare(folder.path());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let folder = folder.path();
            scope.spawn(move || {
                // Each its own handle, as separate processes would have.
                let history = open(folder, BRANCH);
                for commit in 0..COMMITS {
                    assert!(!history.append(&entry(writer * COMMITS + commit)).unwrap().already);
                }
            });
        }
    });
    all_are_there(&repository, folder.path());
}

/// One of [`eight_processes_at_once_lose_nothing_beside_a_checkout`]: does nothing without what that one says.
#[test]
fn a_writer_in_a_process_of_its_own() {
    let Some(said) = std::env::var("GBENCH_TEST_WRITER").ok() else { return };
    let (writer, folder) = said.split_once(' ').unwrap();
    let writer: u32 = writer.parse().unwrap();
    let history = open(Path::new(folder), BRANCH);
    for commit in 0..COMMITS {
        history.append(&entry(writer * COMMITS + commit)).unwrap();
    }
}

#[test]
fn eight_processes_at_once_lose_nothing_beside_a_checkout() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("code.txt", "one")]);
    sandbox.write("code.txt", "two");
    let index = || std::fs::read(sandbox.repository.path().join("index")).unwrap();
    let before = (index(), git::status(&sandbox.repository));
    let start = |writer: u32| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "history_git::a_writer_in_a_process_of_its_own"])
            .env("GBENCH_TEST_WRITER", format!("{writer} {}", sandbox.root().display()))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let writers: Vec<_> = (0..WRITERS).map(start).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    all_are_there(&sandbox.repository, &sandbox.root());
    assert_eq!((index(), git::status(&sandbox.repository)), before);
    assert_eq!(std::fs::read_to_string(sandbox.root().join("code.txt")).unwrap(), "two");
}

#[test]
fn a_lock_that_is_held_is_waited_for() {
    let sandbox = Sandbox::new();
    append(&sandbox.root(), &entry(1));
    let lock = sandbox.repository.path().join("refs/heads/gbench-history.lock");
    std::fs::write(&lock, "").unwrap();
    std::thread::scope(|scope| {
        let root = sandbox.root();
        let writer = scope.spawn(move || append(&root, &entry(2)));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(numbers(&sandbox.root()).len(), 1, "nobody writes past a lock");
        std::fs::remove_file(&lock).unwrap();
        assert!(!writer.join().unwrap().already);
    });
    assert_eq!(numbers(&sandbox.root()).len(), 2);
}
