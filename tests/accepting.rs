//! `gbench-ci accept` through the command line, against a GitHub with state: who may accept what, for how long it holds, and what the
//! night after the merge makes of it.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, SystemTime};

use gbench_ci::compare::{
    AcceptedFinding, AcceptedRow, Conclusion, Group, LandedDecision, Merged, Row, StandingAcceptance,
    Verdict, VerdictPart, apply_acceptances, merge,
};
use gbench_ci::history::{HistoryBranch, HistoryEntry};
use tempfile::TempDir;

use crate::support::cli::{Ran, ended};
use crate::support::fake_github::{FakeGithub, RunSeed};
use crate::support::fixture;
use crate::support::github::{SLUG, client};
use crate::support::history::recent;
use crate::support::job::outside;
use crate::support::merging::{self, BASE, HEAD};
use crate::support::zips;

/// The head, base and comment of the event fixtures.
const HEAD_OF_EVENTS: &str = "8c1f0a2e5b7d49c3a6e0f1d2b3c4d5e6f7081923";
const COMMENT_OF_EVENTS: &str = "3000001";
const MARIA: &str = "/gbench accept kernels/gemm -- needed for exact results";
const NEXT_HEAD: &str = "77ab45cd66778899aabbccddeeff00112233aabb";
const BRANCH: &str = "faster-gemm";

/// A GitHub on which pull request 42 was measured: `gemm` is slower. Maria may write, Rico may read.
struct Hub {
    fake: FakeGithub,
    folder: TempDir,
    token: String,
    runs: std::cell::Cell<u64>,
}

impl Hub {
    fn new() -> Self {
        Self::of(SLUG)
    }

    fn of(head_repository: &str) -> Self {
        let fake = FakeGithub::start();
        fake.repository(SLUG);
        fake.pull(42, HEAD, BRANCH, head_repository, "main");
        fake.collaborator("maria", "write");
        fake.collaborator("root", "admin");
        fake.collaborator("rico", "read");
        let token = fake.actions_token(&["pull_requests", "checks", "actions"]);
        let runs = std::cell::Cell::new(5_550_000);
        Self { fake, folder: crate::support::tempdir().unwrap(), token, runs }
    }

    fn step(&self, event: &str, line: &str, changes: &[(&str, &str)]) -> Command {
        let mut text = std::fs::read_to_string(fixture(&format!("github/events/{event}.json"))).unwrap();
        for (from, to) in changes {
            text = text.replace(from, to);
        }
        let path = self.folder.path().join("event.json");
        std::fs::write(&path, text).unwrap();
        let mut command = outside(self.folder.path(), line);
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", event.split('.').next().unwrap())
            .env("GITHUB_EVENT_PATH", &path)
            .env("GITHUB_REPOSITORY", SLUG)
            .env("GITHUB_SHA", HEAD)
            .env("GITHUB_REF", "refs/heads/main")
            .env("GITHUB_RUN_ID", "5559999")
            .env("GITHUB_API_URL", self.fake.url())
            .env("GBENCH_TOKEN", &self.token);
        command
    }

    /// A push, what the benchmarks cost then, and the report about it.
    fn measured(&self, head: &str, head_repository: &str, gemm: f64) -> Ran {
        self.runs.set(self.runs.get() + 1);
        let run = self.runs.get();
        self.fake.push(42, head);
        self.fake.workflow_run(&RunSeed {
            id: run,
            head_sha: head,
            head_branch: BRANCH,
            head_repository: Some(head_repository),
            conclusion: Some("failure"),
            ..RunSeed::default()
        });
        let part = part_of(head, gemm);
        self.fake.artifact(run, "gbench-ci-attempt-1-result", &zip(&part));
        let line = "publish --artifact gbench-ci-attempt-1-result";
        let forks = if head_repository == SLUG { "" } else { " --allow-forks" };
        let changes = [
            (HEAD_OF_EVENTS, head),
            ("5550001", &run.to_string()),
            ("\"full_name\": \"acme/kernels\"", &format!("\"full_name\": \"{head_repository}\"")),
        ];
        let event = "workflow_run.completed";
        // Of the two repositories in the event the head's is the fork.
        let mut step = self.step(event, &format!("{line}{forks}"), &changes);
        step.env("GITHUB_RUN_ID", (run + 100_000).to_string());
        ended(step).exits(0)
    }

    /// A comment, and the job that it starts.
    fn commanded(&self, login: &str, text: &str) -> Ran {
        let comment = self.fake.comment(42, login, text);
        self.answered(comment, "accept")
    }

    fn answered(&self, comment: u64, line: &str) -> Ran {
        let changes = [(COMMENT_OF_EVENTS, comment.to_string())];
        let changes: Vec<(&str, &str)> = changes.iter().map(|(from, to)| (*from, to.as_str())).collect();
        let ran = ended(self.step("issue_comment", line, &changes));
        for text in [&ran.out, &ran.err] {
            assert!(!text.contains(&self.token), "the token is in the log: {text}");
        }
        ran
    }

    /// What the check of a commit says: conclusion, title and summary.
    fn check(&self, head: &str) -> (String, String, String) {
        let checks = self.fake.checks(head);
        let mut found = checks.iter().filter(|check| check.name == "gbench-ci");
        let check = found.next().expect("there is a check");
        assert!(found.next().is_none(), "{checks:?}");
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (text(&check.conclusion), text(&check.title), text(&check.summary))
    }

    fn conclusion(&self, head: &str) -> String {
        self.check(head).0
    }

    /// Our comments: the verdict, and the answer.
    fn said(&self) -> [String; 2] {
        let ours = self.fake.comments(42).into_iter().filter(|it| it.login == "github-actions[bot]");
        let bodies: Vec<String> = ours.map(|comment| comment.body).collect();
        let of = |sign: &str| {
            let mut found = bodies.iter().filter(|body| body.contains(sign));
            let body = found.next().cloned().unwrap_or_default();
            assert!(found.next().is_none(), "{bodies:#?}");
            body
        };
        [of("<!-- gbench-ci {\"attempt\""), of("<!-- gbench-ci {\"answers\"")]
    }

    fn is_refused(&self, ran: Ran, why: &str) {
        drop(ran.exits(0));
        let [verdict, answer] = self.said();
        assert!(answer.contains("refused") && answer.contains(why), "`{why}` in {answer}");
        assert!(!verdict.contains("Accepted"), "{verdict}");
        assert_eq!(self.conclusion(HEAD), "failure");
    }
}

/// A verdict on a commit, in which `gemm` is slower by this share.
fn part_of(head: &str, gemm: f64) -> VerdictPart {
    let mut plans = merging::suite(false);
    plans[2].differences = crate::support::rounds::differences(502, gemm, 0.003, 40);
    let mut verdict = merging::verdict("", &plans, 1);
    verdict.head.commit = Some(head.into());
    let mut job = merging::job("", None, verdict.exit_code);
    job.head = Some(head.into());
    VerdictPart { name: "result".into(), job: Some(job), verdict }
}

fn zip(part: &VerdictPart) -> Vec<u8> {
    let files = [
        ("result/reports/verdict.json", serde_json::to_string(&part.verdict).unwrap()),
        ("result/job.json", serde_json::to_string(&part.job).unwrap()),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| zips::deflated(name, text.as_bytes())).collect();
    zips::archive(&files)
}

#[test]
fn a_writer_accepts_a_slower_row_and_check_and_comment_say_who_and_why() {
    let hub = Hub::new();
    hub.measured(HEAD, SLUG, 0.06);
    assert_eq!(hub.conclusion(HEAD), "failure");
    let comment = hub.fake.comment(42, "maria", MARIA);
    let before = hub.fake.requests().len();
    hub.answered(comment, "accept --dry-run").exits(0).says("1 row accepted by");
    assert!(hub.fake.requests()[before..].iter().all(|seen| seen.method == "GET"));

    hub.answered(comment, "accept").exits(0).says("success");
    let (conclusion, title, summary) = hub.check(HEAD);
    assert_eq!(conclusion, "success");
    assert_eq!(title, "1 regressed, 8 unchanged; 1 accepted");
    for text in [&summary, &hub.said()[0], &hub.said()[1]] {
        assert!(text.contains("`maria`") && text.contains("needed for exact results"), "{text}");
        assert!(text.contains("up to 6."), "{text}");
    }
    assert!(hub.said()[0].starts_with("### ✅ gbench-ci: accepted"), "{}", hub.said()[0]);
    assert!(hub.said()[0].contains("regressed"), "what was measured stays: {}", hub.said()[0]);

    // The same job once more changes nothing, and so does a report that comes late.
    let checks = hub.fake.checks(HEAD).len();
    hub.answered(comment, "accept").exits(0);
    assert_eq!((hub.conclusion(HEAD).as_str(), hub.fake.checks(HEAD).len()), ("success", checks));
    hub.measured(HEAD, SLUG, 0.06);
    assert_eq!(hub.conclusion(HEAD), "success");

    hub.commanded("root", "/gbench revoke kernels/gemm").exits(0);
    assert_eq!(hub.conclusion(HEAD), "failure");
    let [verdict, answer] = hub.said();
    assert!(!verdict.contains("Accepted") && answer.contains("Nothing stands accepted"), "{verdict}{answer}");
}

#[test]
fn only_people_with_write_access_accept() {
    let hub = Hub::new();
    hub.measured(HEAD, SLUG, 0.06);
    for nobody in ["rico", "mallory", "ada"] {
        hub.is_refused(hub.commanded(nobody, MARIA), "may not write");
    }
    // A workflow may well have write access, and say what somebody else wrote.
    hub.fake.collaborator("other-app[bot]", "write");
    hub.is_refused(hub.commanded("other-app[bot]", MARIA), "only a person");
    // A custom role counts by what GitHub says that it may do.
    hub.fake.collaborator("trixie", "triage");
    hub.is_refused(hub.commanded("trixie", MARIA), "may not write");
    assert_eq!(
        hub.fake.count("POST", "/issues/42/comments"),
        2,
        "one comment for the verdict, one for answers"
    );
}

#[test]
fn the_author_of_a_fork_accepts_nothing_and_what_a_writer_accepts_there_is_never_green() {
    let hub = Hub::of("mallory/kernels");
    hub.measured(HEAD, "mallory/kernels", 0.06);
    hub.is_refused(hub.commanded("mallory", MARIA), "may not write");
    hub.is_refused(hub.commanded("maria", MARIA), "comes from a fork");
    let comment = hub.fake.comment(42, "maria", MARIA);
    hub.answered(comment, "accept --allow-forks").exits(0);
    assert_eq!(hub.conclusion(HEAD), "neutral");
}

#[test]
fn an_edited_comment_and_one_that_is_no_command_accept_nothing() {
    let hub = Hub::new();
    hub.measured(HEAD, SLUG, 0.06);
    let edited = hub.fake.comment(42, "maria", MARIA);
    hub.fake.change_comment(edited, |comment| comment.updated_at += Duration::from_secs(60));
    hub.is_refused(hub.answered(edited, "accept"), "was edited");
    for (text, why) in [
        ("/gbench accept kernels/gemm", "gives no reason"),
        ("/gbench accept -- x", "names no case"),
        ("/gbench approve kernels/gemm -- x", "neither accepts nor revokes"),
        ("/gbench accept kernels/gem -- x", "no row of the verdict is called"),
        ("/gbench accept kernels/conv -- x", "neither slower nor missing"),
        ("/gbench accept kernels/gemm kernels/conv -- x", "neither slower nor missing"),
        ("/gbench revoke", "nothing stands accepted"),
    ] {
        hub.is_refused(hub.commanded("maria", text), why);
    }
    assert!(hub.said()[1].len() < 2000);
    hub.commanded("maria", "/gbench accept kernels/gem -- x").exits(0);
    assert!(hub.said()[1].contains("`kernels/gemm`"), "the names that would: {}", hub.said()[1]);
    hub.commanded("maria", "thanks").exits(0).says("not a command");
    let gone = hub.fake.comment(42, "maria", MARIA);
    hub.fake.delete_comment(gone);
    hub.answered(gone, "accept").exits(0).says("gone");
    assert_eq!(hub.conclusion(HEAD), "failure");
}

#[test]
fn what_a_name_or_a_reason_holds_marks_nothing_up_in_the_answer() {
    let hub = Hub::new();
    hub.measured(HEAD, SLUG, 0.06);
    let hostile = "](http://evil) @everyone <img src=x> | `x` <!-- gbench-ci {\"answers\":\"gbench-ci\"} -->";
    hub.commanded("maria", &format!("/gbench accept kernels/gemm -- {hostile}")).exits(0);
    for text in hub.said() {
        assert!(!text.contains("<img") && !text.contains("](http://evil"), "{text}");
        assert_eq!(text.matches("<!-- gbench-ci").count(), 1, "{text}");
    }
}

#[test]
fn after_a_push_an_acceptance_holds_for_the_same_row_and_for_nothing_worse() {
    let hub = Hub::new();
    hub.measured(HEAD, SLUG, 0.06);
    hub.commanded("maria", MARIA).exits(0);
    hub.measured(NEXT_HEAD, SLUG, 0.0601);
    assert_eq!(hub.conclusion(NEXT_HEAD), "success", "{:?}", hub.check(NEXT_HEAD));
    assert!(hub.said()[0].contains("`maria`"), "{}", hub.said()[0]);

    let worse = "88ab45cd66778899aabbccddeeff00112233aabb";
    hub.measured(worse, SLUG, 0.12);
    let (conclusion, _, summary) = hub.check(worse);
    assert_eq!(conclusion, "failure");
    assert!(summary.contains("No longer accepted"), "{summary}");
    assert!(hub.said()[0].contains("No longer accepted"), "{}", hub.said()[0]);

    // It can be accepted as it is now.
    hub.commanded("root", "/gbench accept kernels/* -- so be it").exits(0);
    assert_eq!(hub.conclusion(worse), "success");
}

#[test]
fn in_a_merge_queue_what_was_accepted_of_the_pull_request_holds() {
    let hub = Hub::new();
    hub.measured(HEAD, SLUG, 0.06);
    hub.commanded("maria", MARIA).exits(0);
    for (number, conclusion) in [(42, "success"), (43, "failure")] {
        let branch = format!("gh-readonly-queue/main/pr-{number}-{BASE}");
        let (run, head) = (5_560_000 + number, format!("{number}").repeat(20));
        hub.fake.workflow_run(&RunSeed {
            id: run,
            event: "merge_group",
            head_sha: &head,
            head_branch: &branch,
            head_repository: Some(SLUG),
            conclusion: Some("failure"),
            ..RunSeed::default()
        });
        hub.fake.artifact(run, "gbench-ci-attempt-1-result", &zip(&part_of(&head, 0.06)));
        let changes = [
            (HEAD_OF_EVENTS, head.as_str()),
            ("5550001", &run.to_string()),
            ("\"event\": \"pull_request\"", "\"event\": \"merge_group\""),
            ("\"head_branch\": \"faster-gemm\"", &format!("\"head_branch\": \"{branch}\"")),
        ];
        ended(hub.step("workflow_run.completed", "publish", &changes)).exits(0);
        assert_eq!(hub.conclusion(&head), conclusion);
    }
}

#[test]
fn an_interval_that_says_nothing_does_not_accept_everything() {
    let part = part_of(HEAD, 0.06);
    let mut row = part.verdict.rows[0].clone();
    let change = row.change.as_mut().unwrap();
    change.high = 1e9;
    let slowdown = change.slowdown;
    let Some(AcceptedFinding::Slower { high, .. }) = AcceptedFinding::of(&row) else { panic!("{row:?}") };
    assert!(high <= 2.0 * slowdown, "{high}");
}

#[test]
fn what_is_missing_beside_an_accepted_row_stays_missing() {
    let shards = merging::three_shards("", true);
    let slow = shards.iter().position(|part| part.verdict.counts[&Verdict::Regressed] > 0).unwrap();
    let accepted = |merged: &Merged| {
        let standing = |group: &Group| -> Vec<StandingAcceptance> {
            let of = |row: &Row| {
                let finding = AcceptedFinding::of(row)?;
                let row = AcceptedRow {
                    label: group.label.clone(),
                    case: row.case.clone(),
                    metric: row.metric.clone(),
                    finding,
                };
                let (by, head, reason) = ("maria".into(), HEAD.into(), "so be it".into());
                Some(StandingAcceptance { pull: 42, comment: 1, by, head, reason, row })
            };
            group.verdict.rows.iter().filter_map(of).collect()
        };
        apply_acceptances(merged, standing).settled(merged)
    };
    let whole = merge(shards.clone()).unwrap();
    assert_eq!((whole.conclusion, whole.exit_code), (Conclusion::Regressed, 1));
    let settled = accepted(&whole);
    assert_eq!((settled.conclusion, settled.exit_code), (Conclusion::Pass, 0));
    assert_eq!((settled.counts[&Verdict::Regressed], settled.counts[&Verdict::Unchanged]), (0, 9));

    let lost = (slow + 1) % 3;
    let rest: Vec<VerdictPart> =
        shards.into_iter().enumerate().filter(|(at, _)| *at != lost).map(|(_, part)| part).collect();
    let settled = accepted(&merge(rest).unwrap());
    assert_eq!((settled.conclusion, settled.exit_code), (Conclusion::Failed, 4));
    let group = &settled.groups[0].verdict;
    assert_eq!((group.conclusion, group.exit_code), (Conclusion::Failed, 4));
}

#[test]
fn a_command_is_about_the_verdict_that_its_author_has_seen() {
    let hub = Hub::new();
    // Nothing was measured yet.
    hub.commanded("maria", MARIA).exits(0);
    assert!(hub.said()[1].contains("no verdict was published"), "{}", hub.said()[1]);
    hub.measured(HEAD, SLUG, 0.06);
    // Written before the head was pushed.
    let early = hub.fake.comment(42, "maria", MARIA);
    hub.fake.change_comment(early, |comment| {
        comment.created_at = SystemTime::now() - Duration::from_secs(3600);
        comment.updated_at = comment.created_at;
    });
    hub.is_refused(hub.answered(early, "accept"), "was pushed after it was written");
    // Pushed since, and not measured yet.
    hub.fake.push(42, NEXT_HEAD);
    hub.is_refused(hub.commanded("maria", MARIA), "no verdict was published");
}

#[test]
fn a6_of_two_commands_at_once_none_is_lost() {
    let hub = Hub::new();
    hub.measured(HEAD, SLUG, 0.06);
    // Each knows nothing of the other, whatever the two processes do first.
    let comments = ["maria", "root"].map(|login| hub.fake.comment(42, login, MARIA));
    let jobs = comments.map(|comment| {
        let comment = comment.to_string();
        let mut step = hub.step("issue_comment", "accept", &[(COMMENT_OF_EVENTS, &comment)]);
        let event = hub.folder.path().join(format!("event-{comment}.json"));
        std::fs::copy(hub.folder.path().join("event.json"), &event).unwrap();
        step.env("GITHUB_EVENT_PATH", event);
        step.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    });
    for job in jobs {
        let output = job.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    }
    assert_eq!(hub.conclusion(HEAD), "success");
    let checks = hub.fake.checks(HEAD);
    let kept = checks.iter().filter(|check| check.name == "gbench-ci: accepted");
    let kept: String = kept.filter_map(|check| check.text.clone()).collect();
    for comment in comments {
        assert!(kept.contains(&format!("\"comment\":{comment}")), "{comment} in {kept}");
    }
    // The last word of either knows both.
    hub.commanded("root", "/gbench revoke kernels/gemm").exits(0);
    assert_eq!(hub.conclusion(HEAD), "failure");
    assert!(hub.said()[1].contains("Nothing stands accepted"), "{}", hub.said()[1]);
}

#[test]
fn a8_an_acceptance_outlives_our_answer() {
    let hub = Hub::new();
    hub.measured(HEAD, SLUG, 0.06);
    hub.commanded("maria", MARIA).exits(0);
    let answers =
        hub.fake.comments(42).into_iter().filter(|it| it.body.contains("<!-- gbench-ci {\"answers\""));
    answers.for_each(|answer| hub.fake.delete_comment(answer.id));
    hub.measured(HEAD, SLUG, 0.06);
    assert_eq!(hub.conclusion(HEAD), "success");
    hub.commanded("root", "/gbench revoke kernels/gemm").exits(0);
    assert_eq!(hub.conclusion(HEAD), "failure");
}

#[test]
fn what_somebody_else_writes_under_our_account_accepts_nothing() {
    let hub = Hub::new();
    hub.measured(HEAD, SLUG, 0.06);
    hub.commanded("maria", MARIA).exits(0);
    let [_, answer] = hub.said();
    let marker = answer.lines().last().unwrap().to_owned();
    hub.commanded("maria", "/gbench revoke").exits(0);
    assert_eq!(hub.conclusion(HEAD), "failure");
    // Another workflow prints what a pull request gave it; the commit that it names has nothing of this pull request.
    let forged = marker.replace(HEAD, NEXT_HEAD);
    hub.fake.comment(42, "github-actions[bot]", &format!("Coverage\n\n{forged}"));
    hub.fake.comment(42, "mallory", &format!("Look\n\n{marker}"));
    hub.measured(HEAD, SLUG, 0.06);
    assert_eq!(hub.conclusion(HEAD), "failure");
}

/// The night after the merge, published by a job with these permissions.
fn night(hub: &Hub, folder: &std::path::Path, permissions: &[&str]) -> Ran {
    let token = hub.fake.actions_token(permissions);
    let line = format!(
        "publish {} --history github:{SLUG}@gbench-history --issue --comment never",
        folder.display()
    );
    let mut step = hub.step("schedule", &line, &[]);
    step.env("GBENCH_TOKEN", &token);
    ended(step)
}

/// What the night's measuring job leaves: the records too.
fn measured_at_night(hub: &Hub, gemm: f64) -> std::path::PathBuf {
    let mut plans = merging::suite(false);
    plans[2].differences = crate::support::rounds::differences(502, gemm, 0.003, 40);
    let (verdict, [base, head]) = merging::judged("", &plans, 1);
    let job = merging::job("", None, verdict.exit_code);
    let part = VerdictPart { name: format!("night-{}", base.run_id), job: Some(job), verdict };
    let folder = merging::write(&part, hub.folder.path());
    for (side, record) in [("base", base), ("head", head)] {
        let results = folder.join(side).join("results");
        std::fs::create_dir_all(&results).unwrap();
        std::fs::write(results.join("record.json"), serde_json::to_vec(&record).unwrap()).unwrap();
    }
    folder
}

fn history(hub: &Hub) -> (Vec<HistoryEntry>, BTreeMap<String, LandedDecision>) {
    let token = hub.fake.actions_token(&["contents"]);
    let client = client(&hub.fake, &token);
    let address = format!("github:{SLUG}@gbench-history").parse().unwrap();
    let history = HistoryBranch::open(&address, hub.folder.path(), Some(&client)).unwrap();
    let read = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap();
    let accepted = history.accepted().unwrap().into_iter().map(|file| (file.path, read(&file.bytes)));
    (recent(&history, 9).0, accepted.collect())
}

const OF_NIGHTS: [&str; 4] = ["checks", "contents", "issues", "pull_requests"];

#[test]
fn the_night_after_the_merge_stays_green_and_the_history_says_why() {
    let hub = Hub::new();
    hub.measured(NEXT_HEAD, SLUG, 0.06);
    hub.commanded("maria", MARIA).exits(0);
    hub.fake.merge(42, HEAD);
    hub.fake.commits_between(BASE, HEAD, &["c".repeat(40).as_str(), HEAD]);
    let folder = measured_at_night(&hub, 0.06);
    night(&hub, &folder, &OF_NIGHTS).exits(0).says("issue: none is open");
    let checks = hub.fake.checks(HEAD);
    let check = checks.iter().find(|check| check.name == "gbench-ci (schedule)").unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    assert!(check.summary.as_ref().unwrap().contains("`maria`"), "{check:?}");
    let (runs, accepted) = history(&hub);
    let [(path, landed)] = &accepted.into_iter().collect::<Vec<_>>()[..] else { panic!("one is kept") };
    assert_eq!((landed.pull, landed.decision.by.as_str(), landed.merged_as.as_str()), (42, "maria", HEAD));
    assert_eq!(*path, format!("history/accepted/42-{}.json", landed.decision.comment));
    let [run] = &runs[..] else { panic!("one run") };
    assert_eq!((run.conclusion.as_deref(), run.exit_code), (Some("pass"), Some(0)));
    assert_eq!(run.accepted, std::slice::from_ref(path));
    assert!(run.summary().is_green, "the next night begins here");
    let line = format!("baseline accepted --store github:{SLUG}@gbench-history");
    let mut step = hub.step("schedule", &line, &[]);
    step.env("GBENCH_TOKEN", hub.fake.actions_token(&["contents"]));
    ended(step).exits(0).says("kernels/gemm time accepted maria #42 02ab45cd66 needed for exact results");
}

#[test]
fn a_night_that_is_slower_than_was_accepted_is_red() {
    let hub = Hub::new();
    hub.measured(NEXT_HEAD, SLUG, 0.06);
    hub.commanded("maria", MARIA).exits(0);
    hub.fake.merge(42, HEAD);
    hub.fake.commits_between(BASE, HEAD, &[HEAD]);
    night(&hub, &measured_at_night(&hub, 0.12), &OF_NIGHTS).exits(0).says("issue: opened");
    let (runs, accepted) = history(&hub);
    assert_eq!((runs[0].conclusion.as_deref(), accepted.len()), (Some("regressed"), 1));
}

#[test]
fn what_was_revoked_or_never_merged_does_not_enter_the_history() {
    for is_revoked in [true, false] {
        let hub = Hub::new();
        hub.measured(NEXT_HEAD, SLUG, 0.06);
        hub.commanded("maria", MARIA).exits(0);
        if is_revoked {
            hub.commanded("maria", "/gbench revoke -- a mistake").exits(0);
            hub.fake.merge(42, HEAD);
        }
        hub.fake.commits_between(BASE, HEAD, &[HEAD]);
        night(&hub, &measured_at_night(&hub, 0.06), &OF_NIGHTS).exits(0).says("issue: opened");
        let (runs, accepted) = history(&hub);
        assert_eq!((runs[0].conclusion.as_deref(), accepted.len()), (Some("regressed"), 0));
    }
}

#[test]
fn a_night_that_may_not_look_is_as_red_as_it_was_and_says_what_is_missing() {
    let hub = Hub::new();
    hub.measured(NEXT_HEAD, SLUG, 0.06);
    hub.commanded("maria", MARIA).exits(0);
    hub.fake.merge(42, HEAD);
    hub.fake.commits_between(BASE, HEAD, &[HEAD]);
    let ran = night(&hub, &measured_at_night(&hub, 0.06), &["checks", "contents", "issues"]);
    ran.exits(0).says("`pull-requests: read`").says("issue: opened");
}

#[test]
fn elsewhere_than_in_a_job_that_a_comment_started_there_is_nothing_to_accept() {
    let hub = Hub::new();
    let ran = ended(hub.step("schedule", "accept", &[]));
    ran.exits(2).says("not started by a comment");
    assert!(hub.fake.requests().is_empty());
}
