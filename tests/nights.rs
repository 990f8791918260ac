//! What a measured run leaves in the history, and what is not let in: `gbench-ci ci`, then `publish --history`.

use std::path::Path;

use gbench_ci::history::{HistoryBranch, HistoryEntry};
use gbench_ci::model::Job;
use gbench_ci::store::latest_comparison;
use git2::Oid;

use crate::support::cli::{Ran, ended};
use crate::support::fake_github::{FakeGithub, RunSeed};
use crate::support::history::recent;
use crate::support::job::{BENCH, Checkout, outside, suite, work};

const PUBLISH: &str = "publish --history git:gbench-history";

/// On `main`, with two commits of the same speed.
struct Laptop {
    checkout: Checkout,
    first: Oid,
    second: Oid,
}

impl Laptop {
    fn new() -> Self {
        let checkout = Checkout::over(
            &[("gbench.toml", &suite(2, "")), ("work", &work(&[1.0; 2])), ("bench.sh", BENCH)],
            &[("note", "x")],
        );
        let sandbox = &checkout.sandbox;
        // A machine's own setting must not decide which branch is the default one.
        sandbox.repository.config().unwrap().set_str("init.defaultBranch", "main").unwrap();
        sandbox.switch("main");
        let (first, second) = (checkout.base, sandbox.commit(&[("note", "y")]));
        Self { checkout, first, second }
    }

    fn root(&self) -> std::path::PathBuf {
        self.checkout.root()
    }

    #[track_caller]
    fn ran(&self, line: &str) -> Ran {
        ended(outside(&self.root(), line))
    }

    fn measured(&self, flags: &str) {
        self.ran(&format!("ci --quiet --rounds 4 --fail-on none {flags}")).exits(0);
    }

    fn kept(&self) -> Vec<HistoryEntry> {
        kept(&self.root())
    }
}

fn kept(root: &Path) -> Vec<HistoryEntry> {
    recent(&HistoryBranch::open(&"git:gbench-history".parse().unwrap(), root, None).unwrap(), 99).0
}

#[test]
fn a_run_against_a_base_chosen_by_hand_is_kept_only_of_a_commit_against_itself() {
    let laptop = Laptop::new();
    laptop.measured("--base HEAD~1");
    let job = laptop.checkout.job();
    assert!(job.base.by_hand && job.base.why.contains("as asked for by `--base`"), "{:?}", job.base);
    assert_eq!(job.base.commit, Some(laptop.first.to_string()));
    laptop.ran(PUBLISH).exits(0).says("not kept: a run against a base chosen by hand");
    assert!(laptop.kept().is_empty());

    // This is how a slowdown is accepted.
    laptop.measured("--base HEAD --shard 2/2");
    laptop.ran(PUBLISH).exits(0).says("git:gbench-history: history/");
    let kept = laptop.kept();
    assert_eq!(kept.len(), 1);
    let second = laptop.second.to_string();
    assert_eq!((&kept[0].commit, kept[0].base.as_ref()), (&second, Some(&second)));
    assert_eq!(kept[0].shard.unwrap().to_string(), "2/2");

    // What nobody chose is kept as well.
    laptop.measured("");
    laptop.ran(PUBLISH).exits(0);
    assert_eq!(laptop.kept().iter().map(|entry| entry.shard).collect::<Vec<_>>(), [None, kept[0].shard]);
}

#[test]
fn in_a_job_a_run_against_a_base_chosen_by_hand_is_told_and_not_kept() {
    let laptop = Laptop::new();
    let checkout = Checkout { head: laptop.second, ..laptop.checkout };
    let fake = FakeGithub::start();
    fake.repository("acme/kernels");
    fake.workflow_run(&RunSeed {
        event: "workflow_dispatch",
        head_branch: "main",
        head_sha: &checkout.head.to_string(),
        ..RunSeed::default()
    });
    let token = fake.actions_token(&["checks", "contents"]);
    let publish = || {
        let mut step = checkout.step("workflow_dispatch", PUBLISH);
        step.env("GITHUB_API_URL", fake.url()).env("GBENCH_TOKEN", &token);
        ended(step).exits(0)
    };
    let line = "ci --quiet --rounds 4 --fail-on none";
    checkout.ran("workflow_dispatch", &format!("{line} --base HEAD~1")).exits(0);
    publish().says("not kept: a run against a base chosen by hand");
    assert!(kept(&checkout.root()).is_empty());
    assert_eq!(fake.checks(&checkout.head.to_string()).len(), 1, "it is judged all the same");

    let accepted = checkout.ran("workflow_dispatch", &format!("{line} --base {}", checkout.head)).exits(0);
    assert!(!accepted.out.contains("::warning"), "{}", accepted.out);
    publish();
    let kept = kept(&checkout.root());
    assert_eq!((kept.len(), kept[0].event.as_str()), (1, "workflow_dispatch"));
    assert_eq!(kept[0].base.as_ref(), Some(&kept[0].commit));
}

#[test]
fn outside_of_ci_only_commits_of_the_default_branch_enter() {
    let laptop = Laptop::new();
    let sandbox = &laptop.checkout.sandbox;
    sandbox.write("work", &work(&[1.1; 2]));
    laptop.measured("");
    laptop.ran(PUBLISH).exits(6).says("changes that are in no commit").says("commit the changes");
    sandbox.switch("topic");
    laptop.measured("");
    laptop.ran(PUBLISH).exits(6).says("it takes runs of the default branch alone, main");
    // The branch is right and the commit is not.
    laptop.ran("compare main..topic --quiet --rounds 4");
    sandbox.switch("main");
    laptop.ran(PUBLISH).exits(6).says("is not one that this clone knows");
    assert!(laptop.kept().is_empty());

    laptop.measured("");
    laptop.ran(PUBLISH).exits(0);
    assert_eq!((laptop.kept().len(), laptop.kept()[0].branch.as_str()), (1, "main"));
    // A job's own files say what it was: they are kept apart from the record.
    let folder = latest_comparison(&laptop.root().join("artifacts")).unwrap();
    let job: Job = serde_json::from_str(&std::fs::read_to_string(folder.join("job.json")).unwrap()).unwrap();
    assert!(!job.base.by_hand);
}

#[test]
fn a_wrong_address_or_policy_is_refused_before_anything_is_told() {
    let laptop = Laptop::new();
    for (line, words) in [
        ("publish --history bogus:x", "is not an address of a store"),
        ("publish --history dir:x", "a history is a branch"),
        ("publish --dry-run --fail-on none,failed", "exclude each other"),
    ] {
        laptop.ran(line).exits(2).says(words);
    }
}
