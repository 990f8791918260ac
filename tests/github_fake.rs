//! The fake GitHub answers as GitHub's description says, and as its documentation says beyond that.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::fake_github::{FakeGithub, RunSeed, TokenKind, base64};
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
    fake.label(7, "measure", std::time::SystemTime::now());
    assert_eq!(rest.get(&at("/issues/7/events")).body[0]["label"]["name"], "measure");
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

    let blob = rest.post(&at("/git/blobs"), json!({ "content": "x" })).body["sha"].clone();
    assert_eq!(rest.get(&at(&format!("/git/blobs/{}", text(&blob)))).body["size"], 1);
    let entry = json!({ "path": "x", "mode": "100644", "type": "blob", "sha": &blob });
    let tree = rest.post(&at("/git/trees"), json!({ "tree": [entry] })).body["sha"].clone();
    assert_eq!(rest.get(&at(&format!("/git/trees/{}", text(&tree)))).body["tree"][0]["path"], "x");
    let commit = rest.post(&at("/git/commits"), json!({ "message": "m", "tree": tree })).body["sha"].clone();
    assert_eq!(rest.get(&at(&format!("/git/commits/{}", text(&commit)))).body["message"], "m");
    assert_eq!(rest.post(&at("/git/refs"), json!({ "ref": "refs/heads/x", "sha": commit })).status, 201);
    assert_eq!(rest.get(&at("/git/ref/heads/x")).body["object"]["sha"], commit);
    assert_eq!(rest.patch(&at("/git/refs/heads/x"), json!({ "sha": commit })).status, 200);
    assert_eq!(rest.get(&at("/contents/x?ref=x")).body["sha"], blob);
    assert_eq!(rest.get(&at("/contents/y?ref=x")).status, 404);

    fake.collaborator("maria", "write");
    let may = |login: &str| rest.get(&at(&format!("/collaborators/{login}/permission"))).body;
    assert_eq!(
        (&may("maria")["permission"], &may("mallory")["permission"]),
        (&json!("write"), &json!("none"))
    );
    let second = fake.commit("main", &[("x", b"y")], "second");
    let between = rest.get(&at(&format!("/compare/{first}...{second}"))).body;
    assert_eq!((&between["total_commits"], &between["commits"][0]["sha"]), (&json!(1), &json!(second)));
    fake.merge(7, &second);
    assert_eq!(rest.get(&at("/pulls?state=closed")).body[0]["merge_commit_sha"], json!(second));

    let seen: BTreeSet<String> = fake.requests().into_iter().filter_map(|seen| seen.operation).collect();
    let described: BTreeSet<String> = FakeGithub::operations().into_iter().map(str::to_owned).collect();
    assert_eq!(seen, described, "each of them is tried here");
    assert_eq!(fake.violations(), [""; 0]);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
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

#[test]
fn comments_come_in_pages_with_links() {
    let (fake, first, rest) = fake();
    fake.pull(7, &first, "feature", "acme/kernels", "main");
    for n in 1..=5 {
        fake.comment(7, "somebody", &format!("{n}"));
    }
    let page = rest.get(&at("/issues/7/comments?per_page=2&page=2"));
    let bodies: Vec<&str> = page.body.as_array().unwrap().iter().map(|one| text(&one["body"])).collect();
    assert_eq!(bodies, ["3", "4"]);
    let link = |rel: &str, page: u32| {
        let url = fake.url();
        format!("<{url}{REPO}/issues/7/comments?per_page=2&page={page}>; rel=\"{rel}\"")
    };
    let links = [link("prev", 1), link("next", 3), link("last", 3), link("first", 1)];
    assert_eq!(page.header("link"), links.join(", "));
    assert_eq!(rest.get(&at("/issues/7/comments?per_page=2&page=9")).body, json!([]));
    assert_eq!(rest.get(&at("/issues/7/comments")).header("link"), "", "all of them fit on one");
}

#[test]
fn bodies_end_at_65536_characters() {
    let (fake, first, rest) = fake();
    fake.pull(7, &first, "feature", "acme/kernels", "main");
    // Characters, not bytes: each of these has two.
    let longest = "ä".repeat(65_536);
    let comment = rest.post(&at("/issues/7/comments"), json!({ "body": longest }));
    assert_eq!(comment.status, 201);
    let place = at(&format!("/issues/comments/{}", comment.body["id"]));
    let too_long = json!({ "body": format!("{longest}."), "title": "t" });
    let comment_too_long = json!({ "body": too_long["body"] });
    for (method, route, body) in [
        ("POST", at("/issues/7/comments"), &comment_too_long),
        ("PATCH", place, &comment_too_long),
        ("POST", at("/issues"), &too_long),
        ("PATCH", at("/issues/7"), &too_long),
    ] {
        let answer = rest.send(method, &route, Some(body)).unwrap();
        assert_eq!(answer.status, 422, "{method} {route}");
        assert_eq!(answer.body["errors"][0]["message"], "body is too long (maximum is 65536 characters)");
    }
    assert_eq!(rest.post(&at("/issues"), json!({ "title": "t".repeat(257) })).status, 422);
    assert_eq!(fake.comments(7)[0].body, longest);
    assert!(fake.issues().is_empty());
}

#[test]
fn a_check_takes_fifty_annotations_at_a_time_and_appends_them() {
    let (fake, first, rest) = fake();
    let output = |n: u32| {
        let annotations: Vec<Value> = (1..=n).map(annotation).collect();
        json!({ "title": "t", "summary": "s", "annotations": annotations })
    };
    let check = json!({ "name": "bench", "head_sha": first, "output": output(50) });
    let check = rest.post(&at("/check-runs"), check);
    let place = at(&format!("/check-runs/{}", check.body["id"]));
    assert_eq!(rest.patch(&place, json!({ "output": output(30) })).body["output"]["annotations_count"], 80);
    assert_eq!(rest.get(&format!("{place}/annotations?per_page=100")).body.as_array().unwrap().len(), 80);
    assert_eq!(fake.violations(), [""; 0]);

    let long = |name: &str, text: String| {
        let mut output = output(1);
        *output.pointer_mut(name).unwrap() = text.into();
        json!({ "output": output })
    };
    for wrong in [
        json!({ "output": output(51) }),
        long("/summary", "s".repeat(65_536)),
        long("/annotations/0/message", "m".repeat((64 << 10) + 1)),
        json!({ "status": "completed" }),
        json!({ "conclusion": "great" }),
    ] {
        let answer = rest.patch(&place, wrong);
        assert_eq!(answer.status, 422, "{}", answer.body);
    }
    let (kept, violations) = (fake.checks(&first)[0].annotations.len(), fake.violations());
    assert_eq!(kept, 80, "a refused request changes nothing");
    assert!(violations.iter().any(|one| one.contains("`/output/annotations`")), "{violations:?}");
    assert_eq!(rest.patch(&place, json!({ "conclusion": "success" })).body["status"], "completed");
    let again = rest.patch(&place, json!({ "status": "in_progress" }));
    assert_eq!((&again.body["status"], &again.body["conclusion"]), (&json!("in_progress"), &Value::Null));
    let unknown = json!({ "name": "bench", "head_sha": "c".repeat(40) });
    assert_eq!(rest.post(&at("/check-runs"), unknown).status, 422);
}

#[test]
fn of_checks_with_one_name_a_list_shows_the_latest() {
    let (fake, first, rest) = fake();
    for name in ["bench", "bench", "other"] {
        rest.post(&at("/check-runs"), json!({ "name": name, "head_sha": first }));
    }
    let count =
        |query: &str| rest.get(&at(&format!("/commits/main/check-runs{query}"))).body["total_count"].clone();
    assert_eq!(
        (count(""), count("?check_name=bench"), count("?check_name=bench&filter=all")),
        (2.into(), 1.into(), 2.into())
    );
    assert_eq!(fake.checks(&first).len(), 3);
}

#[test]
fn a_status_has_a_short_description_and_the_worst_counts() {
    let (fake, first, rest) = fake();
    let place = at(&format!("/statuses/{first}"));
    let status = |state: &str, context: &str, length: usize| {
        rest.post(&place, json!({ "state": state, "context": context, "description": "d".repeat(length) }))
            .status
    };
    assert_eq!([status("success", "a", 140), status("success", "a", 141)], [201, 422]);
    assert_eq!(rest.get(&at("/commits/main/status")).body["state"], "success");
    assert_eq!([status("pending", "b", 0), status("failure", "c", 0)], [201, 201]);
    assert_eq!(rest.get(&at("/commits/main/status")).body["state"], "failure");
    assert_eq!(status("success", "c", 0), 201);
    assert_eq!(
        rest.get(&at("/commits/main/status")).body["state"],
        "pending",
        "the newest of a context counts"
    );
    let page = rest.get(&at("/commits/main/status?per_page=2&page=2"));
    assert_eq!((page.body["statuses"].as_array().unwrap().len(), &page.body["total_count"]), (1, &json!(3)));
    assert_eq!(fake.statuses(&first).len(), 4);
    assert_eq!(fake.violations(), [""; 0]);
    assert_eq!(status("perfect", "c", 0), 422);
    assert_eq!(fake.violations().len(), 1);
}
