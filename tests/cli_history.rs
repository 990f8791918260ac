//! A history branch as a user's store: compared with, listed, never saved to.

use std::path::Path;

use gbench_ci::history::{HistoryBranch, HistoryEntry};
use gbench_ci::model::RunRecord;
use serde_json::Value;

use crate::support::cli::{Ran, command, ended, ran, write};
use crate::support::fake_github::FakeGithub;
use crate::support::git::Sandbox;
use crate::support::history::entry;
use crate::support::records::{build, noise, plan, scale};
use crate::support::rest;

const STORE: &str = "--store git:gbench-history";

/// A run whose figures moved by a third of a percent or so, and `factor` more.
fn session(number: u32, factor: f64) -> RunRecord {
    let plans = [
        plan("s/parse", 0, "host", "time", "s", 1e-3, 0.002),
        plan("s/sort", 0, "host", "time", "s", 2e-3, 0.002),
    ];
    let mut record = build(number, &plans);
    for (index, case) in plans.iter().enumerate() {
        scale(&mut record, case.benchmark, factor * (0.003 * noise([number, index as u32, 5, 5])).exp());
    }
    record
}

fn past(number: u32) -> HistoryEntry {
    let record = session(number, 1.0);
    HistoryEntry { run_id: record.run_id.clone(), record, ..entry(number) }
}

fn append(folder: &Path, entry: &HistoryEntry) {
    let history = HistoryBranch::open(&"git:gbench-history".parse().unwrap(), folder, None).unwrap();
    history.append(entry).unwrap();
}

/// A repository with six runs of `main` in its history, and a seventh as `head.json`.
fn repository(factor: f64) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("code.txt", "one")]);
    for number in 1..=6 {
        append(&sandbox.root(), &past(number));
    }
    write(&sandbox.root(), "head.json", &session(7, factor));
    sandbox
}

#[test]
fn the_runs_of_a_history_are_the_sessions_of_the_past() {
    let sandbox = repository(1.0);
    let root = sandbox.root();
    ran(&root, &format!("compare main head.json {STORE}")).exits(0).says("2 unchanged").says("6 stored runs");
    // Records that lie elsewhere are judged by it, too.
    write(&root, "base.json", &session(40, 1.0));
    ran(&root, &format!("compare base.json head.json {STORE}")).exits(0).says("6 stored runs");
    ran(&root, &format!("compare main head.json {STORE} --anchor main")).exits(0);

    let slower = repository(1.2);
    let line = format!("compare main head.json {STORE} --embed --json verdict.json");
    ran(&slower.root(), &line).exits(1).says("2 of 2 cases regressed");
    let verdict = std::fs::read_to_string(slower.root().join("verdict.json")).unwrap();
    let verdict: Value = serde_json::from_str(&verdict).unwrap();
    assert_eq!(verdict["records"]["history"]["runs"], 6);
    assert_eq!(verdict["base"]["name"], "main");
    // A name means something else tomorrow; the run's id does not.
    let again = verdict["reproduce"].as_str().unwrap().strip_prefix("gbench-ci ").unwrap();
    assert!(again.contains(past(6).run_id.as_str()) && again.contains(STORE), "{again}");
    append(&slower.root(), &HistoryEntry { label: "h100".into(), ..past(8) });
    ran(&slower.root(), again).exits(1);
    ran(&slower.root(), &format!("compare main@h100 head.json {STORE}")).exits(1).says("base main@h100");
}

#[test]
fn a_file_that_is_no_run_is_named_and_the_others_still_count() {
    let sandbox = repository(1.0);
    let repository = &sandbox.repository;
    let reference = repository.find_reference("refs/heads/gbench-history").unwrap();
    let tip = reference.peel_to_commit().unwrap();
    let mut update = git2::build::TreeUpdateBuilder::new();
    let blob = repository.blob(b"by hand").unwrap();
    update.upsert("history/2026-11/20261121T235959.000Z-00beef.json.gz", blob, git2::FileMode::Blob);
    let tree = update.create_updated(repository, &tip.tree().unwrap()).unwrap();
    let (who, tree) = (crate::support::git::signature(), repository.find_tree(tree).unwrap());
    repository.commit(Some("refs/heads/gbench-history"), &who, &who, "by hand", &tree, &[&tip]).unwrap();
    let line = format!("compare main head.json {STORE}");
    ran(&sandbox.root(), &line)
        .exits(0)
        .says("00beef.json.gz is not part of the history")
        .says("6 stored runs");
    let list =
        ran(&sandbox.root(), &format!("baseline list --json {STORE}")).exits(0).says("cannot be unpacked");
    assert_eq!(serde_json::from_str::<Value>(&list.out).unwrap().as_array().unwrap().len(), 6);
}

#[test]
fn the_runs_of_a_history_are_listed_and_nothing_is_saved_or_removed() {
    let sandbox = repository(1.0);
    let root = sandbox.root();
    append(&root, &HistoryEntry { label: "h100".into(), ..past(8) });
    let list = ran(&root, &format!("baseline list {STORE}")).exits(0);
    let list = list.says(past(1).run_id.as_str()).says("main@h100");
    assert_eq!(list.out.lines().count(), 8, "{}", list.out);
    let rows = ran(&root, &format!("baseline list --json {STORE}")).exits(0);
    let rows: Value = serde_json::from_str(&rows.out).unwrap();
    assert_eq!(rows[0]["name"], "main");
    assert_eq!(rows[0]["run_id"], past(1).run_id.as_str());
    assert_eq!(rows[0]["commit"], past(1).commit);
    assert_eq!(rows[0]["path"], format!("history/2026-11/{}.json.gz", past(1).run_id));
    assert_eq!(rows[6]["name"], "main@h100");

    let said = "a history takes whole runs of the default branch only";
    ran(&root, &format!("baseline save main head.json {STORE}"))
        .exits(2)
        .says(said)
        .says("publish --history");
    ran(&root, &format!("baseline remove main {STORE}")).exits(2).says(said);
    assert!(!root.join(".gbench").exists());
}

#[test]
fn of_a_long_history_the_newest_hundred_runs_are_read() {
    let sandbox = Sandbox::new();
    for number in 1..=101 {
        append(&sandbox.root(), &entry(number));
    }
    let list = ran(&sandbox.root(), &format!("baseline list --json {STORE}")).exits(0);
    let list = list.says("git:gbench-history holds 101 runs; the newest 100 are looked at");
    let rows: Value = serde_json::from_str(&list.out).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 100);
    assert_eq!(rows[0]["run_id"], entry(2).run_id.as_str());
}

#[test]
fn what_is_not_there_is_said_with_what_to_do() {
    let sandbox = repository(1.0);
    let root = sandbox.root();
    ran(&root, &format!("compare other head.json {STORE}"))
        .exits(2)
        .says("baseline list --store git:gbench-history");
    ran(&root, "compare main head.json --store git:nowhere").exits(2).says("`git fetch origin nowhere`");
    for json in ["", "--json "] {
        let list = |store: &str| ran(&root, &format!("baseline list {json}--store {store}")).exits(2);
        list("git:nowhere").says("there is no such branch").says("`git fetch origin nowhere`");
        list("git:main").says("the branch has no history");
    }
    let base = ran(&root, "compare topic head.json --store git:main").exits(2);
    base.says("the branch has no history");
    ran(&root, "compare main head.json --store git:a..b").exits(2).says("cannot name a branch");
    ran(&root, "compare main head.json --store github:acme/kernels").exits(2).says("names no branch");
    let outside = crate::support::tempdir().unwrap();
    ran(outside.path(), &format!("baseline list {STORE}")).exits(2).says("no git repository holds it");
}

#[test]
fn commits_are_compared_in_the_usual_folder_where_the_store_is_a_branch() {
    let sandbox = Sandbox::new();
    let suite = "[suite]\nname = 's'\n[run]\nstore = 'git:gbench-history'\n\
                 [[benchmark]]\nid = 'a'\ncommand = ['true']\n";
    sandbox.commit(&[("gbench.toml", suite)]);
    sandbox.commit(&[("code.txt", "two")]);
    ran(&sandbox.root(), "compare HEAD~1..HEAD --quiet --rounds 4");
    let trees = sandbox.root().join(".gbench/trees");
    assert!(trees.join("base").is_dir() && trees.join("head").is_dir());
    assert!(
        sandbox.repository.find_reference("refs/heads/gbench-history").is_err(),
        "reading makes no branch"
    );
}

fn with_github(folder: &Path, line: &str, fake: &FakeGithub, token: Option<(&str, &str)>) -> Ran {
    let mut command = command(folder, line);
    for name in ["GBENCH_TOKEN", "GITHUB_TOKEN", "GITHUB_SERVER_URL"] {
        command.env_remove(name);
    }
    command.env("GITHUB_API_URL", fake.url());
    command.envs(token);
    ended(command)
}

#[test]
fn a_history_on_github_is_read_with_the_token_of_the_environment() {
    let fake = FakeGithub::start();
    fake.repository("acme/kernels");
    let token = fake.actions_token(&["contents"]);
    let client = rest::client(&fake.url(), "acme/kernels", Some(&token), rest::hasty());
    let address = "github:acme/kernels@gbench-history".parse().unwrap();
    let history = HistoryBranch::open(&address, Path::new("."), Some(&client)).unwrap();
    for number in 1..=6 {
        history.append(&past(number)).unwrap();
    }
    let folder = crate::support::tempdir().unwrap();
    write(folder.path(), "head.json", &session(7, 1.0));
    let line = "compare main head.json --store github:acme/kernels@gbench-history";
    let before = fake.requests().len();
    for name in ["GBENCH_TOKEN", "GITHUB_TOKEN"] {
        let ran = with_github(folder.path(), line, &fake, Some((name, &token)));
        ran.exits(0).says("2 unchanged").says("6 stored runs");
    }
    // One for each run and for the newest once more; ref, commit and two trees.
    assert!(fake.requests().len() - before <= 2 * (6 + 1 + 4), "{:?}", fake.requests().len() - before);

    let refused = with_github(folder.path(), line, &fake, Some(("GBENCH_TOKEN", "ghs_wrong"))).exits(6);
    assert!(!refused.says("Bad credentials").err.contains("ghs_wrong"));
    with_github(folder.path(), line, &fake, None).exits(6).says("set GBENCH_TOKEN or GITHUB_TOKEN");
    let base = "compare head.json head.json --store github:acme/kernels@gbench-history";
    with_github(folder.path(), base, &fake, None).exits(0);
}
