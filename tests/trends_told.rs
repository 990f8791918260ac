//! What a measuring job says of the history of its rows, and who is told: the comment of a pull request, and one issue at night.

use std::path::Path;

use gbench_ci::compare::{
    AcceptanceDecision, AcceptedFinding, AcceptedRow, DecisionKind, LandedDecision, SCHEMA_ACCEPTED,
};
use gbench_ci::history::{BesideFile, HistoryBranch, HistoryEntry};
use gbench_ci::model::{Probe, RunRecord};
use gbench_ci::store::read_record;
use gbench_ci::trend::TrendsDocument;
use git2::Oid;

use crate::support::cli::{Ran, ended};
use crate::support::fake_github::{FakeGithub, Issue, RunSeed};
use crate::support::github::{SLUG, client};
use crate::support::history::recent;
use crate::support::job::{BENCH, Checkout, suite, work};
use crate::support::nightly::{NOISE, night};
use crate::support::records::{noise, scale};

const CI: &str = "ci --quiet --rounds 4 --fail-on none --history git:gbench-history";
const PUBLISH: &str = "publish --issue --history git:gbench-history --comment never";

/// A main branch of so many commits, each measured in a night, all of the same code: `c0` cost `factor(night)` of what it costs now.
struct Nights {
    checkout: Checkout,
    commits: Vec<Oid>,
}

fn measured(checkout: &Checkout, event: &str, line: &str) -> RunRecord {
    checkout.ran(event, line).exits(0);
    read_record(&checkout.comparison().join("head")).unwrap()
}

impl Nights {
    fn new(count: u32, factor: impl Fn(u32) -> f64) -> Self {
        let mut checkout = Checkout::over(
            &[("gbench.toml", &suite(2, "")), ("work", &work(&[1.0; 2])), ("bench.sh", BENCH)],
            &[("work", &work(&[1.1, 1.0]))],
        );
        let sandbox = &checkout.sandbox;
        sandbox.switch("main");
        let commits: Vec<Oid> =
            (0..count).map(|number| sandbox.commit(&[("note", &number.to_string())])).collect();
        let pull = checkout.head;
        checkout.head = commits[commits.len() - 1];
        let record = measured(&checkout, "schedule", &format!("{CI} --base HEAD"));
        checkout.head = pull;
        let it = Self { checkout, commits };
        let commit = |number: u32| it.commits[number as usize].to_string();
        let entry = |number: u32| entry(&record, number, &commit(number), factor(number));
        it.append((0..count).map(entry), &[]);
        it
    }

    fn append(&self, nights: impl Iterator<Item = HistoryEntry>, beside: &[BesideFile]) {
        let root = self.checkout.root();
        let address = "git:gbench-history".parse().unwrap();
        let history = HistoryBranch::open(&address, &root, None).unwrap();
        nights.for_each(|night| drop(history.append_with(&night, beside).unwrap()));
    }

    /// A further commit of main, measured at night.
    fn tonight(&mut self) -> String {
        let sandbox = &self.checkout.sandbox;
        sandbox.switch("main");
        self.checkout.head = sandbox.commit(&[("note", &format!("tonight {}", self.commits.len()))]);
        self.commits.push(self.checkout.head);
        self.checkout.ran("schedule", CI).exits(0);
        self.checkout.head.to_string()
    }

    fn trends(&self) -> Option<TrendsDocument> {
        let text = std::fs::read_to_string(self.checkout.comparison().join("reports/trends.json")).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }
}

/// A night's run like this record.
fn entry(record: &RunRecord, number: u32, commit: &str, factor: f64) -> HistoryEntry {
    let like = night(number, &[]);
    let mut record = record.clone();
    record.run_id = like.run_id.clone();
    record.started = like.record.started.clone();
    if let Probe::Known(git) = &mut record.manifest.git {
        git.commit = Some(commit.to_owned());
    }
    for (benchmark, factor) in [("s/c0", factor), ("s/c1", 1.0)] {
        let noise = NOISE * noise([number, u32::from(benchmark == "s/c1"), 7, 7]);
        scale(&mut record, benchmark, noise.exp() * factor);
    }
    HistoryEntry { commit: commit.to_owned(), record, ..like }
}

struct Hub {
    fake: FakeGithub,
    token: String,
}

impl Hub {
    fn new() -> Self {
        let fake = FakeGithub::start();
        fake.repository(SLUG);
        let token = fake.actions_token(&["checks", "contents", "issues", "pull_requests"]);
        Self { fake, token }
    }

    fn published(&self, nights: &Nights, head: &str) -> Ran {
        let seed = RunSeed { event: "schedule", head_branch: "main", head_sha: head, ..RunSeed::default() };
        self.fake.workflow_run(&seed);
        let mut step = nights.checkout.step("schedule", PUBLISH);
        step.env("GITHUB_API_URL", self.fake.url()).env("GBENCH_TOKEN", &self.token);
        ended(step).exits(0)
    }

    fn about_trends(&self) -> Vec<Issue> {
        let is_it = |issue: &Issue| issue.body.as_deref().is_some_and(|body| body.contains("{\"trends\":"));
        self.fake.issues().into_iter().filter(is_it).collect()
    }
}

/// A step of 6 % after 40 of 60 nights.
fn stepped() -> Nights {
    Nights::new(60, |number| if number < 40 { 1.0 / 1.06 } else { 1.0 })
}

#[test]
fn a_lasting_change_opens_one_issue_and_who_closes_it_puts_it_aside() {
    let (mut nights, hub) = (stepped(), Hub::new());
    let head = nights.tonight();
    let document = nights.trends().expect("the history shows something");
    assert_eq!(document.runs.len(), 61);
    let [series] = document.series.as_slice() else { panic!("{:?}", document.series) };
    assert_eq!((series.case.benchmark.as_str(), series.points.len()), ("s/c0", 61));

    hub.published(&nights, &head).says("trends: opened");
    let [issue] = hub.about_trends().try_into().unwrap();
    assert_eq!(issue.title, "gbench-ci: 1 series lastingly worse");
    let body = issue.body.clone().unwrap();
    for words in [
        "`s/c0 time`",
        "| +5.9",
        "| 2026-02-10 |",
        "gbench-ci bisect s/c0 ",
        "actions/workflows/gbench-bisect.yml",
        "dismiss its findings",
    ] {
        assert!(body.contains(words), "`{words}` in {body}");
    }
    assert!(body.contains(&format!("..{}", &nights.commits[40].to_string()[..7])), "{body}");
    let all_green = hub.fake.issues().iter().all(|other| other.number == issue.number);
    assert!(all_green, "the night itself is green: {:?}", hub.fake.issues());

    hub.published(&nights, &head).says("trends: is up to date");
    // A program that closes what is old accepts nothing.
    hub.fake.set_open(issue.number, "stale[bot]", false);
    hub.published(&nights, &head).says("trends: opened");
    let again = hub.about_trends().into_iter().find(|it| it.open).unwrap();
    hub.fake.set_open(again.number, "maria", false);
    hub.published(&nights, &head).says("trends: none is open, and none is needed");
    hub.fake.set_open(again.number, "maria", true);
    hub.published(&nights, &head).says("trends: is up to date");
}

#[test]
fn what_is_fixed_or_accepted_closes_the_issue_with_what_became_of_it() {
    let (mut nights, hub) = (stepped(), Hub::new());
    let head = nights.tonight();
    hub.published(&nights, &head).says("trends: opened");
    let case = nights.trends().unwrap().series[0].case.clone();
    let row = AcceptedRow {
        label: String::new(),
        case,
        metric: "time".into(),
        finding: AcceptedFinding::Slower { slowdown: 0.06, low: 0.05, high: 0.07 },
    };
    let decision = |merged_as: Oid, comment| LandedDecision {
        schema: SCHEMA_ACCEPTED.into(),
        gate: "gbench-ci".into(),
        pull: 7,
        merged_as: merged_as.to_string(),
        decision: AcceptanceDecision {
            kind: DecisionKind::Accept,
            comment,
            by: "maria".into(),
            at: "2026-02-10T00:00:00Z".into(),
            head: merged_as.to_string(),
            reason: "exact | results".into(),
            rows: vec![row.clone()],
        },
    };
    let file = |decision: &LandedDecision| BesideFile {
        path: format!("history/accepted/7-{}.json", decision.decision.comment),
        bytes: serde_json::to_vec_pretty(decision).unwrap(),
    };
    let last = read_record(&nights.checkout.comparison().join("head")).unwrap();
    // One that came with another change of the same row says nothing of this one.
    let elsewhere = file(&decision(nights.commits[10], 1));
    let night = entry(&last, 61, &head, 1.0);
    nights.append([night].into_iter(), &[elsewhere]);
    let head = nights.tonight();
    hub.published(&nights, &head).says("trends: updated");

    let came = file(&decision(nights.commits[40], 2));
    nights.append([entry(&last, 62, &head, 1.0)].into_iter(), &[came]);
    let head = nights.tonight();
    hub.published(&nights, &head).says("trends: closed");
    let issue = hub.about_trends().remove(0);
    let notes = hub.fake.comments(issue.number);
    assert!(notes[0].body.contains("`s/c0` time: accepted by `maria` in #7"), "{}", notes[0].body);
    let ran = crate::support::cli::ran(&nights.checkout.root(), "history --store git:gbench-history s/c0");
    ran.exits(0).says("accepted by maria in #7");
}

#[test]
fn a_comment_shows_the_place_of_a_changed_row_among_the_runs_before_it() {
    let nights = Nights::new(33, |_| 1.0);
    let checkout = &nights.checkout;
    checkout.ran("pull_request.opened", "ci --quiet --fail-on none").exits(0);
    let document = nights.trends().expect("the history knows the row");
    assert_eq!((document.runs.len(), document.series.len()), (31, 1));
    assert_eq!(document.series[0].case.benchmark.as_str(), "s/c0");
    let ran = checkout.ran("pull_request.opened", "publish --dry-run").exits(0);
    for words in ["**Compared with the last 30 runs of main**", " █` | ", "worse than all 30"] {
        assert!(ran.out.contains(words), "`{words}` in {}", ran.out);
    }
    let ran = checkout
        .ran("pull_request.opened", "publish --dry-run --pages https://acme.github.io/kernels/")
        .exits(0);
    assert!(ran.out.contains("| [`s/c0`](https://acme.github.io/kernels/case/s-c0-"), "{}", ran.out);
    // Nothing of it where nothing changed, and nothing without a history.
    let reports = checkout.comparison().join("reports/trends.json");
    std::fs::remove_file(&reports).unwrap();
    let ran = checkout.ran("pull_request.opened", "publish --dry-run").exits(0);
    assert!(!ran.out.contains("Compared with the last"), "{}", ran.out);
}

#[test]
fn the_side_that_publishes_reads_the_runs_before_a_row_by_itself() {
    let (nights, hub) = (Nights::new(33, |_| 1.0), Hub::new());
    let address = "git:gbench-history".parse().unwrap();
    let root = nights.checkout.root();
    let (kept, _) = recent(&HistoryBranch::open(&address, &root, None).unwrap(), 99);
    nights.checkout.sandbox.repository.find_reference("refs/heads/gbench-history").unwrap().delete().unwrap();
    let address = format!("github:{SLUG}@gbench-history").parse().unwrap();
    let client = client(&hub.fake, &hub.token);
    let there = HistoryBranch::open(&address, &root, Some(&client)).unwrap();
    // The newest first.
    kept.iter().rev().for_each(|night| drop(there.append(night).unwrap()));

    let checkout = &nights.checkout;
    let head = checkout.head.to_string();
    checkout.ran("pull_request.opened", "ci --quiet --fail-on none").exits(0);
    assert_eq!(nights.trends(), None, "the checkout does not hold the history");
    hub.fake.pull(42, &head, "topic", SLUG, "main");
    let published = |permissions: &[&str]| {
        let token = hub.fake.actions_token(permissions);
        let mut step = checkout.step("pull_request.opened", "publish");
        step.env("GITHUB_API_URL", hub.fake.url()).env("GBENCH_TOKEN", &token);
        let ran = ended(step).exits(0);
        (ran, hub.fake.comments(42).remove(0).body)
    };
    let (_, body) = published(&["checks", "contents", "pull_requests"]);
    for words in ["**Compared with the last 30 runs of main**", " █` | ", "worse than all 30"] {
        assert!(body.contains(words), "`{words}` in {body}");
    }
    let reads = hub.fake.requests().iter().filter(|seen| seen.path.contains("/git/blobs/")).count();
    assert!((30..=35).contains(&reads), "{reads} requests for 30 runs");
}

#[test]
fn a_document_that_leads_beyond_itself_is_refused() {
    let mut nights = stepped();
    nights.tonight();
    let path = nights.checkout.comparison().join("reports/trends.json");
    let good: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let refused = |change: &dyn Fn(&mut serde_json::Value), words: &str| {
        let mut odd = good.clone();
        change(&mut odd);
        write(&path, &odd);
        let ran = nights.checkout.ran("schedule", "publish --dry-run").exits(2);
        ran.says("trends.json").says(words);
    };
    refused(&|it| it["schema"] = "gbench-ci/trends/v9".into(), "its schema is not");
    refused(&|it| it["series"][0]["points"][3]["run"] = 9_999.into(), "is of no run");
    refused(&|it| it["series"][0]["points"][3]["run"] = 0.into(), "in no order");
    refused(&|it| it["series"][0]["changes"][0]["to"] = 9_999.into(), "lies nowhere");
    refused(&|it| it["series"][0]["changes"][0]["good"] = "../x".into(), "one of its commits is not valid");
    refused(&|it| it["runs"][0]["started"] = "yesterday".into(), "started at no time");
    refused(&|it| it["series"][0]["branch"] = "a\u{1b}[2J".into(), "control characters");
    refused(&|it| it["surprise"] = 1.into(), "unknown field");
    write(&path, &good);
    nights.checkout.ran("schedule", "publish --dry-run").exits(0);
}

fn write(path: &Path, document: &serde_json::Value) {
    std::fs::write(path, serde_json::to_vec(document).unwrap()).unwrap();
}
