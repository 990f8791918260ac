//! In which order reports come, and what stands there in the end: GitHub promises no order of its events, and runs overtake
//! each other. Always the newest run of a pull request has the last word, in the check and in the comment alike.

use std::path::PathBuf;

use gbench_ci::compare::VerdictPart;
use serde_json::json;
use tempfile::TempDir;

use crate::support::cli::{Ran, ended};
use crate::support::fake_github::{Check, FakeGithub, RunSeed};
use crate::support::github::SLUG;
use crate::support::job::outside;
use crate::support::merging::{self, HEAD};
use crate::support::zips;

/// Pull request 42 from the branch `topic` at [`HEAD`], and workflow runs on it.
struct Desk {
    fake: FakeGithub,
    folder: TempDir,
    token: String,
}

/// A word about a run: that it was asked for, or that it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Requested(u64),
    Completed(u64),
}
use Word::{Completed, Requested};

const ALL: [&str; 3] = ["pull_requests", "checks", "actions"];

impl Desk {
    fn new(permissions: &[&str]) -> Self {
        let fake = FakeGithub::start();
        fake.repository(SLUG);
        fake.pull(42, HEAD, "topic", SLUG, "main");
        let token = fake.actions_token(permissions);
        Self { fake, folder: crate::support::tempdir().unwrap(), token }
    }

    /// A run that has measured something slower, or not.
    fn measured(&self, run: u64, slower: bool, pull_request: Option<u64>) {
        self.known(run);
        let mut part: VerdictPart = merging::part("", None, slower);
        part.job.as_mut().unwrap().pull_request = pull_request;
        let verdict = serde_json::to_vec(&part.verdict).unwrap();
        let job = serde_json::to_vec(&part.job).unwrap();
        let files = [("r/reports/verdict.json", verdict), ("r/job.json", job)];
        let files: Vec<_> = files.iter().map(|(name, data)| zips::deflated(name, data)).collect();
        self.fake.artifact(run, "gbench-ci", &zips::archive(&files));
    }

    /// A run that has left nothing.
    fn known(&self, run: u64) {
        self.fake.workflow_run(&RunSeed {
            id: run,
            head_sha: HEAD,
            head_branch: "topic",
            ..RunSeed::default()
        });
    }

    /// The report's job at this word.
    #[track_caller]
    fn hears(&self, word: Word, flags: &str) -> Ran {
        let (run, action, conclusion) = match word {
            Requested(run) => (run, "requested", None),
            Completed(run) => (run, "completed", Some("success")),
        };
        let event = json!({
            "action": action,
            "workflow_run": {
                "id": run, "run_attempt": 1, "event": "pull_request", "conclusion": conclusion,
                "head_sha": HEAD, "head_branch": "topic", "head_repository": {"full_name": SLUG},
            },
            "repository": {"full_name": SLUG, "default_branch": "main"},
        });
        self.plays("workflow_run", &event, 900_000 + run, &format!("publish {flags}"))
    }

    /// A step of a pull request's own job.
    fn own(&self, number: u64, run: u64, line: &str) -> Ran {
        let event = json!({
            "number": number,
            "pull_request": {
                "number": number,
                "head": {"ref": "topic", "sha": HEAD, "repo": {"full_name": SLUG}},
                "base": {"ref": "main", "sha": merging::BASE, "repo": {"full_name": SLUG}},
            },
        });
        self.plays("pull_request", &event, run, line)
    }

    #[track_caller]
    fn plays(&self, name: &str, event: &serde_json::Value, run: u64, line: &str) -> Ran {
        let path = self.folder.path().join("event.json");
        std::fs::write(&path, event.to_string()).unwrap();
        let mut command = outside(self.folder.path(), line.trim());
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", name)
            .env("GITHUB_EVENT_PATH", &path)
            .env("GITHUB_REPOSITORY", SLUG)
            .env("GITHUB_SHA", HEAD)
            .env("GITHUB_RUN_ID", run.to_string())
            .env("GITHUB_API_URL", self.fake.url())
            .env("GBENCH_TOKEN", &self.token);
        ended(command)
    }

    /// The folder of a result.
    fn part(&self, slower: bool) -> String {
        let part = VerdictPart { name: format!("result-{slower}"), ..merging::part("", None, slower) };
        let path: PathBuf = merging::write(&part, self.folder.path());
        path.display().to_string()
    }

    /// The check of this name that GitHub shows: the newest.
    fn shown(&self, name: &str) -> Check {
        let checks = self.fake.checks(HEAD).into_iter().filter(|check| check.name == name);
        checks.max_by_key(|check| check.id).unwrap_or_else(|| panic!("no check {name}"))
    }

    fn conclusion(&self, name: &str) -> String {
        let check = self.shown(name);
        check.conclusion.unwrap_or(check.status)
    }

    /// What the one comment says, `None` where there is none.
    fn comment(&self, number: u64) -> Option<String> {
        let comments = self.fake.comments(number);
        assert!(comments.len() <= 1, "{comments:?}");
        comments.first().map(|comment| comment.body.clone())
    }
}

fn is_red(comment: &str) -> bool {
    comment.lines().next().is_some_and(|heading| heading.ends_with("gbench-ci: regressed"))
}

/// Every order of so many words.
fn orders(words: &[Word]) -> Vec<Vec<Word>> {
    if words.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for at in 0..words.len() {
        let mut rest = words.to_vec();
        let first = rest.remove(at);
        all.extend(orders(&rest).into_iter().map(|tail| [vec![first], tail].concat()));
    }
    all
}

#[test]
fn n16_in_every_order_of_two_runs_words_the_newer_run_has_the_last_one() {
    let orders = orders(&[Requested(101), Completed(101), Requested(102), Completed(102)]);
    assert_eq!(orders.len(), 24);
    for newer_is_slower in [false, true] {
        // A newer run that is green may leave no comment of its own, which is the harder case.
        let step = if newer_is_slower { 5 } else { 1 };
        for order in orders.iter().step_by(step) {
            let desk = Desk::new(&ALL);
            desk.measured(101, !newer_is_slower, None);
            desk.measured(102, newer_is_slower, None);
            for word in order {
                desk.hears(*word, "").exits(0);
            }
            let wanted = if newer_is_slower { "failure" } else { "success" };
            assert_eq!(desk.conclusion("gbench-ci"), wanted, "{order:?}");
            let comment = desk.comment(42);
            match newer_is_slower {
                true => assert!(comment.is_some_and(|text| is_red(&text)), "{order:?}"),
                // Nothing, or that all is well.
                false => assert!(comment.is_none_or(|text| !is_red(&text)), "{order:?}"),
            }
        }
    }
}

#[test]
fn n16_a_late_word_of_the_beginning_leaves_the_end_as_it_is() {
    let desk = Desk::new(&ALL);
    desk.measured(101, true, None);
    desk.hears(Completed(101), "").exits(0);
    let writes = |desk: &Desk| desk.fake.count("PATCH", ".") + desk.fake.count("POST", ".");
    let before = writes(&desk);
    desk.hears(Requested(101), "").exits(0).says("this run has ended the check");
    assert_eq!((desk.conclusion("gbench-ci").as_str(), writes(&desk)), ("failure", before));
    // A further attempt is a beginning.
    let part = desk.part(true);
    desk.own(42, 102, "publish --start").exits(0).says("in progress");
    assert_eq!(desk.conclusion("gbench-ci"), "in_progress");
    desk.own(42, 102, &format!("publish {part}")).exits(0);
    desk.own(42, 102, "publish --start").exits(0);
    assert_eq!(desk.conclusion("gbench-ci"), "failure");
}

#[test]
fn n16_statuses_keep_the_order_that_checks_do() {
    for order in [
        [Requested(101), Completed(101), Requested(102), Completed(102)],
        [Completed(102), Requested(102), Completed(101), Requested(101)],
        [Requested(102), Completed(102), Requested(101), Completed(101)],
        [Completed(101), Completed(102), Requested(101), Requested(102)],
    ] {
        let desk = Desk::new(&["pull_requests", "statuses", "actions"]);
        desk.measured(101, true, None);
        desk.measured(102, false, None);
        for word in order {
            desk.hears(word, "").exits(0);
        }
        assert_eq!(desk.fake.statuses(HEAD).last().unwrap().state, "success", "{order:?}");
        assert!(desk.comment(42).is_none_or(|text| !is_red(&text)), "{order:?}");
    }
}

#[test]
fn n16_what_an_earlier_run_said_is_no_answer_of_a_run_without_one() {
    for slower in [false, true] {
        let desk = Desk::new(&ALL);
        let part = desk.part(slower);
        desk.own(42, 101, &format!("publish {part} --comment always")).exits(0).says("created");
        desk.own(42, 102, "publish --ended 143").exits(0).says("comment on #42: updated");
        let comment = desk.comment(42).unwrap();
        assert!(comment.contains("no verdict") && comment.contains("interrupted"), "{comment}");
        assert!(comment.contains("actions/runs/102") && !comment.contains("kernels/gemm"), "{comment}");
        assert_eq!(desk.conclusion("gbench-ci"), "cancelled");
        // The one before comes late, and the next one speaks again.
        desk.own(42, 101, &format!("publish {part}")).exits(0).says("left alone");
        assert_eq!(desk.comment(42).as_deref(), Some(&*comment));
        desk.own(42, 103, &format!("publish {part}")).exits(0).says("updated");
        assert_eq!(is_red(&desk.comment(42).unwrap()), slower);
    }
    // The report's side, where the run left nothing; and where nobody has said anything the check says enough.
    let desk = Desk::new(&ALL);
    desk.measured(101, true, None);
    desk.known(102);
    desk.known(103);
    desk.hears(Completed(101), "").exits(0).says("created");
    desk.hears(Completed(102), "").exits(0).says("comment on #42: updated");
    assert!(desk.comment(42).unwrap().contains("no verdict"));
    desk.hears(Completed(102), "").exits(0).says("it is up to date");
    let quiet = Desk::new(&ALL);
    quiet.known(103);
    quiet.hears(Completed(103), "").exits(0);
    assert_eq!((quiet.comment(42), quiet.conclusion("gbench-ci").as_str()), (None, "failure"));
}

#[test]
fn n16_two_pull_requests_of_one_branch_are_both_told_and_the_check_says_the_graver() {
    let words = [Requested(101), Completed(101), Requested(102), Completed(102)];
    for order in [
        words,
        [words[2], words[3], words[0], words[1]],
        [words[0], words[2], words[3], words[1]],
        [words[3], words[1], words[2], words[0]],
    ] {
        for red in [101, 102] {
            let desk = Desk::new(&ALL);
            desk.fake.pull(43, HEAD, "topic", SLUG, "release");
            desk.measured(101, red == 101, Some(42));
            desk.measured(102, red == 102, Some(43));
            for word in order {
                desk.hears(word, "--comment always").exits(0);
            }
            for (number, run) in [(42, 101), (43, 102)] {
                let comment =
                    desk.comment(number).unwrap_or_else(|| panic!("#{number} hears nothing: {order:?}"));
                assert_eq!(is_red(&comment), run == red, "#{number} {order:?}");
                let wanted = if run == red { "failure" } else { "success" };
                assert_eq!(desk.conclusion(&format!("gbench-ci #{number}")), wanted, "{order:?}");
            }
            assert_eq!(desk.conclusion("gbench-ci"), "failure", "{red} {order:?}");
        }
    }
    // Of both green nothing else is left to say, also in jobs of their own.
    let desk = Desk::new(&ALL);
    desk.fake.pull(43, HEAD, "topic", SLUG, "release");
    let (red, green) = (desk.part(true), desk.part(false));
    desk.own(43, 102, &format!("publish {red}")).exits(0);
    desk.own(42, 101, &format!("publish {green} --comment always")).exits(0).says("comment on #42: created");
    assert_eq!(desk.conclusion("gbench-ci"), "failure");
    desk.own(43, 103, &format!("publish {green}")).exits(0);
    assert_eq!(desk.conclusion("gbench-ci"), "success");
    assert!(!is_red(&desk.comment(43).unwrap()));
}
