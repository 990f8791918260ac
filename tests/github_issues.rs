//! The issue of a nightly gate: one open at a time, none of anybody else's, and never two.

use gbench_ci::github::issues::{self, IssueDone, IssueSubject, IssueTopic};
use gbench_ci::github::{Client, Identity};

use crate::support::fake_github::{FakeGithub, Issue};
use crate::support::github::{SLUG, client, sha, trouble};

const BOT: &str = "github-actions[bot]";

fn hub() -> (FakeGithub, String) {
    let fake = FakeGithub::start();
    fake.repository(SLUG);
    let token = fake.actions_token(&["issues"]);
    (fake, token)
}

fn report(client: &Client, gate: &str, open: bool, text: &str) -> IssueDone {
    let body = |marker: &str| format!("{text}\n\n{marker}");
    let title = format!("{gate} is slower");
    let subject = IssueSubject { gate, topic: IssueTopic::Verdict };
    issues::report(client, subject, open, &title, &body, "Green again.", &Identity::Actions).unwrap()
}

fn open(fake: &FakeGithub) -> Vec<Issue> {
    fake.issues().into_iter().filter(|issue| issue.open).collect()
}

/// The last line of an issue's body.
fn marker_of(issue: &Issue) -> String {
    issue.body.as_ref().unwrap().lines().last().unwrap().to_owned()
}

#[test]
fn one_issue_is_opened_updated_closed_with_a_note_and_opened_afresh() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    assert_eq!(report(&client, "nightly", false, ""), IssueDone::Nothing);
    assert!(matches!(report(&client, "nightly", true, "a..b"), IssueDone::Opened(_)));
    assert!(matches!(report(&client, "nightly", true, "a..b"), IssueDone::Unchanged(_)));
    assert!(matches!(report(&client, "nightly", true, "a..c"), IssueDone::Updated(_)));
    let all = fake.issues();
    assert_eq!(all.len(), 1);
    assert!(all[0].body.as_ref().unwrap().starts_with("a..c"));
    assert_eq!(all[0].title, "nightly is slower");
    let first = all[0].number;

    assert!(matches!(report(&client, "nightly", false, ""), IssueDone::Closed(_)));
    let closed = &fake.issues()[0];
    assert_eq!((closed.open, closed.state_reason.as_deref()), (false, Some("completed")));
    let notes = fake.comments(first);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].body.starts_with("Green again."));
    assert_eq!(report(&client, "nightly", false, ""), IssueDone::Nothing);
    assert_eq!(fake.comments(first).len(), 1);

    assert!(matches!(report(&client, "nightly", true, "c..d"), IssueDone::Opened(_)));
    assert_eq!(fake.issues().len(), 2);
    assert_ne!(open(&fake)[0].number, first);
}

#[test]
fn two_gates_have_an_issue_each() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    report(&client, "a100 --> x", true, "1");
    report(&client, "h100", true, "2");
    report(&client, "h100", false, "");
    let left = open(&fake);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].title, "a100 --> x is slower");
    assert!(matches!(report(&client, "a100 --> x", true, "3"), IssueDone::Updated(_)));
}

#[test]
fn t9_a_foreign_issue_with_our_marker_is_left_alone() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    report(&client, "nightly", true, "1");
    let body = fake.issues()[0].body.clone().unwrap();
    report(&client, "nightly", false, "");
    let forged = fake.issue("mallory", "nightly is slower", &body);
    let quoted = fake.issue(BOT, "about it", &format!("{body}\n\nsays the gate"));
    // A pull request is an issue too.
    fake.pull(90, sha(1).as_str(), "feature", SLUG, "main");
    fake.change_pull(90, |issue| {
        issue.login = BOT.into();
        issue.body = Some(body.clone());
    });
    assert_eq!(report(&client, "nightly", false, ""), IssueDone::Nothing);
    assert!(matches!(report(&client, "nightly", true, "2"), IssueDone::Opened(_)));
    assert!(matches!(report(&client, "nightly", false, ""), IssueDone::Closed(_)));
    let all = fake.issues();
    let of = |number| all.iter().find(|issue: &&Issue| issue.number == number).unwrap();
    assert_eq!((of(forged).open, of(forged).body.as_ref()), (true, Some(&body)));
    assert!(of(quoted).open);
}

#[test]
fn never_two_issues_nor_two_notes_whatever_goes_wrong() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    let mut met = 0;
    for seed in 0..40 {
        let gate = format!("night {seed}");
        trouble(&fake, seed);
        assert!(matches!(report(&client, &gate, true, "1"), IssueDone::Opened(_)), "seed {seed}");
        assert!(matches!(report(&client, &gate, true, "2"), IssueDone::Updated(_)), "seed {seed}");
        assert!(matches!(report(&client, &gate, false, ""), IssueDone::Closed(_)), "seed {seed}");
        met += fake.mend();
        let all = fake.issues();
        assert_eq!(all.len() as u64, seed + 1);
        assert!(!all.last().unwrap().open);
        assert_eq!(fake.comments(all.last().unwrap().number).len(), 1, "seed {seed}");
    }
    assert!(met > 60, "only {met} requests met a fault");
}

#[test]
fn jobs_that_run_at_once_leave_one_open_issue() {
    let (fake, token) = hub();
    let mut clients: Vec<Client> = (0..3).map(|_| client(&fake, &token)).collect();
    for night in 1..=15 {
        let gate = format!("night {night}");
        std::thread::scope(|scope| {
            for (text, client) in ["1", "2", "3"].into_iter().zip(&mut clients) {
                let gate = &gate;
                scope.spawn(move || report(client, gate, true, text));
            }
        });
        assert_eq!(open(&fake).len(), night);
    }
}

#[test]
fn an_issue_that_was_opened_again_gets_a_second_note() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    report(&client, "nightly", true, "1");
    report(&client, "nightly", false, "");
    let number = fake.issues()[0].number;
    fake.change_pull(number, |issue| issue.open = true);
    assert!(matches!(report(&client, "nightly", false, ""), IssueDone::Closed(_)));
    assert_eq!(fake.comments(number).len(), 2);
}

#[test]
fn a_title_is_no_longer_than_github_takes() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    let gate = "é".repeat(300);
    report(&client, &gate, true, "1");
    assert!(fake.issues()[0].title.chars().count() <= 256);
    assert!(matches!(report(&client, &gate, true, "1"), IssueDone::Unchanged(_)));
    assert!(marker_of(&fake.issues()[0]).contains(&gate));
}
