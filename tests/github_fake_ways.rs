//! Who may do what at the fake GitHub, what goes wrong on the way, and what it complains about.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::fake_github::{FakeGithub, Fault, FaultKind, RunSeed, Seen, TokenKind};
use crate::support::rest::{Rest, RestAnswer};

const COMMENTS: &str = "/repos/acme/kernels/issues/7/comments";
const CHECKS: &str = "/repos/acme/kernels/check-runs";

/// A fake with a pull request, the token of a job that may write comments, and the first commit.
fn fake() -> (FakeGithub, Rest, String) {
    let fake = FakeGithub::start();
    let first = fake.repository("acme/kernels");
    fake.pull(7, &first, "feature", "acme/kernels", "main");
    let rest = Rest::new(&fake.url(), Some(&fake.actions_token(&["pull_requests"])));
    (fake, rest, first)
}

fn say(rest: &Rest) -> Result<RestAnswer, String> {
    rest.send("POST", COMMENTS, Some(&json!({ "body": "hello" })))
}

fn status(rest: &Rest) -> Option<u16> {
    say(rest).ok().map(|answer| answer.status)
}

#[test]
fn without_a_good_token_nothing_is_said_or_shown() {
    let (fake, _, _) = fake();
    let nobody = Rest::new(&fake.url(), None);
    assert_eq!(say(&nobody).unwrap().said(), (401, "Requires authentication"));
    assert_eq!(nobody.get("/repos/acme/kernels").status, 404, "it is private");
    assert_eq!(nobody.get("/rate_limit").status, 200);
    let wrong = Rest::new(&fake.url(), Some("ghs_wrong"));
    assert_eq!(say(&wrong).unwrap().said(), (401, "Bad credentials"));
    assert!(fake.comments(7).is_empty());
}

#[test]
fn a_missing_permission_is_named_in_a_header() {
    let (fake, rest, first) = fake();
    let refused = rest.post(CHECKS, json!({ "name": "bench", "head_sha": first }));
    assert_eq!(refused.said(), (403, "Resource not accessible by integration"));
    assert_eq!(refused.header("x-accepted-github-permissions"), "checks=write");
    assert_eq!(status(&rest), Some(201));
    let issue = fake.issue("somebody", "Slow", "very");
    let place = format!("/repos/acme/kernels/issues/{issue}/comments");
    let refused = rest.post(&place, json!({ "body": "x" }));
    assert_eq!(refused.header("x-accepted-github-permissions"), "issues=write", "it is no pull request");

    let reader = fake.token("github-actions[bot]", TokenKind::App, &[("pull-requests", "read")]);
    let reader = Rest::new(&fake.url(), Some(&reader));
    assert_eq!(reader.get(COMMENTS).status, 200);
    let refused = say(&reader).unwrap();
    assert_eq!(refused.header("x-accepted-github-permissions"), "issues=write; pull_requests=write");

    let person = fake.token("somebody", TokenKind::User, &[("checks", "write")]);
    let person = Rest::new(&fake.url(), Some(&person));
    let refused = person.post(CHECKS, json!({ "name": "bench", "head_sha": first }));
    assert_eq!(refused.said(), (403, "You must authenticate via a GitHub App."));
    assert_eq!(say(&person).unwrap().said().1, "Resource not accessible by personal access token");
}

#[test]
fn each_fault_does_what_its_name_says() {
    for (kind, heard, is_done) in [
        (FaultKind::Status(502, "Bad Gateway".into()), Some(502), false),
        (FaultKind::StatusAfter(502, "Bad Gateway".into()), Some(502), true),
        (FaultKind::LostResponse, None, true),
        (FaultKind::TornResponse, None, true),
        (FaultKind::Refused, None, false),
        (FaultKind::Delay(Duration::from_millis(1)), Some(201), true),
        (FaultKind::RetryAfter(3), Some(429), false),
        (FaultKind::SecondaryLimit, Some(403), false),
        (FaultKind::PrimaryLimit(60), Some(403), false),
    ] {
        let (fake, rest, _) = fake();
        fake.inject(Fault::new("POST", "/comments$", kind.clone()));
        let first = say(&rest).ok();
        let seen: Seen = fake.requests().remove(0);
        assert_eq!(first.as_ref().map(|answer| answer.status), heard, "{kind:?}");
        assert_eq!((seen.status, seen.handled), (heard, is_done), "{kind:?}");
        assert_eq!(fake.comments(7).len(), usize::from(is_done), "{kind:?}");
        let header = |name: &str| first.as_ref().map_or("", |answer| answer.header(name)).to_owned();
        match kind {
            FaultKind::RetryAfter(_) => assert_eq!(header("retry-after"), "3"),
            FaultKind::SecondaryLimit => assert_eq!(header("retry-after"), ""),
            FaultKind::PrimaryLimit(_) => assert_eq!(header("x-ratelimit-remaining"), "0"),
            _ => {}
        }
        assert_eq!(status(&rest), Some(201), "the next one meets nothing");
        assert_eq!(fake.mend(), 1);
    }
}

#[test]
fn faults_come_when_they_are_told_to() {
    let broken = || FaultKind::Status(500, "broken".into());
    let draws = |fault: Fault| {
        let (fake, rest, _) = fake();
        fake.inject(fault);
        let answers: String = (0..8).map(|_| if status(&rest) == Some(500) { 'x' } else { '.' }).collect();
        fake.mend();
        assert_eq!(status(&rest), Some(201));
        answers
    };
    let fault = || Fault::new("POST", "/comments$", broken());
    assert_eq!(draws(fault()), "x.......");
    assert_eq!(draws(fault().nth(3)), "..x.....");
    assert_eq!(draws(fault().first(2)), "xx......");
    assert_eq!(draws(fault().always()), "xxxxxxxx");
    assert_eq!(draws(Fault::new("GET", "/comments$", broken()).always()), "........");
    assert_eq!(draws(Fault::new("*", "/issues/8/", broken()).always()), "........");
    let (one, again, other) =
        (draws(fault().odds(0.5, 1)), draws(fault().odds(0.5, 1)), draws(fault().odds(0.5, 2)));
    assert!(one == again && one != other && one.contains('x') && one.contains('.'), "{one} {other}");
}

#[test]
fn an_hours_requests_come_to_an_end() {
    let (fake, rest, _) = fake();
    fake.rate_limit(1, Duration::from_secs(100));
    assert_eq!(say(&rest).unwrap().header("x-ratelimit-remaining"), "0");
    let refused = say(&rest).unwrap();
    assert_eq!(refused.said(), (403, "API rate limit exceeded for installation."));
    let reset: u64 = refused.header("x-ratelimit-reset").parse().unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert!((now..now + 102).contains(&reset));
    assert_eq!(fake.comments(7).len(), 1);
}

#[test]
fn what_is_not_described_is_reported() {
    let (fake, rest, _) = fake();
    let complaint = |method: &str, route: &str, body: Option<Value>| {
        let _ = rest.send(method, route, body.as_ref());
        fake.violations().join(" and ")
    };
    for (method, route, body, complained) in [
        ("POST", COMMENTS, Some(json!({ "body": "x", "boddy": 1 })), "`boddy` is not described"),
        ("POST", COMMENTS, Some(json!({})), "\"body\" is a required property"),
        ("POST", COMMENTS, Some(json!({ "body": 3 })), "`/body`: 3 is not of type \"string\""),
        (
            "POST",
            "/repos/acme/kernels/git/trees",
            Some(json!({ "tree": [{ "name": "x" }] })),
            "`tree.0.name` is not",
        ),
        ("GET", "/repos/acme/kernels/pulls?stat=open", None, "the query parameter `stat` is not described"),
        ("GET", "/repos/acme/kernels/pulls?state=ajar", None, "\"ajar\" is not one of"),
        ("GET", "/repos/acme/kernels/pulls?page=two", None, "not of type \"integer\""),
        ("GET", "/repos/acme/kernels/pulls", Some(json!({})), "a body is sent where none is described"),
        ("GET", "/repos/acme/kernels/teams", None, "no operation of the description"),
    ] {
        let said = complaint(method, route, body);
        assert!(said.starts_with(&format!("{method} ")) && said.contains(complained), "{route}: {said:?}");
    }
    assert_eq!(complaint("POST", COMMENTS, Some(json!({ "body": "x" }))), "");
}

#[test]
#[should_panic(expected = "`boddy` is not described")]
fn what_is_not_described_fails_the_test_that_did_it() {
    let (_fake, rest, _) = fake();
    rest.post(COMMENTS, json!({ "body": "x", "boddy": 1 }));
}

#[test]
fn an_enterprise_server_answers_below_its_path_only() {
    let fake = FakeGithub::start_below("/api/v3");
    fake.repository("acme/kernels");
    let token = fake.actions_token(&["contents"]);
    assert!(fake.url().ends_with("/api/v3"));
    assert_eq!(Rest::new(&fake.url(), Some(&token)).get("/repos/acme/kernels").status, 200);
    let root = Rest::new(fake.url().trim_end_matches("/api/v3"), Some(&token));
    assert_eq!(root.get("/repos/acme/kernels").status, 404);
    assert_eq!(fake.requests()[0].path, "/repos/acme/kernels");
    assert!(fake.violations()[0].contains("the API lies below /api/v3"));
}

#[test]
fn a_token_at_the_other_host_is_reported() {
    let (fake, _, first) = fake();
    fake.workflow_run(&RunSeed { id: 11, head_sha: &first, ..RunSeed::default() });
    let id = fake.artifact(11, "verdict", b"zip");
    let token = fake.actions_token(&["actions"]);
    let rest = Rest::new(&fake.url(), Some(&token));
    let place =
        rest.get(&format!("/repos/acme/kernels/actions/artifacts/{id}/zip")).header("location").to_owned();
    let bare = Rest::new("", None);
    assert_eq!(bare.get(&place).status, 200);
    assert_eq!(bare.get(&place.replace("sig=k", "sig=x")).status, 403);
    assert_eq!(fake.violations(), [""; 0]);
    assert_eq!(Rest::new("", Some(&token)).get(&place).status, 400);
    assert_eq!(fake.violations(), [format!("GET /artifacts/{id}.zip: the token went to another host")]);
    fake.change_artifact(id, Some(1 << 40), Some("sha256:00"), true);
    let shown = rest.get("/repos/acme/kernels/actions/runs/11/artifacts").body["artifacts"][0].clone();
    assert_eq!((&shown["size_in_bytes"], &shown["digest"]), (&json!(1_u64 << 40), &json!("sha256:00")));
    assert_eq!(rest.get(&format!("/repos/acme/kernels/actions/artifacts/{id}/zip")).status, 410);
}

#[test]
fn a_pull_request_changes_as_people_change_it() {
    let (fake, rest, _) = fake();
    let shown = || rest.get("/repos/acme/kernels/pulls/7").body;
    fake.push(7, &"d".repeat(40));
    assert_eq!(shown()["head"]["sha"], "d".repeat(40));
    fake.change_pull(7, |issue| {
        issue.open = false;
        issue.pull.as_mut().unwrap().head_repository = None;
    });
    assert_eq!((&shown()["state"], &shown()["head"]["repo"]), (&json!("closed"), &Value::Null));
    let open = rest.get("/repos/acme/kernels/pulls?state=open&head=acme:feature");
    assert_eq!(open.body, json!([]));
    fake.workflow_run(&RunSeed { head_repository: None, conclusion: None, ..RunSeed::default() });
    let rest = Rest::new(&fake.url(), Some(&fake.actions_token(&["actions"])));
    let run = rest.get("/repos/acme/kernels/actions/runs/1").body;
    assert_eq!((&run["head_repository"], &run["status"]), (&Value::Null, &json!("in_progress")));
}

#[test]
fn requests_are_counted_and_remembered() {
    let (fake, rest, _) = fake();
    say(&rest).unwrap();
    rest.get(&format!("{COMMENTS}?per_page=1"));
    assert_eq!(
        (fake.count("POST", "/comments$"), fake.count("*", "/comments$"), fake.count("GET", "/pulls")),
        (1, 2, 0)
    );
    let [said, read]: [Seen; 2] = fake.requests().try_into().unwrap();
    assert_eq!((said.method.as_str(), said.operation.as_deref()), ("POST", Some("issues/create-comment")));
    assert_eq!(
        (said.body["body"].as_str(), said.login.as_deref()),
        (Some("hello"), Some("github-actions[bot]"))
    );
    assert_eq!((read.path.as_str(), read.query.as_str()), (COMMENTS, "per_page=1"));
    assert!(said.sent_at <= read.sent_at);
}
