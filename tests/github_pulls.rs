//! Which pull request a finished run measured: what GitHub says, and nothing that came along with the run.

use gbench_ci::github::pulls::{self, OpenPull};
use gbench_ci::github::{Client, WorkflowRun};

use crate::support::fake_github::{FakeGithub, RunSeed};
use crate::support::github::{SLUG, client, sha};

const FORK: &str = "mallory/kernels";

fn hub() -> (FakeGithub, Client) {
    let fake = FakeGithub::start();
    fake.repository(SLUG);
    let token = fake.actions_token(&["pull_requests", "actions"]);
    let client = client(&fake, &token);
    (fake, client)
}

/// A finished run of a fork's branch, as the event file has it, and the same at GitHub.
fn run(fake: &FakeGithub, branch: &str) -> WorkflowRun {
    let head = sha(1);
    let path = ".github/workflows/benchmarks.yml";
    fake.workflow_run(&RunSeed {
        id: 11,
        head_sha: head.as_str(),
        head_branch: branch,
        head_repository: Some(FORK),
        path,
        ..RunSeed::default()
    });
    WorkflowRun {
        id: 11,
        attempt: 1,
        event: "pull_request".into(),
        action: "completed".into(),
        conclusion: Some("success".into()),
        head,
        head_branch: branch.into(),
        head_repository: Some(FORK.parse().unwrap()),
        name: "Benchmarks".into(),
        path: Some(path.into()),
    }
}

fn why(client: &Client, run: &WorkflowRun) -> String {
    pulls::of_run(client, run).unwrap().unwrap_err().why
}

#[test]
fn t4_the_pull_request_is_found_by_repository_branch_and_commit() {
    let (fake, client) = hub();
    let run = run(&fake, "feature");
    fake.pull(3, sha(1).as_str(), "other", FORK, "main");
    fake.pull(4, sha(1).as_str(), "feature", SLUG, "main");
    fake.pull(5, sha(1).as_str(), "feature", FORK, "release/1");
    fake.pull(6, sha(1).as_str(), "feature", "eve/kernels", "main");
    let found = pulls::of_run(&client, &run).unwrap();
    assert_eq!(found, Ok(vec![OpenPull { number: 5, head: sha(1), base_branch: "release/1".into() }]));
    assert_eq!(client.requests_used(), 2);
    assert_eq!(pulls::head_of(&client, 5), Ok(sha(1)));
}

#[test]
fn t4_no_match_is_no_pull_request_and_two_are_both_named() {
    let (fake, client) = hub();
    let run = run(&fake, "feature");
    assert!(why(&client, &run).contains("no open pull request"));
    // Somebody else's pull request of the same name and commit does not do.
    fake.pull(4, sha(1).as_str(), "feature", "eve/kernels", "main");
    assert!(why(&client, &run).contains("no open pull request"));
    fake.pull(5, sha(2).as_str(), "feature", FORK, "main");
    assert!(why(&client, &run).contains("has moved on"), "{}", why(&client, &run));
    fake.push(5, sha(1).as_str());
    assert!(pulls::of_run(&client, &run).unwrap().is_ok());
    fake.pull(6, sha(1).as_str(), "feature", FORK, "release/1");
    let numbers = || {
        let found = pulls::of_run(&client, &run).unwrap().unwrap();
        found.into_iter().map(|pull| pull.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(), [5, 6]);
    fake.change_pull(6, |issue| issue.open = false);
    assert_eq!(numbers(), [5]);
}

#[test]
fn a_fork_whose_repository_is_gone_has_none() {
    let (fake, client) = hub();
    let mut run = run(&fake, "feature");
    fake.pull(5, sha(1).as_str(), "feature", FORK, "main");
    fake.change_pull(5, |issue| issue.pull.as_mut().unwrap().head_repository = None);
    assert!(why(&client, &run).contains("no open pull request"));
    run.head_repository = None;
    assert!(why(&client, &run).contains("is gone"));
    // GitHub sends no repository here, which its own description of a list does not know.
    assert!(fake.violations().iter().all(|violation| violation.contains("`/0/head/repo`: null")));
}

#[test]
fn a_branch_name_with_odd_characters_is_asked_for_whole() {
    let odd = [
        "a&state=all",
        "a#b",
        "a+b c",
        "ü/日本",
        "$(touch x)",
        "a%26head=eve:main",
        "x:y",
        "\"quoted\"",
        "a?b=c;d",
    ];
    for branch in odd {
        let (fake, client) = hub();
        let run = run(&fake, branch);
        fake.pull(4, sha(1).as_str(), "a", FORK, "main");
        fake.pull(5, sha(1).as_str(), branch, FORK, "main");
        assert_eq!(pulls::of_run(&client, &run).unwrap().unwrap()[0].number, 5, "{branch}");
        let asked = fake.requests().pop().unwrap().query;
        assert_eq!(asked.matches('&').count(), 3, "{asked}");
    }
}

#[test]
fn t4_an_event_file_that_disagrees_with_github_is_not_believed() {
    let (fake, client) = hub();
    let run = run(&fake, "feature");
    fake.pull(5, sha(1).as_str(), "feature", FORK, "main");
    fake.pull(9, sha(9).as_str(), "main", SLUG, "main");
    let lies: [(&str, WorkflowRun); 5] = [
        ("head_sha", WorkflowRun { head: sha(9), ..run.clone() }),
        ("head_branch", WorkflowRun { head_branch: "main".into(), ..run.clone() }),
        ("head_repository", WorkflowRun { head_repository: Some(SLUG.parse().unwrap()), ..run.clone() }),
        ("event", WorkflowRun { event: "pull_request_target".into(), ..run.clone() }),
        ("path", WorkflowRun { path: Some(".github/workflows/other.yml".into()), ..run.clone() }),
    ];
    for (field, lie) in lies {
        assert!(why(&client, &lie).contains(&format!("`{field}`")), "{field}: {}", why(&client, &lie));
    }
    let push = WorkflowRun { event: "push".into(), ..run.clone() };
    assert!(why(&client, &push).contains("not by a pull request"));
    // A run that GitHub does not know is an error, not an answer.
    let unknown = WorkflowRun { id: 12, ..run };
    assert_eq!(pulls::of_run(&client, &unknown).unwrap_err().status(), Some(404));
}
