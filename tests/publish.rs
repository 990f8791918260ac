//! `gbench-ci publish` through the command line, against a GitHub with state: what is told, to whom, and what is not.

use std::path::{Path, PathBuf};
use std::process::Command;

use gbench_ci::compare::{Conclusion, Verdict, VerdictPart, Warning};
use gbench_ci::model::{Exit, Shard};
use tempfile::TempDir;

use crate::support::cli::{Ran, ended};
use crate::support::fake_github::{FakeGithub, Fault, FaultKind, RunSeed};
use crate::support::fixture;
use crate::support::github::SLUG;
use crate::support::job::outside;
use crate::support::merging::{self, HEAD};
use crate::support::zips;

/// The head of the event fixtures.
const HEAD_OF_EVENTS: &str = "8c1f0a2e5b7d49c3a6e0f1d2b3c4d5e6f7081923";
const PERMISSIONS: [&str; 3] = ["pull_requests", "checks", "actions"];

/// A GitHub with pull request 42, a token, and a folder for what a job leaves.
struct Hub {
    fake: FakeGithub,
    folder: TempDir,
    token: String,
}

impl Hub {
    fn new() -> Self {
        Self::with(&PERMISSIONS)
    }

    fn with(permissions: &[&str]) -> Self {
        let fake = FakeGithub::start();
        fake.repository(SLUG);
        fake.pull(42, HEAD, "faster-gemm", SLUG, "main");
        let token = fake.actions_token(permissions);
        Self { fake, folder: crate::support::tempdir().unwrap(), token }
    }

    /// `gbench-ci LINE` as a step that an event started; the event is about [`HEAD`].
    fn step(&self, event: &str, line: &str) -> Command {
        let text = std::fs::read_to_string(fixture(&format!("github/events/{event}.json"))).unwrap();
        let path = self.folder.path().join("event.json");
        std::fs::write(&path, text.replace(HEAD_OF_EVENTS, HEAD)).unwrap();
        let mut command = outside(self.folder.path(), line);
        let is_pull = event.starts_with("pull");
        let reference = if is_pull { "refs/pull/42/merge" } else { "refs/heads/main" };
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", event.split('.').next().unwrap())
            .env("GITHUB_EVENT_PATH", &path)
            .env("GITHUB_REPOSITORY", SLUG)
            .env("GITHUB_SHA", HEAD)
            .env("GITHUB_REF", reference)
            .env("GITHUB_REF_NAME", reference.splitn(3, '/').nth(2).unwrap())
            .env("GITHUB_RUN_ID", "5550009")
            .env("GITHUB_API_URL", self.fake.url())
            .env("GITHUB_STEP_SUMMARY", self.folder.path().join("summary"))
            .env("GBENCH_TOKEN", &self.token);
        command
    }

    /// Runs it about a run that ended with `success`: the event file says `failure`.
    fn ran_after_success(&self, line: &str) -> Ran {
        let mut step = self.step("workflow_run.completed", line);
        let path = self.folder.path().join("event.json");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(r#""conclusion": "failure""#, r#""conclusion": "success""#))
            .unwrap();
        step.env("GITHUB_EVENT_PATH", &path);
        ended(step)
    }

    /// Runs it; whatever came of it, no line of the log holds the token.
    #[track_caller]
    fn ran(&self, event: &str, line: &str) -> Ran {
        let ran = ended(self.step(event, line));
        for text in [&ran.out, &ran.err] {
            assert!(!text.contains(&self.token), "the token is in the log: {text}");
        }
        ran
    }

    /// The folder of one job's result.
    fn part(&self, slower: bool) -> PathBuf {
        let part = merging::part("", None, slower);
        merging::write(&VerdictPart { name: format!("result-{slower}"), ..part }, self.folder.path())
    }

    fn comment(&self) -> String {
        let comments = self.fake.comments(42);
        assert_eq!(comments.len(), 1, "{comments:?}");
        comments[0].body.clone()
    }

    /// Checks and their conclusions, in the order of their making.
    fn named(&self) -> Vec<(String, String)> {
        let mut checks = self.fake.checks(HEAD);
        checks.sort_by_key(|check| check.id);
        checks.into_iter().map(|check| (check.name, check.conclusion.unwrap_or_default())).collect()
    }

    fn conclusion(&self) -> Option<String> {
        let checks = self.fake.checks(HEAD);
        assert_eq!(checks.len(), 1, "{checks:?}");
        checks[0].conclusion.clone()
    }

    /// The run that `workflow_run.completed.json` and `workflow_run.fork.json` are about.
    fn other_run(&self, head_repository: &str) {
        self.other_run_by("pull_request", head_repository);
    }

    fn other_run_by(&self, event: &str, head_repository: &str) {
        self.fake.workflow_run(&RunSeed {
            id: 5_550_001,
            event,
            head_sha: HEAD,
            head_branch: "faster-gemm",
            head_repository: Some(head_repository),
            conclusion: Some("failure"),
            ..RunSeed::default()
        });
    }

    fn upload(&self, name: &str, parts: &[VerdictPart]) {
        let mut files = Vec::new();
        for part in parts {
            let text = serde_json::to_string(&part.verdict).unwrap();
            let name = if part.name.is_empty() { "result" } else { &part.name };
            files.push((format!("{name}/reports/verdict.json"), text));
            files.push((format!("{name}/job.json"), serde_json::to_string(&part.job).unwrap()));
        }
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        self.fake.artifact(5_550_001, name, &zipped(&files));
    }
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let files: Vec<_> = files.iter().map(|(name, data)| zips::deflated(name, data)).collect();
    zips::archive(&files)
}

fn owned((name, conclusion): (&str, &str)) -> (String, String) {
    (name.to_owned(), conclusion.to_owned())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a15_a_green_verdict_of_a_changed_definition_is_told_in_a_comment() {
    let hub = Hub::new();
    let named = || vec!["kernels/gemm".to_owned()];
    let green = merging::part("", None, false);
    for (number, warning) in [
        Warning::StartedOtherwise { count: 1, named: named() },
        Warning::Renamed { count: 1, named: named() },
        Warning::DefinedOtherwise { count: 1, named: named() },
        Warning::OtherSetting { cases: 1, setting: "iterations".into(), base: "9".into(), head: "1".into() },
    ]
    .into_iter()
    .enumerate()
    {
        let mut part = VerdictPart { name: format!("result-{number}"), ..green.clone() };
        let text = warning.to_string();
        part.verdict.warn(vec![warning]);
        let folder = merging::write(&part, hub.folder.path());
        hub.ran("pull_request.synchronize", &format!("publish {}", shown(&folder))).exits(0);
        assert!(hub.comment().contains(text.split('`').next().unwrap()), "{}", hub.comment());
        assert_eq!(hub.conclusion().as_deref(), Some("success"));
    }
    // Without one there is none to begin with.
    let hub = Hub::new();
    let folder = merging::write(&VerdictPart { name: "result".into(), ..green }, hub.folder.path());
    hub.ran("pull_request.synchronize", &format!("publish {}", shown(&folder))).exits(0);
    assert!(hub.fake.comments(42).is_empty());
}

#[test]
fn a_red_verdict_is_one_comment_and_one_check_and_a_fix_turns_both_green() {
    let hub = Hub::new();
    hub.ran("pull_request.synchronize", "publish --start").exits(0).says("in progress");
    let red = hub.part(true);
    hub.ran("pull_request.synchronize", &format!("publish {}", shown(&red))).exits(0).says("created");
    assert!(hub.comment().contains("regressed") && hub.comment().contains("kernels/gemm"));
    assert_eq!(hub.conclusion().as_deref(), Some("failure"));
    let check = &hub.fake.checks(HEAD)[0];
    assert_eq!(check.annotations[0]["path"], "bench/gemm.py");

    let green = hub.part(false);
    hub.ran("pull_request.synchronize", &format!("publish {}", shown(&green))).exits(0).says("updated");
    assert!(hub.comment().contains("✅"), "{}", hub.comment());
    assert_eq!(hub.conclusion().as_deref(), Some("success"));

    // T17: a third run with nothing new writes nothing, and costs a handful of requests.
    let (before, comment) = (hub.fake.requests().len(), hub.comment());
    hub.ran("pull_request.synchronize", &format!("publish {}", shown(&green)))
        .exits(0)
        .says("it is up to date");
    assert_eq!(hub.comment(), comment);
    assert_eq!(hub.fake.count("POST", "/comments"), 1);
    assert_eq!(hub.fake.count("POST", "/check-runs"), 1);
    let requests = hub.fake.requests().len() - before;
    assert!(requests <= 8, "{requests} requests");
}

#[test]
fn b5_a_mended_benchmark_passes_and_is_told_in_a_comment_and_one_broken_on_both_sides_makes_a_neutral_check()
{
    for (verdict, conclusion, check) in [
        (Verdict::Mended, Conclusion::Pass, "success"),
        (Verdict::Broken, Conclusion::Inconclusive, "neutral"),
    ] {
        let hub = Hub::new();
        let mut part = VerdictPart { name: "result".into(), ..merging::part("", None, false) };
        let document = &mut part.verdict;
        document.rows[0].verdict = verdict;
        document.counts = Verdict::tally(|verdict| {
            document.rows.iter().filter(|row| row.verdict == verdict).count() as u32
        });
        document.conclusion = conclusion;
        let folder = merging::write(&part, hub.folder.path());
        hub.ran("pull_request.synchronize", &format!("publish {}", shown(&folder))).exits(0);
        assert!(hub.comment().contains(verdict.into_str()), "{}", hub.comment());
        assert_eq!(hub.conclusion().as_deref(), Some(check));
    }
}

#[test]
fn plain_green_says_nothing_unless_asked() {
    let hub = Hub::new();
    let green = shown(&hub.part(false));
    hub.ran("pull_request.synchronize", &format!("publish {green}")).exits(0).says("none: nothing changed");
    assert!(hub.fake.comments(42).is_empty());
    assert_eq!(hub.conclusion().as_deref(), Some("success"));
    hub.ran("pull_request.synchronize", &format!("publish {green} --comment always"))
        .exits(0)
        .says("created");
    hub.comment();
    let red = shown(&hub.part(true));
    let never = Hub::new();
    never.ran("pull_request.synchronize", &format!("publish {red} --comment never")).exits(0);
    assert!(never.fake.comments(42).is_empty());
}

#[test]
fn a_gate_that_failed_early_leaves_no_check_in_progress_and_none_green() {
    for (code, conclusion) in [(0, "failure"), (2, "failure"), (5, "failure"), (143, "cancelled")] {
        let hub = Hub::new();
        hub.part(false);
        hub.ran("pull_request.synchronize", "publish --start").exits(0);
        hub.ran("pull_request.synchronize", &format!("publish --ended {code}")).exits(0);
        assert_eq!(hub.conclusion().as_deref(), Some(conclusion), "{code}");
    }
}

#[test]
fn b6_the_trusted_side_finds_run_artifact_and_pull_request_by_itself() {
    let hub = Hub::new();
    hub.other_run(SLUG);
    hub.ran("workflow_run.requested", "publish").exits(0).says("in progress");
    hub.upload("gbench-ci-attempt-1-part-1", &[merging::part("", None, true)]);
    hub.upload("logs", &[]);
    hub.ran("workflow_run.completed", "publish --summary").exits(0).says("comment on #42: created");
    assert!(!hub.comment().contains("nverified"), "{}", hub.comment());
    assert_eq!(hub.conclusion().as_deref(), Some("failure"));
    let summary = std::fs::read_to_string(hub.folder.path().join("summary")).unwrap();
    assert!(summary.contains("kernels/gemm"));
}

#[test]
fn b6_a_forks_verdict_is_published_and_called_unverified() {
    let hub = Hub::new();
    let text = std::fs::read_to_string(fixture("github/events/workflow_run.fork.json")).unwrap();
    let event: serde_json::Value = serde_json::from_str(&text).unwrap();
    let branch = event["workflow_run"]["head_branch"].as_str().unwrap();
    let repository = event["workflow_run"]["head_repository"]["full_name"].as_str().unwrap();
    hub.fake.change_pull(42, |issue| {
        let pull = issue.pull.as_mut().unwrap();
        pull.head_ref = branch.into();
        pull.head_owner = repository.split('/').next().unwrap().into();
        pull.head_repository = Some(repository.into());
    });
    let id = event["workflow_run"]["id"].as_u64().unwrap();
    hub.fake.workflow_run(&RunSeed {
        id,
        head_sha: HEAD,
        head_branch: branch,
        head_repository: Some(repository),
        ..RunSeed::default()
    });
    let part = merging::part("", None, true);
    let files = [
        ("reports/verdict.json", serde_json::to_string(&part.verdict).unwrap()),
        ("job.json", serde_json::to_string(&part.job).unwrap()),
    ];
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    hub.fake.artifact(id, "gbench-ci", &zipped(&files));
    // Whoever can change the workflow file can write any result: by default nothing of it is shown, and nothing is green.
    hub.ran("workflow_run.fork", "publish").exits(0).says("a fork's result is not published");
    assert!(hub.fake.comments(42).is_empty());
    assert_eq!(hub.conclusion().as_deref(), Some("action_required"));
    hub.ran("workflow_run.fork", "publish --allow-forks").exits(0).says("comment on #42: created");
    assert!(hub.comment().contains("nverified"), "{}", hub.comment());
    // T13: nothing that a fork made is kept.
    hub.ran(
        "workflow_run.fork",
        "publish --allow-forks --history github:acme/kernels@gbench-history --issue",
    );
    assert_eq!(hub.fake.count("POST", "/git/"), 0);
    assert_eq!(hub.fake.count("POST", "/issues$"), 0);
}

#[test]
fn t4_an_artifact_about_another_commit_is_not_put_on_this_one() {
    let hub = Hub::new();
    hub.other_run(SLUG);
    let mut part = merging::part("", None, false);
    part.verdict.head.commit = Some("7".repeat(40));
    hub.upload("gbench-ci", &[part]);
    hub.ran("workflow_run.completed", "publish").exits(6).says("the event is about");
    assert!(hub.fake.comments(42).is_empty());
    assert_eq!(hub.conclusion().as_deref(), Some("failure"));
}

#[test]
fn t3_a_poisoned_artifact_fails_the_check_and_says_nothing_of_its_own() {
    let hub = Hub::new();
    hub.other_run(SLUG);
    hub.fake.artifact(5_550_001, "gbench-ci", b"PK\x03\x04 and then @everyone ![x](http://evil)");
    hub.ran("workflow_run.completed", "publish").exits(2).says("refused");
    assert!(hub.fake.comments(42).is_empty());
    assert_eq!(hub.conclusion().as_deref(), Some("failure"));
    assert!(!hub.fake.checks(HEAD)[0].summary.clone().unwrap().contains("evil"));
}

#[test]
fn the_shards_of_a_run_are_one_verdict_and_a_missing_one_is_never_green() {
    let hub = Hub::new();
    hub.other_run(SLUG);
    for (index, part) in merging::three_shards("h100", false).into_iter().enumerate() {
        hub.upload(&format!("gbench-ci-attempt-1-part-{index}"), &[part]);
    }
    hub.ran_after_success("publish").exits(0);
    // One for the machine, and one for all whose name does not change with the machines.
    assert_eq!(hub.named(), [("gbench-ci / h100", "success"), ("gbench-ci", "success")].map(owned));

    let hub = Hub::new();
    hub.other_run(SLUG);
    for index in [1, 3] {
        hub.upload(
            &format!("gbench-ci-{index}"),
            &[merging::part("h100", Some(Shard { index, of: 3 }), false)],
        );
    }
    hub.ran("workflow_run.completed", "publish").exits(0);
    assert_eq!(hub.named(), [("gbench-ci / h100", "failure"), ("gbench-ci", "failure")].map(owned));
    assert!(hub.comment().contains("shard 2 of 3 is missing"), "{}", hub.comment());
}

#[test]
fn parts_that_are_pending_leave_the_check_in_progress_and_the_last_one_writes_over_the_comment() {
    let hub = Hub::new();
    let event = "pull_request.synchronize";
    let put = |part: &VerdictPart| drop(merging::write(part, &hub.folder.path().join("parts")));
    put(&merging::part("h100", None, false));
    hub.ran(event, "merge parts --expect 2 --partial").exits(3);
    hub.ran(event, "publish merged --comment always").exits(0).says("in progress");
    // The machine that has ended has its answer.
    assert_eq!(hub.named(), [("gbench-ci / h100", "success"), ("gbench-ci", "")].map(owned));
    assert!(hub.comment().contains(": pending"), "{}", hub.comment());
    assert!(hub.comment().contains("1 of 2 parts came with a verdict so far"), "{}", hub.comment());
    put(&merging::part("a100", None, false));
    hub.ran(event, "merge parts --expect 2").exits(0);
    hub.ran(event, "publish merged --comment always").exits(0);
    let all = [("gbench-ci / h100", "success"), ("gbench-ci", "success"), ("gbench-ci / a100", "success")];
    assert_eq!(hub.named(), all.map(owned));
    assert!(!hub.comment().contains("so far") && hub.comment().contains("a100"), "{}", hub.comment());

    // A regression is told at once, and the history waits for all parts.
    let hub = Hub::new();
    let put = |part: &VerdictPart| drop(merging::write(part, &hub.folder.path().join("parts")));
    put(&merging::part("h100", None, true));
    hub.ran(event, "merge parts --expect 2 --partial").exits(1);
    hub.ran(event, "publish merged").exits(0);
    assert_eq!(hub.named(), [("gbench-ci / h100", "failure"), ("gbench-ci", "failure")].map(owned));
    assert!(hub.comment().contains("1 of 2 parts came"), "{}", hub.comment());
    put(&merging::part("a100", None, false));
    hub.ran(event, "merge parts --expect 2").exits(1);
    hub.ran(event, "publish merged").exits(0);
    assert!(!hub.comment().contains("so far"), "the same rows are red: {}", hub.comment());
}

#[test]
fn a_run_without_a_verdict_ends_its_check() {
    let hub = Hub::new();
    hub.other_run(SLUG);
    hub.ran("workflow_run.requested", "publish").exits(0);
    hub.ran("workflow_run.completed", "publish").exits(0);
    assert_eq!(hub.conclusion().as_deref(), Some("failure"));
}

#[test]
fn t1_a_forks_own_job_publishes_nothing() {
    let hub = Hub::new();
    let red = shown(&hub.part(true));
    hub.ran("pull_request.fork", &format!("publish {red}")).exits(0).says("a fork's run may only read");
    assert!(hub.fake.requests().is_empty());
}

#[test]
fn t2_pull_request_target_is_no_place_to_publish_from() {
    let hub = Hub::new();
    let red = shown(&hub.part(true));
    hub.ran("pull_request_target", &format!("publish {red}")).exits(5).says("workflow_run");
    assert!(hub.fake.requests().is_empty());
}

#[test]
fn t5_a_verdict_on_an_older_commit_changes_nothing_that_a_newer_one_said() {
    let hub = Hub::new();
    let (red, green) = (shown(&hub.part(true)), shown(&hub.part(false)));
    hub.ran("pull_request.synchronize", &format!("publish {red}")).exits(0);
    let said = hub.comment();
    hub.fake.push(42, &"5".repeat(40));
    hub.ran("pull_request.synchronize", &format!("publish {green}")).exits(0).says("left alone");
    assert_eq!(hub.comment(), said);
}

#[test]
fn t12_what_the_token_may_not_do_is_said_with_the_line_that_grants_it() {
    let hub = Hub::with(&["checks"]);
    let red = shown(&hub.part(true));
    hub.ran("pull_request.synchronize", &format!("publish {red}")).exits(6).says("pull-requests: write");
    // Without checks there are statuses, and without either the line is named.
    let hub = Hub::with(&["pull_requests", "statuses"]);
    let red = shown(&hub.part(true));
    hub.ran("pull_request.synchronize", &format!("publish {red}")).exits(0).says("a status of");
    assert_eq!(hub.fake.statuses(HEAD).len(), 1);
}

#[test]
fn t11_no_token_is_a_fault_with_its_line_and_a_token_is_in_no_fault() {
    let hub = Hub::new();
    let red = shown(&hub.part(true));
    let mut step = hub.step("pull_request.synchronize", &format!("publish {red}"));
    step.env_remove("GBENCH_TOKEN");
    ended(step).exits(6).says("github.token");
    let mut step = hub.step("pull_request.synchronize", &format!("publish {red}"));
    step.env("GBENCH_TOKEN", "ghs_wrongwrongwrong");
    let ran = ended(step).exits(6);
    assert!(!ran.err.contains("wrongwrong") && !ran.out.contains("wrongwrong"), "{}", ran.err);
}

#[test]
fn b5_lost_answers_and_server_errors_never_make_two_comments_or_two_checks() {
    for seed in 0..6 {
        let hub = Hub::new();
        let red = shown(&hub.part(true));
        for (path, kind) in [
            ("/comments", FaultKind::LostResponse),
            ("/check-runs", FaultKind::StatusAfter(502, "Bad Gateway".into())),
        ] {
            hub.fake.inject(Fault::new("POST", path, kind).nth(1 + seed % 2));
        }
        hub.ran("pull_request.synchronize", &format!("publish {red}")).exits(0);
        hub.comment();
        assert_eq!(hub.conclusion().as_deref(), Some("failure"));
    }
}

#[test]
fn at_night_an_issue_is_opened_updated_and_closed() {
    let hub = Hub::with(&["checks", "issues", "contents"]);
    let (red, green) = (shown(&hub.part(true)), shown(&hub.part(false)));
    hub.ran("schedule", &format!("publish {red} --issue")).exits(0).says("issue: opened");
    let issues = hub.fake.issues();
    assert_eq!(issues.len(), 1);
    assert!(issues[0].body.as_deref().unwrap().contains("Suspects"), "{:?}", issues[0].body);
    hub.ran("schedule", &format!("publish {red} --issue")).exits(0).says("is up to date");
    hub.ran("schedule", &format!("publish {green} --issue")).exits(0).says("issue: closed");
    assert_eq!(hub.fake.issues().iter().filter(|issue| issue.open).count(), 0);
    hub.ran("schedule", &format!("publish {green} --issue")).exits(0).says("none is open");
}

#[test]
fn t13_only_the_default_branch_writes_issue_and_history() {
    let hub = Hub::with(&["checks", "issues", "contents", "pull_requests"]);
    let red = shown(&hub.part(true));
    for event in ["pull_request.synchronize", "merge_group"] {
        hub.ran(event, &format!("publish {red} --issue")).exits(6).says("default branch");
        hub.ran(event, &format!("publish {red} --history github:acme/kernels@h"))
            .exits(6)
            .says("default branch");
    }
    assert!(hub.fake.issues().iter().all(|issue| issue.pull.is_some()));
    assert_eq!(hub.fake.count("POST", "/git/"), 0);
}

#[test]
fn a_dry_run_prints_the_comment_and_asks_nobody() {
    let hub = Hub::new();
    let red = shown(&hub.part(true));
    let ran = hub.ran("pull_request.synchronize", &format!("publish {red} --dry-run")).exits(0);
    assert!(ran.out.contains("kernels/gemm") && ran.out.ends_with('\n'));
    assert!(hub.fake.requests().is_empty());
    let laptop = outside(hub.folder.path(), &format!("publish {red} --dry-run"));
    ended(laptop).exits(0).says("kernels/gemm");
    let laptop = outside(hub.folder.path(), &format!("publish {red}"));
    ended(laptop).exits(Exit::Usage.code().into()).says("--dry-run");
}

#[test]
fn a_dry_run_says_of_every_flag_what_would_come_of_it() {
    let hub = Hub::new();
    let (red, green) = (shown(&hub.part(true)), shown(&hub.part(false)));
    let line = format!("publish {red} --dry-run --name kernels --label h100 --issue --summary");
    hub.ran("schedule", &line)
        .exits(0)
        .says("check kernels (schedule) / h100: would end as failure: 1 regressed, 8 unchanged")
        .says("comment: none, a run by schedule is about no pull request")
        .says("summary: would be written")
        .says("issue: would be opened, or updated if one is open: kernels: 1 regressed");
    assert!(!hub.folder.path().join("summary").exists());
    hub.ran("schedule", &format!("publish {green} --dry-run --issue --history git:h"))
        .exits(0)
        .says("issue: would be closed, if one is open")
        .says("history git:h: would fail with exit code 6: a verdict alone has no record");
    let id = "20261121T110000.000Z-c0ffee";
    let whole = shown(&fixture("rounds_gaps/all_skipped").join(id));
    hub.ran("schedule", &format!("publish {whole} --dry-run --history git:h"))
        .exits(0)
        .says("of main would be appended");
    hub.ran("pull_request.synchronize", &format!("publish {red} --dry-run --issue --history git:h"))
        .exits(0)
        .says("comment: on #42, unless an existing one is the same")
        .says("issue: would fail with exit code 6: a run by pull_request")
        .says("history git:h: would fail with exit code 6: a run by pull_request");
    hub.ran("pull_request.synchronize", &format!("publish {red} --dry-run --comment never"))
        .exits(0)
        .says("comment: none, as asked");
    hub.ran("pull_request.fork", &format!("publish {red} --dry-run"))
        .exits(0)
        .says("nothing would be published");
    hub.ran("pull_request.synchronize", "publish --dry-run --ended 5")
        .exits(0)
        .says("check gbench-ci: would end as failure: Nothing was compared: exit code 5");
    let laptop = outside(hub.folder.path(), &format!("publish {red} --dry-run"));
    let ran = ended(laptop)
        .exits(0)
        .says("this is not a job of a CI that is known")
        .says("check gbench-ci: would end as");
    assert!(!ran.out.contains("would end as"), "standard output holds the comment alone: {}", ran.out);
    assert!(hub.fake.requests().is_empty());
}

#[test]
fn an_address_that_is_no_history_is_refused_before_anything() {
    let hub = Hub::new();
    let red = shown(&hub.part(true));
    let says = |address: &str, words: &str| {
        for line in [format!("publish {red}"), format!("publish {red} --dry-run"), "publish gone".into()] {
            let line = format!("{line} --history {address}");
            hub.ran("schedule", &line)
                .exits(2)
                .says(words)
                .says("write git:BRANCH, github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX");
            ended(outside(hub.folder.path(), &line)).exits(2).says(words);
        }
    };
    says("foo", "`foo` is not an address of a store");
    says("dir:.gbench", "a history is a branch or in a bucket, and this is a folder");
    assert!(hub.fake.requests().is_empty());
}

#[test]
fn a_file_that_is_not_there_is_named_first_outside_of_a_job() {
    let hub = Hub::new();
    let ran = ended(outside(hub.folder.path(), "publish nope")).exits(2).says("nope");
    assert!(ran.err.contains("cannot be read") && !ran.err.contains("GitHub Actions"), "{}", ran.err);
}

#[test]
fn nothing_to_publish_is_a_fault_that_says_what_to_name() {
    let hub = Hub::new();
    hub.ran("pull_request.synchronize", "publish gone").exits(2);
    std::fs::create_dir(hub.folder.path().join("empty")).unwrap();
    hub.ran("pull_request.synchronize", "publish empty").exits(2).says("has no verdict");
    hub.ran("pull_request.synchronize", "publish --comment loud").exits(2).says("on-change, always or never");
    hub.ran("pull_request.synchronize", "publish --name <b>").exits(2);
}

#[test]
fn the_machine_that_left_nothing_is_not_passed_over_by_the_one_that_is_green() {
    let hub = Hub::new();
    hub.other_run(SLUG);
    hub.upload("gbench-ci-attempt-1-part-0", &[merging::part("h100", None, false)]);
    hub.ran("workflow_run.completed", "publish").exits(0);
    assert_eq!(hub.named(), [("gbench-ci / h100", "success"), ("gbench-ci", "failure")].map(owned));
    assert!(hub.comment().contains("nothing that they left says why"), "{}", hub.comment());
    // Though the run claims success: there were to be two.
    let hub = Hub::new();
    hub.other_run(SLUG);
    hub.upload("gbench-ci-attempt-1-part-0", &[merging::part("h100", None, false)]);
    hub.ran_after_success("publish --expect 2").exits(0);
    assert_eq!(hub.named()[1], owned(("gbench-ci", "failure")));
}

#[test]
fn two_pull_requests_of_one_branch_do_not_turn_a_red_check_neutral() {
    let hub = Hub::new();
    hub.other_run(SLUG);
    hub.upload("gbench-ci", &[merging::part("", None, true)]);
    hub.fake.pull(43, HEAD, "faster-gemm", SLUG, "release");
    hub.ran("workflow_run.completed", "publish").exits(6).says("which is meant?");
    // Nobody knows for which of the two it was: neither passes.
    let failed = ["gbench-ci #42", "gbench-ci #43", "gbench-ci"].map(|name| owned((name, "failure")));
    assert_eq!(hub.named(), failed);
    assert!(hub.fake.comments(42).is_empty() && hub.fake.comments(43).is_empty());
}

#[test]
fn a_merge_queues_commit_gets_its_check_and_nobody_a_comment() {
    let hub = Hub::new();
    hub.other_run_by("merge_group", SLUG);
    hub.upload("gbench-ci", &[merging::part("", None, true)]);
    let mut step = hub.step("workflow_run.completed", "publish");
    let path = hub.folder.path().join("event.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let of_queue = text.replace(r#""event": "pull_request""#, r#""event": "merge_group""#);
    assert_ne!(text, of_queue);
    std::fs::write(&path, of_queue).unwrap();
    step.env("GITHUB_EVENT_PATH", &path);
    ended(step).exits(0);
    assert!(hub.fake.comments(42).is_empty());
    assert_eq!(hub.conclusion().as_deref(), Some("failure"));
}

#[test]
fn a_night_without_a_verdict_opens_the_issue_and_has_a_check_of_its_own() {
    let hub = Hub::with(&["checks", "issues"]);
    hub.ran("schedule", "publish --ended 4 --issue").exits(0).says("issue: opened");
    assert_eq!(hub.named(), [owned(("gbench-ci (schedule)", "failure"))]);
    hub.ran("schedule", "publish --ended 143 --issue").exits(0);
    assert_eq!(hub.fake.issues().len(), 1);
}

#[test]
fn t1_a_fork_that_is_gone_is_refused_like_any_other_and_blocks() {
    let hub = Hub::new();
    let mut step = hub.step("workflow_run.fork", "publish");
    let path = hub.folder.path().join("event.json");
    let mut event: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    event["workflow_run"]["head_repository"] = serde_json::Value::Null;
    std::fs::write(&path, event.to_string()).unwrap();
    step.env("GITHUB_EVENT_PATH", &path);
    ended(step).exits(0).says("a fork's result is not published");
    assert_eq!(hub.conclusion().as_deref(), Some("action_required"));
}

#[test]
fn a_red_commit_stays_red_when_its_pull_request_has_moved_on() {
    let hub = Hub::new();
    hub.other_run(SLUG);
    hub.upload("gbench-ci", &[merging::part("", None, true)]);
    hub.fake.push(42, &"5".repeat(40));
    hub.ran("workflow_run.completed", "publish").exits(0).says("has moved on");
    assert!(hub.fake.comments(42).is_empty());
    assert_eq!(hub.conclusion().as_deref(), Some("failure"));
}

#[test]
fn n17_an_artifact_s_name_cannot_turn_the_log_around() {
    for name in ["gbench-ci-\u{202e}x", "gbench-ci-\u{2066}x\u{200b}"] {
        let hub = Hub::new();
        hub.other_run(SLUG);
        hub.fake.artifact(5_550_001, name, b"PK\x03\x04 and nothing else");
        let ran = hub.ran("workflow_run.completed", "publish").exits(2).says("refused");
        let hidden = |c: char| ('\u{200b}'..='\u{2069}').contains(&c) && !"…–—‘’“”•".contains(c);
        assert!(!ran.out.contains(hidden) && !ran.err.contains(hidden), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn n17_the_permission_that_is_named_is_enough_for_what_comes_next() {
    // Without it the pull request is not even found; to read it alone would end in the next refusal.
    for permissions in [&["checks", "actions"][..], &["checks", "actions", "statuses"]] {
        let hub = Hub::with(permissions);
        hub.other_run(SLUG);
        hub.upload("gbench-ci", &[merging::part("", None, true)]);
        let ran = hub.ran("workflow_run.completed", "publish").exits(6).says("`pull-requests: write`");
        assert!(!ran.err.contains("pull-requests: read"), "{}", ran.err);
    }
    let hub = Hub::new();
    let red = shown(&hub.part(true));
    hub.fake.change_pull(42, |issue| issue.locked = true);
    let ran = hub.ran("pull_request.synchronize", &format!("publish {red}")).exits(6).says("locked");
    assert!(!ran.err.contains("permissions"), "{}", ran.err);
    assert_eq!(hub.conclusion().as_deref(), Some("failure"), "the check is there all the same");
    hub.ran("pull_request.synchronize", &format!("publish {red} --comment never")).exits(0);
}

#[test]
fn n17_commands_that_read_the_job_s_files_say_how_to_get_them() {
    let hub = Hub::new();
    let red = shown(&hub.part(true));
    hub.ran("pull_request.synchronize", &format!("publish {red}")).exits(0);
    let comment = hub.comment();
    let (before, commands) = comment.split_once("gbench-ci replay ").expect("the command");
    assert!(commands.contains("gbench-ci explain "), "{comment}");
    let words = before.lines().rev().find(|line| line.starts_with("The same verdict again")).unwrap();
    assert!(
        words.contains("download the [run](https://github.com/acme/kernels/actions/runs/5550009)"),
        "{words}"
    );
    assert!(words.contains("into the folder `artifacts`"), "{words}");
}

#[test]
fn n13_a_night_whose_event_holds_the_schedule_alone_is_published() {
    let hub = Hub::with(&["checks", "issues", "contents"]);
    let red = shown(&hub.part(true));
    hub.ran("schedule.bare", &format!("publish {red} --issue")).exits(0).says("issue: opened");
    // Of an event whose branch nobody can judge, what is missing is said.
    let ran = hub.ran("workflow_dispatch.bare", &format!("publish {red} --issue")).exits(6);
    ran.says("`repository.default_branch` is not in it");
}

/// What a green answer of strangers, an outdated one or none at all comes to: never to a green check.
#[test]
fn n18_a_run_without_a_verdict_blocks_as_it_ended() {
    for (word, conclusion) in [
        ("failure", "failure"),
        ("success", "failure"),
        ("cancelled", "cancelled"),
        ("skipped", "action_required"),
    ] {
        let hub = Hub::new();
        hub.other_run(SLUG);
        let mut step = hub.step("workflow_run.completed", "publish");
        let path = hub.folder.path().join("event.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let ended_so = format!(r#""conclusion": "{word}""#);
        std::fs::write(&path, text.replace(r#""conclusion": "failure""#, &ended_so)).unwrap();
        step.env("GITHUB_EVENT_PATH", &path);
        ended(step).exits(0);
        assert_eq!(hub.conclusion().as_deref(), Some(conclusion), "{word}");
    }
    // An artifact that GitHub no longer has is nothing, and more of them than a matrix has jobs are too many.
    let hub = Hub::new();
    hub.other_run(SLUG);
    let id = hub.fake.artifact(5_550_001, "gbench-ci", b"gone");
    hub.fake.change_artifact(id, None, None, true);
    hub.ran("workflow_run.completed", "publish").exits(0);
    assert_eq!(hub.conclusion().as_deref(), Some("failure"));
    let hub = Hub::new();
    hub.other_run(SLUG);
    for index in 0..257 {
        hub.fake.artifact(5_550_001, &format!("gbench-ci-{index}"), b"PK");
    }
    hub.ran("workflow_run.completed", "publish").exits(6).says("the run has 257");
}

#[test]
fn n18_a_green_verdict_of_a_fork_is_no_green_check() {
    let hub = Hub::new();
    let fork = "mallory/kernels";
    hub.fake.change_pull(42, |issue| {
        let pull = issue.pull.as_mut().unwrap();
        pull.head_owner = "mallory".into();
        pull.head_repository = Some(fork.into());
    });
    hub.other_run(fork);
    hub.upload("gbench-ci", &[merging::part("", None, false)]);
    let mut step = hub.step("workflow_run.completed", "publish --allow-forks --comment always");
    let path = hub.folder.path().join("event.json");
    let mut event: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    event["workflow_run"]["head_repository"]["full_name"] = fork.into();
    event["workflow_run"]["conclusion"] = "success".into();
    std::fs::write(&path, event.to_string()).unwrap();
    step.env("GITHUB_EVENT_PATH", &path);
    ended(step).exits(0).says("comment on #42: created");
    assert!(hub.comment().contains("nverified"), "{}", hub.comment());
    assert_eq!(hub.conclusion().as_deref(), Some("neutral"));
}

#[test]
fn n18_the_measuring_job_does_not_choose_what_fails_the_check_of_the_report() {
    let hub = Hub::new();
    hub.other_run(SLUG);
    let mut part = merging::part("", None, true);
    part.job.as_mut().unwrap().fail_on = vec!["none".into()];
    hub.upload("gbench-ci", &[part.clone()]);
    hub.ran("workflow_run.completed", "publish").exits(0);
    assert_eq!(hub.conclusion().as_deref(), Some("failure"));
    // In its own job, where nobody else has a word, it is the job's policy that counts.
    let hub = Hub::new();
    let folder = merging::write(&VerdictPart { name: "lenient".into(), ..part }, hub.folder.path());
    hub.ran("pull_request.synchronize", &format!("publish {}", shown(&folder))).exits(0);
    assert_eq!(hub.conclusion().as_deref(), Some("neutral"));
}

#[test]
fn n18_an_issue_is_of_the_default_branch_and_of_a_base_that_nobody_chose() {
    let hub = Hub::with(&["checks", "issues"]);
    for (by_hand, words) in
        [(true, "issue: left as it is, the base was chosen by hand"), (false, "issue: opened")]
    {
        let mut part = merging::part("", None, true);
        part.job.as_mut().unwrap().base.by_hand = by_hand;
        let folder =
            merging::write(&VerdictPart { name: format!("part-{by_hand}"), ..part }, hub.folder.path());
        hub.ran("workflow_dispatch", &format!("publish {} --issue", shown(&folder))).exits(0).says(words);
        assert_eq!(
            hub.fake.issues().iter().filter(|issue| issue.pull.is_none()).count(),
            usize::from(!by_hand)
        );
    }
    // A run of another branch that left no verdict opens none, either.
    let hub = Hub::with(&["checks", "issues"]);
    let mut step = hub.step("workflow_dispatch", "publish --ended 4 --issue");
    step.env("GITHUB_REF", "refs/heads/topic").env("GITHUB_REF_NAME", "topic");
    ended(step).exits(0);
    assert!(hub.fake.issues().iter().all(|issue| issue.pull.is_some()));
}
