//! What the client sends again, what it looks up first, what it waits for, and where its token goes.

use std::time::Duration;

use gbench_ci::github::{ApiError, ApiResult, Client, ClientLimits};
use gbench_ci::model::{Exit, Fault as Told};
use serde_json::{Value, json};

use crate::support::fake_github::{FakeGithub, Fault, FaultKind, RunSeed};
use crate::support::rest::{client, hasty};

const COMMENTS: &str = "/repos/acme/kernels/issues/7/comments";

/// A fake with a pull request, the token of a job that may write comments, and a client in a hurry.
fn fake() -> (FakeGithub, Client) {
    fake_with(hasty())
}

fn fake_with(limits: ClientLimits) -> (FakeGithub, Client) {
    let fake = FakeGithub::start();
    let first = fake.repository("acme/kernels");
    fake.pull(7, &first, "feature", "acme/kernels", "main");
    let token = fake.actions_token(&["pull_requests", "contents", "actions"]);
    let client = client(&fake.url(), "acme/kernels", Some(&token), limits);
    (fake, client)
}

/// Creates a comment; one that is there already is found by its text.
fn say(client: &Client, text: &str) -> ApiResult<Value> {
    let find = || {
        let all: Vec<Value> = client.pages(COMMENTS, None, 10)?;
        Ok(all.into_iter().find(|one| one["body"] == text))
    };
    client.create(COMMENTS, &json!({ "body": text }), find)
}

fn broken() -> FaultKind {
    FaultKind::Status(502, "Bad Gateway".into())
}

#[test]
fn reading_is_repeated_after_server_errors_and_silence() {
    for kind in [broken(), FaultKind::LostResponse, FaultKind::TornResponse, FaultKind::Refused] {
        let (fake, client) = fake();
        fake.inject(Fault::new("GET", "/pulls/7$", kind.clone()).first(3));
        let pull: Value = client.get("/repos/acme/kernels/pulls/7").unwrap();
        assert_eq!(pull["number"], 7, "{kind:?}");
        assert_eq!((fake.count("GET", "/pulls/7$"), client.requests_used()), (4, 4), "{kind:?}");
    }
}

#[test]
fn overwriting_is_repeated_likewise() {
    let (fake, client) = fake();
    let id = fake.comment(7, "github-actions[bot]", "before");
    fake.inject(Fault::new("PATCH", "/comments/", FaultKind::LostResponse));
    let route = format!("/repos/acme/kernels/issues/comments/{id}");
    let comment: Value = client.patch(&route, &json!({ "body": "after" })).unwrap();
    assert_eq!((comment["body"].as_str(), fake.count("PATCH", "")), (Some("after"), 2));
}

#[test]
fn reading_ends_after_as_many_tries_as_the_limits_allow() {
    let (fake, client) = fake();
    fake.inject(Fault::new("GET", "/pulls/7$", broken()).always());
    let error = client.get::<Value>("/repos/acme/kernels/pulls/7").unwrap_err();
    assert_eq!(fake.count("GET", "/pulls/7$"), hasty().attempts as usize);
    assert_eq!(error.to_string(), "GitHub cannot be reached: GitHub answers 502, 5 times");
    assert_eq!(Told::from(error).exit, Exit::Unpublished);
}

#[test]
fn a_refusal_is_final() {
    let (fake, client) = fake();
    let error = client.get::<Value>("/repos/acme/kernels/pulls/8").unwrap_err();
    assert_eq!((error.status(), error.message(), fake.count("*", "")), (Some(404), "Not Found", 1));
    let error = client.post_once::<Value>(COMMENTS, &json!({ "body": "x".repeat(65_537) })).unwrap_err();
    let said = "Validation Failed; body is too long (maximum is 65536 characters)";
    assert_eq!((error.status(), error.message()), (Some(422), said));
}

#[test]
fn what_may_have_been_created_is_looked_up_before_it_is_created_again() {
    for (kind, posts) in [
        (broken(), 2),
        (FaultKind::Refused, 2),
        (FaultKind::StatusAfter(502, "Bad Gateway".into()), 1),
        (FaultKind::StatusAfter(504, "Gateway Timeout".into()), 1),
        (FaultKind::LostResponse, 1),
        (FaultKind::TornResponse, 1),
    ] {
        let (fake, client) = fake();
        fake.inject(Fault::new("POST", "/comments$", kind.clone()));
        assert_eq!(say(&client, "hello").unwrap()["body"], "hello", "{kind:?}");
        assert_eq!((fake.comments(7).len(), fake.count("POST", "/comments$")), (1, posts), "{kind:?}");
        let order: String = fake.requests().iter().map(|seen| &seen.method[..1]).collect();
        assert_eq!(order, if posts == 1 { "PG" } else { "PGP" }, "{kind:?}");
    }
}

#[test]
fn an_answer_later_than_the_limit_is_no_reason_to_create_again() {
    let (fake, client) = fake_with(ClientLimits { timeout: Duration::from_secs(8), ..hasty() });
    fake.inject(Fault::new("POST", "/comments$", FaultKind::Delay(Duration::from_secs(1000))));
    assert_eq!(say(&client, "hello").unwrap()["body"], "hello");
    assert_eq!((fake.comments(7).len(), fake.count("POST", "/comments$")), (1, 1));
}

#[test]
fn after_the_last_try_it_is_looked_up_too() {
    let (fake, client) = fake_with(ClientLimits { attempts: 1, ..hasty() });
    fake.inject(Fault::new("POST", "/comments$", FaultKind::LostResponse));
    assert_eq!(say(&client, "hello").unwrap()["body"], "hello");
    fake.inject(Fault::new("POST", "/comments$", broken()));
    assert!(matches!(say(&client, "again"), Err(ApiError::Unreachable { .. })));
    assert_eq!((fake.comments(7).len(), fake.count("POST", "/comments$")), (1, 2));
}

#[test]
fn what_cannot_be_looked_up_is_not_created_again() {
    let (fake, client) = fake();
    fake.inject(Fault::new("POST", "/comments$", FaultKind::LostResponse));
    fake.inject(Fault::new("GET", "/comments$", broken()).always());
    let error = say(&client, "hello").unwrap_err();
    assert!(matches!(error, ApiError::Unreachable { .. }), "{error:?}");
    assert_eq!(fake.count("POST", "/comments$"), 1);
}

#[test]
fn under_any_weather_each_comment_is_there_once() {
    let (fake, client) = fake_with(ClientLimits { requests: 2000, attempts: 12, ..hasty() });
    let after = FaultKind::StatusAfter(502, "Bad Gateway".into());
    for (seed, kind) in
        [broken(), after, FaultKind::LostResponse, FaultKind::TornResponse, FaultKind::Refused]
            .into_iter()
            .enumerate()
    {
        fake.inject(Fault::new("*", "/comments$", kind).odds(0.15, seed as u64));
    }
    let texts: Vec<String> = (0..30).map(|n| format!("comment {n}")).collect();
    for text in &texts {
        say(&client, text).unwrap();
    }
    assert!(fake.mend() > 20, "the weather was too good");
    let bodies: Vec<String> = fake.comments(7).into_iter().map(|comment| comment.body).collect();
    assert_eq!(bodies, texts);
    let done = fake.requests().iter().filter(|seen| seen.method == "POST" && seen.handled).count();
    assert_eq!(done, texts.len(), "none was created twice and deleted");
}

#[test]
fn what_is_sent_once_is_sent_once() {
    let (fake, client) = fake();
    for kind in [FaultKind::LostResponse, broken()] {
        fake.inject(Fault::new("*", "/comments", kind));
    }
    let error = client.post_once::<Value>(COMMENTS, &json!({ "body": "x" })).unwrap_err();
    assert!(matches!(error, ApiError::Unreachable { .. }), "{error:?}");
    let id = fake.comments(7)[0].id;
    let route = format!("/repos/acme/kernels/issues/comments/{id}");
    let error = client.patch_once::<Value>(&route, &json!({ "body": "y" })).unwrap_err();
    assert_eq!(error.to_string(), "GitHub cannot be reached: GitHub answers 502");
    assert_eq!((fake.count("POST", ""), fake.count("PATCH", "")), (1, 1));
    fake.inject(Fault::new("PATCH", "/comments", FaultKind::RetryAfter(0)));
    let done: Value = client.patch_once(&route, &json!({ "body": "y" })).unwrap();
    assert_eq!((done["body"].as_str(), fake.count("PATCH", "")), (Some("y"), 3), "GitHub did nothing before");
}

#[test]
fn a_wait_that_github_asks_for_is_kept() {
    for kind in [FaultKind::RetryAfter(1), FaultKind::PrimaryLimit(1)] {
        let (fake, client) = fake();
        fake.inject(Fault::new("POST", "/comments$", kind.clone()));
        say(&client, "hello").unwrap();
        let [first, second] = fake.requests().try_into().unwrap();
        let waited = second.sent_at.duration_since(first.sent_at).unwrap();
        assert!(waited >= Duration::from_millis(950), "{kind:?}: {waited:?}");
        assert_eq!(
            (second.method.as_str(), fake.comments(7).len()),
            ("POST", 1),
            "nothing was done, so none is sought"
        );
    }
}

#[test]
fn a_wait_longer_than_the_limits_allow_is_an_error_at_once() {
    for (kind, seconds) in [
        (FaultKind::RetryAfter(3600), 3600..=3600),
        (FaultKind::PrimaryLimit(1800), 1790..=1801),
        (FaultKind::SecondaryLimit, 60..=60),
    ] {
        let (fake, client) = fake();
        fake.inject(Fault::new("POST", "/comments$", kind.clone()).always());
        let error = say(&client, "hello").unwrap_err();
        let ApiError::Limited { wait, .. } = &error else { panic!("{kind:?}: {error:?}") };
        assert!(seconds.contains(&wait.as_secs()), "{kind:?}: {wait:?}");
        assert_eq!((fake.count("*", ""), fake.comments(7).len()), (1, 0), "{kind:?}");
        assert!(Told::from(error).next.starts_with("run `gbench-ci publish` again in "));
    }
    let (fake, client) = fake();
    fake.inject(Fault::new("POST", "/comments$", FaultKind::RetryAfter(0)).always());
    assert!(matches!(say(&client, "hello"), Err(ApiError::Limited { .. })));
    assert_eq!(fake.count("POST", ""), hasty().attempts as usize, "however short the waits are");
}

#[test]
fn one_run_has_a_budget_of_requests() {
    let (fake, client) = fake_with(ClientLimits { requests: 3, ..hasty() });
    fake.inject(Fault::new("GET", "/pulls/7$", broken()).nth(2));
    for _ in 0..2 {
        client.get::<Value>("/repos/acme/kernels/pulls/7").unwrap();
    }
    assert_eq!(say(&client, "hello"), Err(ApiError::RequestsUsed { requests: 3 }));
    assert_eq!((fake.count("*", ""), client.requests_used()), (3, 3), "the repeated one counts too");
}

#[test]
fn a_403_names_the_line_that_grants_the_call() {
    let fake = FakeGithub::start();
    let first = fake.repository("acme/kernels");
    fake.pull(7, &first, "feature", "acme/kernels", "main");
    let client = client(&fake.url(), "acme/kernels", Some(&fake.actions_token(&[])), hasty());
    let told = |error: ApiError| {
        let told = Told::from(error);
        assert_eq!(told.exit, Exit::Unpublished);
        (told.what, told.next)
    };
    let (what, next) = told(say(&client, "hello").unwrap_err());
    assert_eq!(what, "GitHub answers 403: Resource not accessible by integration");
    assert_eq!(next, "add `pull-requests: write` below `permissions:` of the job in the workflow file");
    for (route, body, line) in [
        ("/check-runs", json!({ "name": "b", "head_sha": first }), "checks: write"),
        ("/issues", json!({ "title": "t" }), "issues: write"),
        ("/git/blobs", json!({ "content": "c" }), "contents: write"),
        (&format!("/statuses/{first}"), json!({ "state": "success" }), "statuses: write"),
    ] {
        let (_, next) = told(client.post_once::<Value>(&client.route(route), &body).unwrap_err());
        assert!(next.starts_with(&format!("add `{line}` below ")), "{route}: {next}");
    }
    let (_, next) = told(client.get::<Value>(&client.route("/actions/runs/1")).unwrap_err());
    assert!(next.starts_with("add `actions: read` below "), "{next}");
}

#[test]
fn every_page_is_read_and_no_more_than_asked_for() {
    let (fake, client) = fake();
    for n in 0..250 {
        fake.comment(7, "somebody", &format!("{n}"));
    }
    let all: Vec<Value> = client.pages(COMMENTS, None, 10).unwrap();
    assert_eq!((all.len(), all[249]["body"].as_str(), client.requests_used()), (250, Some("249"), 3));
    let few: Vec<Value> = client.pages(COMMENTS, None, 2).unwrap();
    assert_eq!((few.len(), client.requests_used()), (200, 5));
    let checks: Vec<Value> = client.pages("/repos/acme/kernels/pulls?state=all", None, 2).unwrap();
    assert_eq!((checks.len(), client.requests_used()), (1, 6));
    assert_eq!(fake.requests().last().unwrap().query, "state=all&per_page=100&page=1");
}

#[test]
fn an_artifact_is_fetched_from_another_host_without_the_token() {
    let bytes = vec![7_u8; 300_000];
    let (fake, client) = fake();
    fake.workflow_run(&RunSeed { id: 11, head_sha: "a", ..RunSeed::default() });
    let id = fake.artifact(11, "verdict", &bytes);
    // The fake complains about a token at its other host.
    fake.inject(Fault::new("GET", "^/artifacts/", FaultKind::TornResponse));
    let route = client.route(&format!("/actions/artifacts/{id}/zip"));
    assert_eq!(client.download(&route, usize::MAX).unwrap(), bytes);
    assert_eq!((fake.count("GET", "^/artifacts/"), client.requests_used()), (2, 3));
    let list: Vec<Value> =
        client.pages(&client.route("/actions/runs/11/artifacts"), Some("artifacts"), 1).unwrap();
    assert_eq!(list[0]["size_in_bytes"], 300_000);
    fake.change_artifact(id, None, None, true);
    let gone = client.download(&route, usize::MAX).unwrap_err();
    assert_eq!((gone.status(), gone.message()), (Some(410), "Artifact has expired"));
}

#[test]
fn an_answer_longer_than_the_limit_is_not_asked_for_again() {
    let (fake, client) = fake_with(ClientLimits { answer: 10_000, ..hasty() });
    fake.workflow_run(&RunSeed { id: 11, head_sha: "a", ..RunSeed::default() });
    let id = fake.artifact(11, "verdict", &[7; 10_001]);
    let error =
        client.download(&client.route(&format!("/actions/artifacts/{id}/zip")), usize::MAX).unwrap_err();
    assert_eq!(error.to_string(), "what GitHub has cannot be used: it is longer than 10000 bytes");
    assert_eq!(fake.count("GET", "^/artifacts/"), 1);
    assert!(!format!("{error:?}").contains("sig="), "the key to the file stands in no message: {error:?}");
    let long = fake.comment(7, "somebody", &"x".repeat(20_000));
    let route = client.route(&format!("/issues/comments/{long}"));
    assert!(matches!(client.get::<Value>(&route), Err(ApiError::Unfit { .. })));
    assert_eq!(fake.count("GET", "/issues/comments/"), 1);
}

#[test]
fn a_repository_that_moved_is_not_gone_after() {
    let (fake, client) = fake();
    fake.inject(Fault::new("*", "/comments$", FaultKind::Status(301, "Moved Permanently".into())).always());
    for error in [
        client.get::<Value>(COMMENTS).unwrap_err(),
        say(&client, "hello").unwrap_err(),
        client.post_once::<Value>(COMMENTS, &json!({ "body": "x" })).unwrap_err(),
    ] {
        assert_eq!((error.status(), error.message()), (Some(301), "Moved Permanently"));
        assert!(Told::from(error).next.contains("new name"));
    }
    assert_eq!(fake.count("*", ""), 3);
}

#[test]
fn an_enterprise_servers_path_is_kept() {
    let fake = FakeGithub::start_below("/api/v3");
    let first = fake.repository("acme/kernels");
    fake.pull(7, &first, "feature", "acme/kernels", "main");
    let token = fake.actions_token(&["pull_requests"]);
    let client = client(&fake.url(), "acme/kernels", Some(&token), hasty());
    say(&client, "hello").unwrap();
    let all: Vec<Value> = client.pages(COMMENTS, None, 10).unwrap();
    assert_eq!((all.len(), fake.count("*", COMMENTS)), (1, 2));
}

#[test]
fn a_token_stands_in_no_message() {
    let fake = FakeGithub::start();
    fake.repository("acme/kernels");
    let secret = "ghs_0123456789secret";
    let url = fake.url();
    let nowhere = "http://127.0.0.1:1";
    let mut errors = Vec::new();
    for (url, fault) in [
        (url.as_str(), None),
        (&url, Some(FaultKind::LostResponse)),
        (&url, Some(FaultKind::Status(422, "no".into()))),
        (&url, Some(FaultKind::RetryAfter(900))),
        (nowhere, None),
    ] {
        fake.mend();
        fault.into_iter().for_each(|kind| fake.inject(Fault::new("*", "", kind).always()));
        let client = client(url, "acme/kernels", Some(secret), ClientLimits { attempts: 2, ..hasty() });
        errors.push(client.get::<Value>("/repos/acme/kernels").unwrap_err());
        errors.push(say(&client, "hello").unwrap_err());
        errors.push(client.download("/repos/acme/kernels/actions/artifacts/1/zip", usize::MAX).unwrap_err());
    }
    for error in errors {
        let said = format!("{error} {error:?} {:?}", Told::from(error.clone()));
        assert!(!said.contains(secret) && !said.contains("Bearer"), "{said}");
    }
}
