//! `baseline copy`: every run of one store in another, and what keeps it from being so.

use gbench_ci::history::{BesideFile, HistoryBranch, HistoryEntry};
use gbench_ci::model::Probe;
use gbench_ci::store::{Store, read_record};

use crate::support::cli::ran;
use crate::support::git::Sandbox;
use crate::support::history::{entry, recent};

const SUITE: &str = "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"b\"\ncommand = [\"true\"]\n";

fn branch(sandbox: &Sandbox, name: &str) -> HistoryBranch<'static> {
    HistoryBranch::open(&format!("git:{name}").parse().unwrap(), &sandbox.root(), None).unwrap()
}

/// A repository with three runs and an acceptance in its history.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("code.txt", "one")]);
    let kept = branch(&sandbox, "kept");
    kept.append_with(&entry(1), &[acceptance()]).unwrap();
    kept.append(&entry(2)).unwrap();
    kept.append(&HistoryEntry { label: "h100".into(), ..entry(3) }).unwrap();
    sandbox
}

fn acceptance() -> BesideFile {
    BesideFile { path: "history/accepted/7-3001.json".into(), bytes: b"{}\n".to_vec() }
}

#[test]
fn a_history_has_the_same_files_after_it_was_copied_however_often() {
    let sandbox = repository();
    let root = sandbox.root();
    ran(&root, "baseline copy git:kept git:second").exits(0).says("copied 3 runs to git:second, 0 of them");
    let tree = |name: &str| {
        let reference = sandbox.repository.find_reference(&format!("refs/heads/{name}")).unwrap();
        reference.peel_to_tree().unwrap().get_name("history").unwrap().id()
    };
    assert_eq!(tree("kept"), tree("second"));
    let again = ran(&root, "baseline copy git:kept git:second").exits(0);
    again.says("copied 3 runs to git:second, 3 of them there before, and 1 acceptance;");
    assert_eq!(tree("kept"), tree("second"));
    ran(&root, "baseline copy git:kept git:kept").exits(2).says("not copied to itself");
    ran(&root, "baseline copy git:nowhere git:second").exits(2).says("there is no such branch");
}

#[test]
fn a_folder_keeps_the_records_of_a_history_and_gives_them_back() {
    let sandbox = repository();
    let root = sandbox.root();
    ran(&root, "baseline copy git:kept dir:saved").exits(0).says("copied 3 runs to dir:saved");
    let saved = Store::open("dir:saved", &root, 10).unwrap().list();
    let names: Vec<_> = saved.iter().map(|saved| saved.name.to_string()).collect();
    assert_eq!(names, ["main", "main", "main+h100"]);
    for (saved, number) in saved.iter().zip(1..) {
        assert_eq!(read_record(&saved.path).unwrap(), entry(number).record);
    }
    ran(&root, "baseline copy git:kept dir:saved").exits(0).says("3 of them there before");
    ran(&root, "baseline copy dir:saved git:back").exits(0).says("copied 3 runs to git:back");
    ran(&root, "baseline copy dir:saved git:back").exits(0).says("3 of them there before");
    let (back, unreadable) = recent(&branch(&sandbox, "back"), 9);
    assert_eq!((back.len(), unreadable), (3, vec![]));
    for (back, number) in back.iter().rev().zip(1..) {
        assert_eq!(back.record, entry(number).record);
        let Probe::Known(git) = &back.record.manifest.git else { panic!("the manifest knows git") };
        assert_eq!(Some(&back.commit), git.commit.as_ref());
    }
}

#[test]
fn nothing_is_dropped_or_replaced_to_make_room() {
    let sandbox = repository();
    let root = sandbox.root();
    sandbox.write("gbench.toml", &format!("{SUITE}[run]\nkeep = 1\n"));
    ran(&root, "baseline copy git:kept dir:saved")
        .exits(2)
        .says("2 runs of `main` are more than the 1")
        .says("keep = 2");
    assert!(!root.join("saved").exists());

    let mut other = entry(2);
    other.record.cases[0].metrics[0].processes[0].values[0] *= 2.0;
    branch(&sandbox, "other").append(&other).unwrap();
    ran(&root, "baseline copy git:kept git:other").exits(6).says("is there with another content");
    sandbox.write("gbench.toml", SUITE);
    Store::open("dir:saved", &root, 10).unwrap().save(&"main".parse().unwrap(), &other.record).unwrap();
    ran(&root, "baseline copy git:kept dir:saved").exits(6).says("is there with another content");
}

#[test]
fn what_cannot_be_copied_is_named_and_the_exit_code_shows_it() {
    let sandbox = repository();
    let root = sandbox.root();
    let store = Store::open("dir:saved", &root, 10).unwrap();
    for name in ["first", "second"] {
        store.save(&name.parse().unwrap(), &entry(1).record).unwrap();
    }
    let mut nowhere = entry(4).record;
    nowhere.manifest.git = Probe::Absent("no repository".into());
    store.save(&"first".parse().unwrap(), &nowhere).unwrap();
    std::fs::write(root.join("saved/baselines/first/20261121T000009.000Z-000009.json"), "by hand").unwrap();
    ran(&root, "baseline copy dir:nowhere git:back").exits(2).says("there is no such store");
    let copied = ran(&root, "baseline copy dir:saved git:back").exits(4).says("copied 1 run to git:back");
    let copied = copied.says("it is of no commit").says("is passed over: not a record");
    copied.says("has another name, too, which is not copied");
}
