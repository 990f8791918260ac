//! Nights cannot lie: what a scheduled run is judged against when the history is gone, broken, long, or of somebody else.

use gbench_ci::compare::Conclusion;
use gbench_ci::github::{Client, ClientLimits, Endpoint, Token};
use gbench_ci::history::{Address, HistoryBranch, HistoryEntry, Started};
use gbench_ci::model::{Exit, NoReference};
use git2::{Oid, Signature};
use std::ops::ControlFlow;

use crate::support::cli::{Ran, ended};
use crate::support::fake_github::{FakeGithub, RunSeed};
use crate::support::git::Sandbox;
use crate::support::history::entry;
use crate::support::job::{BENCH, Checkout, suite, work};

const BRANCH: &str = "refs/heads/gbench-history";
const CI: &str = "ci --quiet --history git:gbench-history";
const PUBLISH: &str = "publish --comment never --issue --history git:gbench-history";

/// `main` at night, and the GitHub that hears of it.
struct Nights {
    checkout: Checkout,
    fake: FakeGithub,
    token: String,
}

impl Nights {
    fn new() -> Self {
        let checkout = Checkout::over(
            &[("gbench.toml", &suite(2, "")), ("work", &work(&[1.0; 2])), ("bench.sh", BENCH)],
            &[("note", "x")],
        );
        checkout.sandbox.switch("main");
        let fake = FakeGithub::start();
        fake.repository("acme/kernels");
        let token = fake.actions_token(&["checks", "contents", "issues"]);
        let base = checkout.base;
        Self { checkout: Checkout { head: base, ..checkout }, fake, token }
    }

    /// A new commit of `main`.
    fn commit(&mut self, costs: &[f64], note: &str) -> Oid {
        self.checkout.head = self.checkout.sandbox.commit(&[("work", &work(costs)), ("note", note)]);
        self.checkout.head
    }

    fn measured(&self, event: &str, flags: &str) -> Ran {
        self.checkout.ran(event, &format!("{CI} {flags}"))
    }

    fn published(&self, event: &str) -> Ran {
        let head = self.checkout.head.to_string();
        self.fake.workflow_run(&RunSeed {
            event,
            head_branch: "main",
            head_sha: &head,
            ..RunSeed::default()
        });
        let mut step = self.checkout.step(event, PUBLISH);
        step.env("GITHUB_API_URL", self.fake.url()).env("GBENCH_TOKEN", &self.token);
        ended(step).exits(0)
    }

    fn open_issues(&self) -> usize {
        self.fake.issues().iter().filter(|issue| issue.open).count()
    }

    fn base(&self) -> Option<String> {
        self.checkout.job().base.commit
    }

    fn forget(&self) {
        self.checkout.sandbox.repository.find_reference(BRANCH).unwrap().delete().unwrap();
    }

    #[track_caller]
    fn decides_nothing(&self, flags: &str, missing: NoReference) {
        let ran = self.measured("schedule", flags).exits(Exit::Inconclusive.code().into());
        let verdict = self.checkout.verdict();
        assert_eq!(verdict.conclusion, Conclusion::Inconclusive, "{missing:?}");
        assert_eq!(verdict.method.no_reference, Some(missing));
        assert!(verdict.sentence.starts_with("Nothing is decided"), "{}", verdict.sentence);
        assert!(verdict.sentence.contains(missing.words()), "{}", verdict.sentence);
        assert!(ran.out.contains("::warning title=compared with itself"), "{}", ran.out);
        ran.says(&format!("nothing will be decided; next: {}", missing.next()));
        assert_eq!(self.checkout.output("verdict").as_deref(), Some("inconclusive"));
    }
}

fn open(root: &std::path::Path) -> HistoryBranch<'static> {
    HistoryBranch::open(&"git:gbench-history".parse().unwrap(), root, None).unwrap()
}

/// Puts a tree of these files in the place of the history's.
fn replace(sandbox: &Sandbox, files: &[(&str, &[u8])]) {
    let repository = &sandbox.repository;
    let mut update = git2::build::TreeUpdateBuilder::new();
    for (path, bytes) in files {
        update.upsert(*path, repository.blob(bytes).unwrap(), git2::FileMode::Blob);
    }
    let empty = repository.find_tree(repository.treebuilder(None).unwrap().write().unwrap()).unwrap();
    let tree = repository.find_tree(update.create_updated(repository, &empty).unwrap()).unwrap();
    let by = Signature::now("Ada", "ada@example.org").unwrap();
    let commit = repository.commit(None, &by, &by, "by hand", &tree, &[]).unwrap();
    repository.reference(BRANCH, commit, true, "by hand").unwrap();
}

#[test]
fn n15_a_night_without_a_trustworthy_reference_is_inconclusive_and_says_what_is_missing() {
    let nights = Nights::new();
    let sandbox = &nights.checkout.sandbox;
    nights.decides_nothing("", NoReference::NoBranch);
    // The check blocks, as the job is red, unless whoever wrote the workflow minds nothing that is open.
    for (flags, standing) in [
        ("", "action_required"),
        ("--fail-on inconclusive", "action_required"),
        ("--fail-on regression", "neutral"),
    ] {
        let ran = nights.checkout.ran("schedule", &format!("publish --dry-run --issue {flags}")).exits(0);
        ran.says(&format!("would end as {standing}"))
            .says("issue: would be left as it is, the verdict is inconclusive");
    }
    // The verdict follows from the records alone, without any history.
    let id = nights.checkout.comparison();
    let id = id.file_name().unwrap().to_str().unwrap();
    ended(crate::support::job::outside(&nights.checkout.root(), &format!("replay {id}")))
        .exits(3)
        .says("identical to");
    replace(sandbox, &[("README.md", b"# Benchmark history\n")]);
    nights.decides_nothing("", NoReference::NoRun);
    let path = format!("history/2026-11/{}.json.gz", entry(1).run_id);
    replace(sandbox, &[(&path, b"torn")]);
    nights.decides_nothing("", NoReference::Unreadable);
    // Of another machine.
    nights.forget();
    open(&nights.checkout.root()).append(&HistoryEntry { label: "h100".into(), ..entry(1) }).unwrap();
    nights.decides_nothing("", NoReference::NoRun);
    // The branch is there and what it points to is not: a clone that fetched it in part, or a broken disk.
    let tip = sandbox.repository.find_reference(BRANCH).unwrap().target().unwrap().to_string();
    let object = sandbox.repository.path().join("objects").join(&tip[..2]).join(&tip[2..]);
    std::fs::remove_file(object).unwrap();
    nights.decides_nothing("", NoReference::Unreadable);
    let ran = nights.checkout.ran("schedule", "ci --quiet").exits(3);
    ran.says("no `--history` says what was green before");
    // Whoever says that this fails nothing is followed; the verdict stays what it is.
    nights.measured("schedule", "--fail-on regression,failed").exits(0);
    assert_eq!(nights.checkout.verdict().conclusion, Conclusion::Inconclusive);
}

#[test]
fn n15_a_history_that_was_lost_closes_no_issue_and_makes_no_slow_commit_its_own_base() {
    let mut nights = Nights::new();
    let good = nights.checkout.head;
    // The first night has nothing to go by, and begins the history.
    nights.measured("schedule", "").exits(3);
    nights.published("schedule").says("issue: left as it is, the verdict is inconclusive");
    nights.commit(&[1.0; 2], "as fast");
    nights.measured("schedule", "").exits(0).says("the commit of the oldest run in the history");
    assert_eq!(nights.base(), Some(good.to_string()));
    nights.published("schedule").says("none is open");
    let green = nights.checkout.head;
    for note in ["slow", "slow still"] {
        nights.commit(&[1.0, 1.1], note);
        nights.measured("schedule", "").exits(1);
        assert_eq!(nights.base(), Some(green.to_string()));
        nights.published("schedule");
    }
    assert_eq!(nights.open_issues(), 1);

    // Somebody deletes the branch.
    let kept = nights.checkout.sandbox.repository.find_reference(BRANCH).unwrap().target().unwrap();
    nights.forget();
    nights.decides_nothing("", NoReference::NoBranch);
    nights.published("schedule").says("issue: left as it is, the verdict is inconclusive");
    let slow = nights.checkout.head;
    nights.commit(&[1.0, 1.1], "as slow");
    nights.measured("schedule", "").exits(0);
    assert_eq!(nights.base(), Some(slow.to_string()), "it says what it was judged against");
    nights.published("schedule").says("issue: left as it is, the history begins after it was opened");
    nights.commit(&[1.0, 1.1], "as slow again");
    nights.measured("schedule", "").exits(0).says("the newest green commit of the history");
    nights.published("schedule").says("issue: left as it is, the history begins after it was opened");
    assert_eq!(nights.open_issues(), 1, "nobody has seen it as fast as it was");

    // The branch is restored, and the nights go on from where they were.
    nights.checkout.sandbox.repository.reference(BRANCH, kept, true, "restored").unwrap();
    nights.measured("schedule", "").exits(1);
    assert_eq!(nights.base(), Some(green.to_string()));
    nights.commit(&[1.0; 2], "fast again");
    nights.measured("schedule", "").exits(0);
    nights.published("schedule").says("issue: closed");
}

#[test]
fn n15_somebody_who_accepts_a_commit_closes_the_issue_whatever_the_history_holds() {
    let mut nights = Nights::new();
    nights.measured("workflow_dispatch", "--base HEAD").exits(0);
    nights.published("workflow_dispatch");
    nights.commit(&[1.0, 1.1], "slow");
    nights.measured("schedule", "").exits(1);
    nights.published("schedule").says("issue: opened");
    nights.forget();
    nights.measured("workflow_dispatch", "--base HEAD").exits(0);
    nights.published("workflow_dispatch").says("issue: closed");
    nights.commit(&[1.0, 1.1], "as slow");
    nights.measured("schedule", "").exits(0).says("the newest green commit of the history");
}

/// 300 red nights after one that was green; what they were judged against is not known, as in a history by other hands.
fn red_nights(root: &std::path::Path, green: &str, parts: u32) {
    let history = open(root);
    history.append(&HistoryEntry { commit: green.into(), ..entry(1) }).unwrap();
    for night in 2..302 {
        let shard = (parts > 1).then(|| format!("{}/{parts}", night % parts + 1).parse().unwrap());
        let conclusion = Some("regressed".into());
        history.append(&HistoryEntry { conclusion, shard, ..entry(night) }).unwrap();
    }
}

#[test]
fn n15_the_last_green_commit_is_found_behind_300_red_nights_at_a_handful_of_requests() {
    let nights = Nights::new();
    let green = nights.checkout.base.to_string();
    red_nights(&nights.checkout.root(), &green, 1);
    nights.measured("schedule", "").exits(0).says("the newest green commit of the history");
    assert_eq!(nights.base(), Some(green.clone()));

    // The same branch on GitHub.
    let repository = &nights.checkout.sandbox.repository;
    let tree = repository.find_reference(BRANCH).unwrap().peel_to_tree().unwrap();
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    tree.walk(git2::TreeWalkMode::PreOrder, |folder, item| {
        if item.kind() == Some(git2::ObjectType::Blob) {
            let bytes = repository.find_blob(item.id()).unwrap().content().to_vec();
            files.push((format!("{folder}{}", item.name().unwrap()), bytes));
        }
        git2::TreeWalkResult::Ok
    })
    .unwrap();
    assert_eq!(files.len(), 2 * 301 + 1);
    let of = |files: &[(String, Vec<u8>)], branch: &str| {
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
        nights.fake.commit(branch, &files, "the history");
    };
    of(&files, "gbench-history");
    let looked = |branch: &str, label: &str| {
        let endpoint = Endpoint::new(Some(&nights.fake.url()), None).unwrap();
        let token = Token::new(&nights.token).unwrap();
        let limits = ClientLimits { requests: 400, ..ClientLimits::default() };
        let client = Client::new(&endpoint, &"acme/kernels".parse().unwrap(), Some(&token), limits).unwrap();
        let address = Address::GitHub { slug: "acme/kernels".parse().unwrap(), branch: branch.into() };
        let history = HistoryBranch::open(&address, std::path::Path::new("."), Some(&client)).unwrap();
        let mut seen = Vec::new();
        let looked = history.series(Some("main"), label, |run| {
            seen.push(run.clone());
            if run.is_green { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (looked.unwrap(), seen, client.requests_used())
    };
    let (whole, seen, spent) = looked("gbench-history", "");
    assert_eq!((seen.len(), &seen[300].commit, seen[300].started), (301, &green, Started::Schedule));
    assert!(!whole.cut_short && whole.is_there && spent <= 5, "{spent}");
    let (_, none, spent) = looked("gbench-history", "h100");
    assert!(none.is_empty() && spent <= 5, "{spent}");

    // As an older version wrote it: every run is read, and no more than a hundred of them.
    let plain: Vec<_> = files.iter().filter(|(path, _)| !path.contains("/index/")).cloned().collect();
    assert_eq!(plain.len(), 302);
    of(&plain, "plain");
    let (cut, seen, spent) = looked("plain", "");
    assert!(cut.cut_short && seen.len() == 100 && spent <= 105, "{} {spent}", seen.len());
}

#[test]
fn n15_a_name_of_the_index_counts_only_while_it_stands_for_its_run() {
    let sandbox = Sandbox::new();
    let history = open(&sandbox.root());
    history.append(&entry(1)).unwrap();
    history.append(&HistoryEntry { conclusion: Some("regressed".into()), ..entry(2) }).unwrap();
    let tree = sandbox.repository.find_reference(BRANCH).unwrap().peel_to_tree().unwrap();
    let mut names = Vec::new();
    tree.walk(git2::TreeWalkMode::PreOrder, |folder, item| {
        if folder.starts_with("history/index/2026-11/") {
            names.push((format!("{folder}{}", item.name().unwrap()), item.id()));
        }
        git2::TreeWalkResult::Ok
    })
    .unwrap();
    assert_eq!(names.len(), 2);
    assert!(
        names[0].0.ends_with("_schedule_green") && names[1].0.ends_with("_schedule_not-green"),
        "{names:?}"
    );
    // It costs no room.
    let run = tree.get_path(format!("history/2026-11/{}.json.gz", entry(1).run_id).as_ref()).unwrap();
    assert_eq!(run.id(), names[0].1);
    // Somebody renames the red one to a green one, or changes what it stands for: the run itself is asked.
    let bytes = |number| {
        let path = format!("history/2026-11/{}.json.gz", entry(number).run_id);
        let blob = tree.get_path(path.as_ref()).unwrap().id();
        (path, sandbox.repository.find_blob(blob).unwrap().content().to_vec())
    };
    let (one, two) = (bytes(1), bytes(2));
    let forged = names[1].0.replace("not-green", "green");
    replace(&sandbox, &[(&one.0, &one.1), (&two.0, &two.1), (&forged, b"x")]);
    let mut colours = Vec::new();
    let looked = open(&sandbox.root()).series(Some("main"), "", |run| {
        colours.push(run.is_green);
        ControlFlow::Continue(())
    });
    assert_eq!((colours, looked.unwrap().unreadable), (vec![false, true], 0));
    // A name without a run is nobody's.
    replace(&sandbox, &[(&one.0, &one.1), (&names[1].0, &two.1)]);
    assert_eq!(open(&sandbox.root()).list().unwrap().len(), 1);
}

#[test]
fn n15_seven_nights_of_sixteen_jobs_keep_the_reference_that_they_were_judged_against() {
    let nights = Nights::new();
    let green = nights.checkout.base.to_string();
    let history = open(&nights.checkout.root());
    // The green run itself is pruned: what the red ones were judged against is known all the same.
    for number in 1..=7 * 16 {
        let (base, conclusion) = (Some(green.clone()), Some("regressed".into()));
        let shard = Some(format!("{}/16", number % 16 + 1).parse().unwrap());
        history.append(&HistoryEntry { base, conclusion, shard, ..entry(number) }).unwrap();
    }
    nights.measured("schedule", "").says("what the newest run of main in the history was judged against");
    assert_eq!(nights.base(), Some(green));
}
