//! The same requests at our fake GitHub and at somebody else's emulator: what one of us made up, the other did not.
//!
//! Statuses and the fields that gbench-ci reads are compared. Where the two are known to differ, the difference stands
//! in the scenario's list of gaps with the reason; one that is no longer there fails the test, so that the list stays
//! true.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::emulator::Emulator;
use crate::support::fake_github::{FakeGithub, base64};
use crate::support::rest::{Rest, RestAnswer};

const REPO: &str = "/repos/acme/kernels";

/// Why they differ where they do. The fake's words are those that GitHub's users report.
const WORDS: &str = "the words are GitHub's here, emulate's own there";
const APPENDS: &str = "emulate replaces annotations; GitHub appends them";
const ISSUES: &str = "at GitHub every pull request is an issue, at emulate only its comments are";
const COMPLETES: &str = "a conclusion completes a check at GitHub, not at emulate";

/// A server under comparison, what was learnt from its answers, and what it answered.
struct Side {
    rest: Rest,
    names: BTreeMap<&'static str, String>,
    /// By step: the status, then the fields by their pointers.
    said: Vec<(&'static str, BTreeMap<String, Value>)>,
}

impl Side {
    fn new(url: &str, token: &str) -> Self {
        let rest = Rest::new(url, Some(token));
        Self { rest, names: BTreeMap::new(), said: Vec::new() }
    }

    /// `{name}` stands for what was learnt under that name.
    fn filled(&self, text: &str) -> String {
        self.names
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    /// One request. What the answer has at each pointer is written down.
    fn step(&mut self, step: &'static str, request: &str, body: Value, pointers: &[&str]) -> RestAnswer {
        let (method, route) = request.split_once(' ').unwrap();
        let route = self.filled(&format!("{REPO}{route}"));
        let body = Some(body).filter(|body| !body.is_null());
        let body = body.map(|body| serde_json::from_str(&self.filled(&body.to_string())).unwrap());
        let answer = self.rest.send(method, &route, body.as_ref()).unwrap();
        let mut said = BTreeMap::from([("status".to_owned(), json!(answer.status))]);
        for pointer in pointers {
            let value = match *pointer {
                "link" => links(answer.header("link")),
                "count" => json!(answer.body.as_array().map(Vec::len)),
                _ => answer.body.pointer(pointer).cloned().unwrap_or_else(|| json!("(missing)")),
            };
            said.insert(pointer.to_string(), value);
        }
        self.said.push((step, said));
        answer
    }

    fn learn(&mut self, name: &'static str, answer: &RestAnswer, pointer: &str) {
        let value = answer.body.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in {}", answer.body));
        self.names.insert(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
}

/// Where the links lead, without the host and in one order.
fn links(header: &str) -> Value {
    let path = |link: &str| link[link.find("/repos/").unwrap_or(0)..].to_owned();
    let all: BTreeSet<String> = header.split(", ").filter(|link| !link.is_empty()).map(path).collect();
    json!(all)
}

/// What each side is made ready by, where it is not the same request.
type Prepare = fn(&FakeGithub, &mut Side, &mut Side);

/// Runs the scenario on both sides. `gaps`: step, field and why they differ. Says nothing where there is no emulator.
fn compare(scenario: fn(&mut Side), gaps: &[(&str, &str, &str)]) {
    compare_prepared(|_, _, _| {}, scenario, gaps);
}

fn compare_prepared(prepare: Prepare, scenario: fn(&mut Side), gaps: &[(&str, &str, &str)]) {
    let Some(emulator) = Emulator::start("acme/kernels") else { return };
    let fake = FakeGithub::start();
    fake.repository("acme/kernels");
    let token = fake.actions_token(&["issues", "pull_requests", "checks", "contents"]);
    let (mut ours, mut theirs) = (Side::new(&fake.url(), &token), Side::new(&emulator.url, emulator.token));
    prepare(&fake, &mut ours, &mut theirs);
    scenario(&mut ours);
    scenario(&mut theirs);
    let mut found = Vec::new();
    for ((step, ours), (_, theirs)) in ours.said.iter().zip(&theirs.said) {
        for (field, value) in ours.iter().filter(|(field, value)| theirs[*field] != **value) {
            found.push((
                (*step, field.as_str()),
                format!("{step} {field}: fake {value}, emulate {}", theirs[field]),
            ));
        }
    }
    let known: Vec<(&str, &str)> = gaps.iter().map(|(step, field, _)| (*step, *field)).collect();
    let new: Vec<&String> =
        found.iter().filter(|(at, _)| !known.contains(at)).map(|(_, said)| said).collect();
    let gone: Vec<_> = known.iter().filter(|at| !found.iter().any(|(other, _)| other == *at)).collect();
    assert!(new.is_empty(), "they differ:\n{new:#?}");
    assert!(gone.is_empty(), "they no longer differ: {gone:?}");
    // What a scenario does wrong on purpose is not what the description allows.
    fake.violations();
}

#[test]
fn comments_and_issues_are_the_same() {
    fn scenario(side: &mut Side) {
        let issue = side.step(
            "an issue",
            "POST /issues",
            json!({ "title": "Slower", "body": "by much" }),
            &["/number", "/title", "/body", "/state", "/comments"],
        );
        side.learn("issue", &issue, "/number");
        let fields = ["/body", "/user/type", "/author_association"];
        for (step, body) in [("a comment", "one"), ("another", "two"), ("a third", "three")] {
            let comment =
                side.step(step, "POST /issues/{issue}/comments", json!({ "body": body }), &fields[..1]);
            side.learn("comment", &comment, "/id");
        }
        side.step(
            "a changed comment",
            "PATCH /issues/comments/{comment}",
            json!({ "body": "3" }),
            &fields[..1],
        );
        side.step("one comment", "GET /issues/comments/{comment}", Value::Null, &fields[..1]);
        side.step("the issue counts", "GET /issues/{issue}", Value::Null, &["/comments", "/state"]);
        let list = "GET /issues/{issue}/comments";
        side.step("all comments", list, Value::Null, &["count", "/0/body", "/2/body", "link"]);
        for (step, query) in [("the first page", "per_page=2&page=1"), ("the last page", "per_page=2&page=2")]
        {
            side.step(step, &format!("{list}?{query}"), Value::Null, &["count", "/0/body", "link"]);
        }
        side.step("beyond the last page", &format!("{list}?per_page=2&page=5"), Value::Null, &["count"]);
        side.step("no such issue", "POST /issues/999/comments", json!({ "body": "x" }), &["/message"]);
        side.step("no such comment", "PATCH /issues/comments/999", json!({ "body": "x" }), &["/message"]);
        side.step("an issue without a title", "POST /issues", json!({ "body": "x" }), &["/message"]);
        side.step("a comment of nothing", "POST /issues/{issue}/comments", json!({}), &["/message"]);
        side.step("a comment gone", "DELETE /issues/comments/{comment}", Value::Null, &[]);
        side.step("a comment gone twice", "DELETE /issues/comments/{comment}", Value::Null, &["/message"]);
        side.step(
            "closed",
            "PATCH /issues/{issue}",
            json!({ "state": "closed" }),
            &["/state", "/state_reason"],
        );
        side.step("open issues", "GET /issues?state=open", Value::Null, &["count"]);
        side.step("all issues", "GET /issues?state=all", Value::Null, &["count", "/0/title"]);
        let long = "x".repeat(65_537);
        side.step("a comment too long", "POST /issues/{issue}/comments", json!({ "body": long }), &[]);
    }
    let gaps = [
        ("an issue without a title", "/message", WORDS),
        ("a comment of nothing", "/message", WORDS),
        ("a comment too long", "status", "emulate has no limit; GitHub's is 65,536 characters"),
    ];
    compare(scenario, &gaps);
}

#[test]
fn checks_are_the_same() {
    fn scenario(side: &mut Side) {
        let main = side.step("the head", "GET /git/ref/heads/main", Value::Null, &["/ref", "/object/type"]);
        side.learn("head", &main, "/object/sha");
        let begun =
            json!({ "name": "bench", "head_sha": "{head}", "status": "in_progress", "external_id": "run 1" });
        let fields =
            ["/name", "/status", "/conclusion", "/external_id", "/output/title", "/output/annotations_count"];
        let check = side.step("a check", "POST /check-runs", begun, &fields);
        side.learn("check", &check, "/id");
        let place = "PATCH /check-runs/{check}";
        let annotation = |line: u32| {
            json!({
                "path": "bench.py", "start_line": line, "end_line": line, "annotation_level": "failure",
                "message": format!("line {line}"),
            })
        };
        let output = |lines: std::ops::Range<u32>| json!({ "title": "Slower", "summary": "s", "annotations": lines.map(annotation).collect::<Vec<_>>() });
        side.step("annotated", place, json!({ "output": output(1..3) }), &fields);
        let done = json!({ "status": "completed", "conclusion": "failure", "output": output(3..4) });
        side.step("finished", place, done, &fields);
        side.step("annotations", "GET /check-runs/{check}/annotations", Value::Null, &["count"]);
        side.step("read", "GET /check-runs/{check}", Value::Null, &fields);
        let list = "GET /commits/{head}/check-runs?check_name=";
        let listed = ["/total_count", "/check_runs/0/conclusion"];
        side.step("by name", &format!("{list}bench"), Value::Null, &listed);
        side.step("by another name", &format!("{list}other"), Value::Null, &listed);
        side.step("begun again", place, json!({ "status": "in_progress" }), &fields);
        side.step("a conclusion alone", place, json!({ "conclusion": "success" }), &fields);
        side.step("too many annotations", place, json!({ "output": output(0..51) }), &[]);
        side.step("no such check", "PATCH /check-runs/999999", json!({ "status": "queued" }), &["/message"]);
        side.step("a check without a commit", "POST /check-runs", json!({ "name": "bench" }), &[]);
    }
    let count = "/output/annotations_count";
    let gaps = [
        ("finished", count, APPENDS),
        ("annotations", "count", "emulate wraps the list in an object"),
        ("read", count, APPENDS),
        ("begun again", count, APPENDS),
        ("a conclusion alone", count, APPENDS),
        ("a conclusion alone", "/status", COMPLETES),
        ("a conclusion alone", "/conclusion", COMPLETES),
        ("too many annotations", "status", "emulate has no limit; GitHub's is 50 a request"),
    ];
    compare(scenario, &gaps);
}

#[test]
fn a_branch_grows_the_same_way() {
    fn scenario(side: &mut Side) {
        let main = side.step("the head", "GET /git/ref/heads/main", Value::Null, &[]);
        side.learn("first", &main, "/object/sha");
        side.step("no branch yet", "GET /git/ref/heads/bench/history", Value::Null, &["/message"]);
        let blob = json!({ "content": base64::encoded(b"hello\n"), "encoding": "base64" });
        let blob = side.step("a blob", "POST /git/blobs", blob, &["/sha"]);
        side.learn("blob", &blob, "/sha");
        side.step("the blob again", "GET /git/blobs/{blob}", Value::Null, &["/sha", "/size", "/encoding"]);
        let entry = |path: &str| json!({ "path": path, "mode": "100644", "type": "blob", "sha": "{blob}" });
        let root =
            side.step("a tree", "POST /git/trees", json!({ "tree": [entry("a")] }), &["/sha", "/truncated"]);
        side.learn("root", &root, "/sha");
        let commit =
            |tree: &str, parents: &[&str]| json!({ "message": "m", "tree": tree, "parents": parents });
        let one = side.step(
            "a root commit",
            "POST /git/commits",
            commit("{root}", &[]),
            &["/message", "/tree/sha"],
        );
        side.learn("one", &one, "/sha");
        let branch = json!({ "ref": "refs/heads/bench/history", "sha": "{one}" });
        side.step("a branch", "POST /git/refs", branch.clone(), &["/ref", "/object/type"]);
        side.step("the branch twice", "POST /git/refs", branch, &["/message"]);
        let grown = json!({ "base_tree": "{root}", "tree": [entry("2026-11/b.json")] });
        let tree = side.step("a tree upon it", "POST /git/trees", grown, &["/sha", "/truncated"]);
        side.learn("tree", &tree, "/sha");
        let all =
            ["/tree/0/path", "/tree/1/path", "/tree/2/path", "/tree/1/type", "/tree/2/sha", "/truncated"];
        side.step("all of the tree", "GET /git/trees/{tree}?recursive=1", Value::Null, &all);
        side.step("one level of it", "GET /git/trees/{tree}", Value::Null, &all);
        for (step, name) in [("a commit", "two"), ("its rival", "rival")] {
            let body = json!({ "message": name, "tree": "{tree}", "parents": ["{one}"] });
            let commit = side.step(step, "POST /git/commits", body, &["/message", "/tree/sha"]);
            side.learn(name, &commit, "/sha");
            // Equal twins would be one commit.
        }
        let place = "PATCH /git/refs/heads/bench/history";
        side.step("forward", place, json!({ "sha": "{two}", "force": false }), &["/ref"]);
        side.step("forward, too late", place, json!({ "sha": "{rival}", "force": false }), &["/message"]);
        side.step("back", place, json!({ "sha": "{one}", "force": false }), &["/message"]);
        side.step("the same again", place, json!({ "sha": "{two}", "force": false }), &["/ref"]);
        side.step("forced", place, json!({ "sha": "{rival}", "force": true }), &["/ref"]);
        side.step("no such ref", "PATCH /git/refs/heads/none", json!({ "sha": "{one}" }), &["/message"]);
        let nothing = json!({ "ref": "refs/heads/x", "sha": "c".repeat(40) });
        side.step("a ref to nothing", "POST /git/refs", nothing, &["/message"]);
        side.step("no such blob", &format!("GET /git/blobs/{}", "c".repeat(40)), Value::Null, &["/message"]);
        side.step("no such tree", &format!("GET /git/trees/{}", "c".repeat(40)), Value::Null, &["/message"]);
        let missing = json!({ "message": "m", "tree": "c".repeat(40), "parents": [] });
        side.step("a commit of no tree", "POST /git/commits", missing, &["/message"]);
    }
    let gaps = [
        ("forward, too late", "/message", WORDS),
        ("back", "/message", WORDS),
        ("a ref to nothing", "/message", WORDS),
        ("a commit of no tree", "/message", WORDS),
        ("no such ref", "status", "GitHub answers 422 where a ref to update is not there"),
        ("no such ref", "/message", WORDS),
    ];
    compare(scenario, &gaps);
}

#[test]
fn pull_requests_are_found_the_same_way() {
    // The fake has no operation that opens one, because gbench-ci never does.
    fn prepare(fake: &FakeGithub, ours: &mut Side, theirs: &mut Side) {
        for side in [&mut *ours, &mut *theirs] {
            let head = side.rest.get(&format!("{REPO}/git/ref/heads/main"));
            let branch = json!({ "ref": "refs/heads/feature/a", "sha": head.body["object"]["sha"] });
            assert_eq!(side.rest.post(&format!("{REPO}/git/refs"), branch).status, 201);
            side.learn("head", &head, "/object/sha");
        }
        fake.pull(1, &ours.names["head"], "feature/a", "acme/kernels", "main");
        let opened = json!({ "title": "A change", "head": "feature/a", "base": "main" });
        assert_eq!(theirs.rest.post(&format!("{REPO}/pulls"), opened).status, 201);
    }
    fn scenario(side: &mut Side) {
        let fields = ["/number", "/state", "/head/ref", "/head/label", "/head/repo/full_name", "/base/ref"];
        let pull = side.step("a pull request", "GET /pulls/1", Value::Null, &fields);
        assert_eq!(pull.body["head"]["sha"], side.names["head"].as_str());
        side.step("no such pull request", "GET /pulls/9", Value::Null, &["/message"]);
        let found = ["count", "/0/number", "/0/head/repo/full_name"];
        for (step, query) in [
            ("by owner and branch", "state=open&head=acme:feature/a"),
            ("by another owner", "state=open&head=other:feature/a"),
            ("by another branch", "state=open&head=acme:feature"),
            ("by base", "state=open&base=main"),
            ("by another base", "state=open&base=other"),
            ("closed ones", "state=closed"),
        ] {
            side.step(step, &format!("GET /pulls?{query}"), Value::Null, &found);
        }
        side.step("it is an issue too", "GET /issues/1", Value::Null, &["/number", "/title"]);
        side.step("with comments", "POST /issues/1/comments", json!({ "body": "x" }), &["/body"]);
        side.step("among the issues", "GET /issues?state=open", Value::Null, &["count", "/0/number"]);
    }
    let gaps = [
        ("it is an issue too", "status", ISSUES),
        ("it is an issue too", "/number", ISSUES),
        ("it is an issue too", "/title", ISSUES),
        ("among the issues", "count", ISSUES),
        ("among the issues", "/0/number", ISSUES),
    ];
    compare_prepared(prepare, scenario, &gaps);
}
