//! The fake GitHub answers as GitHub's description says, and as its documentation says beyond that.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::fake_github::{FakeGithub, Fault, FaultKind, RunSeed, TokenKind, base64};
use crate::support::rest::Rest;

const EVERYTHING: [&str; 6] = ["issues", "pull_requests", "checks", "statuses", "contents", "actions"];
const REPO: &str = "/repos/acme/kernels";

/// A fake with one repository, its first commit, and a token that may do everything an App may.
fn fake() -> (FakeGithub, String, Rest) {
    let fake = FakeGithub::start();
    let first = fake.repository("acme/kernels");
    let token = fake.actions_token(&EVERYTHING);
    let rest = Rest::new(&fake.url(), Some(&token));
    (fake, first, rest)
}

fn at(rest: &str) -> String {
    format!("{REPO}{rest}")
}

#[test]
fn every_operation_answers_as_the_description_says() {
    let (fake, first, rest) = fake();
    fake.pull(7, &first, "feature", "acme/kernels", "main");
    fake.workflow_run(&RunSeed { id: 11, head_sha: &first, ..RunSeed::default() });
    let artifact = fake.artifact(11, "verdict", b"PK\x05\x06 no files");
    assert_eq!(rest.get("/rate_limit").status, 200);
    assert_eq!(rest.get("/user").status, 403);
    let person = Rest::new(&fake.url(), Some(&fake.token("somebody", TokenKind::User, &[])));
    assert_eq!(person.get("/user").body["login"], "somebody");
    assert_eq!(rest.get(REPO).body["default_branch"], "main");

    let issue =
        rest.post(&at("/issues"), json!({ "title": "Slower", "body": "by much", "labels": ["perf"] }));
    assert_eq!((issue.status, &issue.body["number"]), (201, &json!(8)));
    assert_eq!(rest.get(&at("/issues/8")).body["labels"][0]["name"], "perf");
    assert_eq!(rest.get(&at("/issues?state=open&labels=perf")).body.as_array().unwrap().len(), 1);
    let closed = rest.patch(&at("/issues/8"), json!({ "state": "closed", "state_reason": "completed" }));
    assert_eq!(closed.body["state"], "closed");
    assert_eq!(
        rest.get(&at("/issues?state=all")).body.as_array().unwrap().len(),
        2,
        "a pull request is one too"
    );

    let comment = rest.post(&at("/issues/7/comments"), json!({ "body": "one" }));
    let comment = at(&format!("/issues/comments/{}", comment.body["id"]));
    assert_eq!(rest.patch(&comment, json!({ "body": "two" })).body["body"], "two");
    assert_eq!(rest.get(&comment).body["user"]["login"], "github-actions[bot]");
    assert_eq!(rest.get(&at("/issues/7/comments")).body[0]["body"], "two");
    assert_eq!(rest.send("DELETE", &comment, None).unwrap().status, 204);
    assert_eq!(rest.get(&comment).status, 404);

    assert_eq!(rest.get(&at("/pulls?state=open&head=acme:feature")).body[0]["number"], 7);
    assert_eq!(rest.get(&at("/pulls?state=open&head=other:feature")).body, json!([]));
    assert_eq!(rest.get(&at("/pulls/7")).body["head"]["sha"], first.as_str());

    let check =
        rest.post(&at("/check-runs"), json!({ "name": "bench", "head_sha": first, "status": "in_progress" }));
    assert_eq!((check.status, &check.body["status"]), (201, &json!("in_progress")));
    let check = at(&format!("/check-runs/{}", check.body["id"]));
    let output = json!({ "title": "t", "summary": "s", "annotations": [annotation(1)] });
    assert_eq!(
        rest.patch(&check, json!({ "conclusion": "neutral", "output": output })).body["status"],
        "completed"
    );
    assert_eq!(rest.get(&check).body["conclusion"], "neutral");
    assert_eq!(rest.get(&format!("{check}/annotations")).body[0]["message"], "line 1");
    let listed = rest.get(&at(&format!("/commits/{first}/check-runs?check_name=bench")));
    assert_eq!(listed.body["total_count"], 1);

    let status = json!({ "state": "pending", "context": "bench", "description": "measuring" });
    assert_eq!(rest.post(&at(&format!("/statuses/{first}")), status).status, 201);
    assert_eq!(rest.get(&at(&format!("/commits/{first}/statuses"))).body[0]["state"], "pending");
    assert_eq!(rest.get(&at("/commits/main/status")).body["state"], "pending");

    assert_eq!(rest.get(&at("/actions/runs/11")).body["head_sha"], first.as_str());
    assert_eq!(rest.get(&at("/actions/runs/11/artifacts?name=verdict")).body["artifacts"][0]["id"], artifact);
    let moved = rest.get(&at(&format!("/actions/artifacts/{artifact}/zip")));
    assert_eq!(moved.status, 302);
    let place = moved.header("location");
    assert!(!place.starts_with(&fake.url()));
    assert_eq!(Rest::new("", None).get(place).status, 200);
    assert_eq!(fake.violations(), [""; 0]);
}

fn annotation(line: u32) -> Value {
    json!({
        "path": "bench.py", "start_line": line, "end_line": line, "annotation_level": "failure",
        "message": format!("line {line}"),
    })
}

#[test]
fn git_data_has_gits_own_names_and_a_branch_only_moves_forward() {
    let (fake, first, rest) = fake();
    let blob =
        rest.post(&at("/git/blobs"), json!({ "content": base64::encoded(b"hello\n"), "encoding": "base64" }));
    assert_eq!(blob.body["sha"], "ce013625030ba8dba906f756967f9e9ca394464a", "as `git hash-object` says");
    let read = rest.get(&at(&format!("/git/blobs/{}", blob.body["sha"].as_str().unwrap())));
    assert_eq!(base64::decoded(read.body["content"].as_str().unwrap()).unwrap(), b"hello\n");
    let tip = rest.get(&at(&format!("/git/commits/{first}")));
    let base = tip.body["tree"]["sha"].clone();
    let grow = |parent: &str, path: &str| {
        let entry = json!({ "path": path, "mode": "100644", "type": "blob", "sha": blob.body["sha"] });
        let tree = rest.post(&at("/git/trees"), json!({ "base_tree": base, "tree": [entry] }));
        let commit = json!({ "message": path, "tree": tree.body["sha"], "parents": [parent] });
        let commit = rest.post(&at("/git/commits"), commit);
        assert_eq!((tree.status, commit.status), (201, 201));
        commit.body["sha"].as_str().unwrap().to_owned()
    };
    let (one, two) = (grow(&first, "a/b/one"), grow(&first, "a/two"));
    let branch = json!({ "ref": "refs/heads/bench/history", "sha": one });
    assert_eq!(rest.post(&at("/git/refs"), branch.clone()).status, 201);
    assert_eq!(rest.post(&at("/git/refs"), branch).said(), (422, "Reference already exists"));
    let found = rest.get(&at("/git/ref/heads/bench/history"));
    assert_eq!(found.body["object"]["sha"], one.as_str());
    assert_eq!(rest.get(&at("/git/ref/heads/none")).status, 404);
    let to = |sha: &str, force: bool| {
        rest.patch(&at("/git/refs/heads/bench/history"), json!({ "sha": sha, "force": force }))
    };
    assert_eq!(to(&two, false).said(), (422, "Update is not a fast forward"));
    let three = grow(&one, "a/three");
    assert_eq!(to(&three, false).status, 200);
    assert_eq!(to(&three, false).status, 200, "the same twice is no step back");
    assert_eq!(fake.files("bench/history").keys().collect::<Vec<_>>(), ["README.md", "a/three"]);
    assert_eq!((fake.commits("bench/history"), fake.tip("bench/history")), (3, Some(three.clone())));
    assert_eq!(to(&two, true).status, 200);
    let shown = rest.get(&at(&format!("/git/trees/{two}?recursive=1")));
    let paths: Vec<&str> =
        shown.body["tree"].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect();
    assert_eq!((paths, &shown.body["truncated"]), (vec!["README.md", "a", "a/two"], &json!(false)));
    fake.truncate_trees(2);
    assert_eq!(rest.get(&at(&format!("/git/trees/{two}?recursive=1"))).body["truncated"], true);
    fake.protect("bench/history");
    let (status, message) = (to(&three, true).status, to(&three, true).body["message"].to_string());
    assert!(status == 422 && message.contains("rule violations"), "{message}");
}

#[test]
fn an_empty_repository_takes_no_git_data() {
    let fake = FakeGithub::start();
    fake.empty_repository("acme/kernels");
    let rest = Rest::new(&fake.url(), Some(&fake.actions_token(&["contents"])));
    assert_eq!(rest.get(&at("/git/ref/heads/main")).said(), (409, "Git Repository is empty."));
    assert_eq!(rest.post(&at("/git/blobs"), json!({ "content": "x" })).status, 409);
    fake.commit("main", &[("a", b"b")], "first");
    assert_eq!(rest.get(&at("/git/ref/heads/main")).status, 200);
}
