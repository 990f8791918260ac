//! Changes that touch nothing of what the suite measures: not measured where the base's suite file says what that is, told
//! everywhere, and nowhere green.

use std::path::PathBuf;

use gbench_ci::model::{Job, Shard};

use crate::support::cli::{Ran, ended};
use crate::support::fake_github::{FakeGithub, RunSeed};
use crate::support::github::SLUG;
use crate::support::job::{BENCH, Checkout, obeyed, outside, suite, work};
use crate::support::zips;

const PATHS: &str = "paths = [\"work\", \"kernels/\"]";

/// A pull request with these files over a base whose gate has this line.
fn pull(gate: &str, files: &[(&str, &str)]) -> Checkout {
    let main = [("gbench.toml", suite(2, gate)), ("work", work(&[1.0; 2]))];
    let main: Vec<(&str, &str)> = main.iter().map(|(name, text)| (*name, text.as_str())).collect();
    Checkout::over(&main, files)
}

/// The folders below `artifacts` that hold a job's file.
fn jobs(checkout: &Checkout) -> Vec<(PathBuf, Job)> {
    let entries = std::fs::read_dir(checkout.root().join("artifacts")).into_iter().flatten().flatten();
    let job = |path: PathBuf| {
        let text = std::fs::read_to_string(path.join("job.json")).ok()?;
        Some((path, serde_json::from_str(&text).unwrap()))
    };
    entries.filter_map(|entry| job(entry.path())).collect()
}

fn measures(checkout: &Checkout, event: &str) -> Ran {
    checkout.ran(event, "ci --quiet --rounds 4 --fail-on none").exits(0)
}

#[test]
fn n17_a_pull_request_beside_all_that_is_measured_is_not_measured_and_says_so() {
    for event in ["pull_request.synchronize", "merge_group"] {
        let checkout = pull(PATHS, &[("README.md", "words"), ("docs/kernels/a.md", "more")]);
        let ran = measures(&checkout, event).says("nothing that the suite measures was touched");
        assert!(
            ran.out.contains("none of the 2 files that it changes fits its paths (work, kernels/)"),
            "{}",
            ran.out
        );
        let notices: Vec<_> = obeyed(&ran.out).into_iter().filter(|one| one.command == "notice").collect();
        assert!(
            notices.len() == 1 && notices[0].data.contains("nothing that the suite measures"),
            "{notices:?}"
        );
        // Nothing was checked out or built.
        assert!(!checkout.root().join(".gbench").exists());
        let [(folder, job)] = &jobs(&checkout)[..] else { panic!("one job") };
        let untouched = job.untouched.as_ref().unwrap();
        assert_eq!(
            (untouched.files, untouched.paths.as_slice()),
            (2, &["work".to_owned(), "kernels/".to_owned()][..])
        );
        assert_eq!(job.head, Some(checkout.head.to_string()));
        assert!(
            !folder.join("reports/verdict.json").exists() && folder.join("reports/untouched.md").exists()
        );
        assert_eq!(checkout.output("verdict").as_deref(), Some("untouched"));
        assert_eq!(checkout.output("exit-code").as_deref(), Some("0"));
        assert_eq!(checkout.output("folder").as_deref(), folder.to_str());
        assert!(checkout.summary().contains("no benchmark has run"), "{}", checkout.summary());
    }
}

#[test]
fn n17_only_the_base_says_what_is_measured() {
    let loose = suite(2, "paths = [\"nothing\"]");
    let slower = work(&[1.0, 1.1]);
    for (gate, files) in [
        // An input; a file in a folder that is one; the suite file itself, whatever it says; nobody has said.
        (PATHS, vec![("work", slower.as_str())]),
        (PATHS, vec![("README.md", "x"), ("kernels/deep/a.cu", "x")]),
        (PATHS, vec![("gbench.toml", loose.as_str())]),
        ("", vec![("README.md", "x"), ("gbench.toml", loose.as_str())]),
        ("", vec![("README.md", "x")]),
    ] {
        let checkout = pull(gate, &files);
        measures(&checkout, "pull_request.synchronize");
        assert_eq!(checkout.verdict().rows.len(), 2, "{files:?}");
    }
    // An input that is taken away or renamed is touched, too.
    let checkout = pull(PATHS, &[("README.md", "x")]);
    std::fs::rename(checkout.root().join("work"), checkout.root().join("elsewhere")).unwrap();
    let main: Vec<(&str, &str)> = vec![("elsewhere", "x")];
    let moved = Checkout { head: checkout.sandbox.commit(&main), ..checkout };
    let ran = moved.ran("pull_request.synchronize", "ci --quiet --rounds 4 --fail-on none");
    assert!(!ran.out.contains("nothing that the suite measures"), "{}", ran.out);
    // Whoever names a base wants it compared, and a push or a night is about no change.
    for (event, line) in [
        ("pull_request.synchronize", "ci --quiet --rounds 4 --fail-on none --base main"),
        ("push", "ci --quiet --rounds 4 --fail-on none"),
    ] {
        let checkout = pull(PATHS, &[("README.md", "x")]);
        checkout.ran(event, line).exits(0);
        assert_eq!(checkout.verdict().rows.len(), 2, "{event}");
    }
}

#[test]
fn n17_paths_that_mean_nothing_are_refused_where_they_stand() {
    for (gate, words) in [
        ("paths = []", "`paths` is empty"),
        ("paths = [\"/src\"]", "`/src` is not a path in the repository"),
        ("paths = [\"../src\"]", "`../src` is not a path in the repository"),
        ("paths = [\"src/[\"]", "`src/[` is not a glob"),
        ("paths = \"src\"", "a list of paths"),
    ] {
        let checkout = pull("", &[("gbench.toml", &suite(2, gate))]);
        ended(outside(&checkout.root(), "list")).exits(2).says(words);
    }
}

/// A GitHub with pull request 42 at the head of a checkout, and what its jobs left.
struct Hub {
    fake: FakeGithub,
    checkout: Checkout,
    token: String,
}

impl Hub {
    fn new() -> Self {
        let fake = FakeGithub::start();
        fake.repository(SLUG);
        let checkout = pull(PATHS, &[("README.md", "words")]);
        let head = checkout.head.to_string();
        fake.pull(42, &head, "faster-gemm", SLUG, "main");
        fake.workflow_run(&RunSeed {
            id: 5_550_001,
            head_sha: &head,
            head_branch: "faster-gemm",
            ..RunSeed::default()
        });
        let token = fake.actions_token(&["pull_requests", "checks", "actions"]);
        Self { fake, checkout, token }
    }

    /// What the measuring job of one shard leaves.
    fn job(&self, shard: Option<Shard>) -> Job {
        let shard_flag = shard.map_or(String::new(), |shard| format!(" --shard {shard}"));
        let _ = std::fs::remove_dir_all(self.checkout.root().join("artifacts"));
        self.checkout.ran("pull_request.synchronize", &format!("ci --quiet{shard_flag}")).exits(0);
        jobs(&self.checkout).remove(0).1
    }

    fn upload(&self, name: &str, job: &Job) {
        let text = serde_json::to_vec(job).unwrap();
        self.fake.artifact(5_550_001, name, &zips::archive(&[zips::deflated("one/job.json", &text)]));
    }

    fn reports(&self, line: &str, conclusion: &str) -> Ran {
        let mut step = self.checkout.step("workflow_run.completed", line);
        let path = self.checkout.sandbox.folder.path().join("event.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.replace(r#""conclusion": "failure""#, &format!(r#""conclusion": "{conclusion}""#));
        std::fs::write(&path, text).unwrap();
        step.env("GITHUB_API_URL", self.fake.url()).env("GBENCH_TOKEN", &self.token);
        ended(step)
    }

    fn check(&self) -> (String, String) {
        let check = self.fake.checks(&self.checkout.head.to_string()).pop().unwrap();
        (check.conclusion.unwrap_or_default(), check.title.unwrap_or_default())
    }
}

#[test]
fn n17_an_untouched_change_gets_a_neutral_check_and_no_comment_that_nobody_needs() {
    let hub = Hub::new();
    hub.upload("gbench-ci", &hub.job(None));
    hub.reports("publish --summary", "success").exits(0).says("comment on #42: none");
    let said = "Nothing was measured: nothing that the suite measures was touched";
    assert_eq!(hub.check(), ("neutral".into(), said.into()));
    assert!(hub.fake.comments(42).is_empty());
    assert!(hub.checkout.summary().contains("no benchmark has run"));
    // One that is there would speak of another commit.
    let marker = format!(
        "<!-- gbench-ci {{\"attempt\":1,\"gate\":\"gbench-ci\",\"head\":\"{}\",\"run\":5,\"state\":\"aa\"}} -->",
        "1".repeat(40)
    );
    hub.fake.comment(42, "github-actions[bot]", &format!("### ✅ gbench-ci: pass\n\n{marker}"));
    hub.reports("publish", "success").exits(0).says("comment on #42: updated");
    let comment = hub.fake.comments(42).remove(0).body;
    assert!(comment.contains("nothing was measured") && !comment.contains('✅'), "{comment}");
    hub.reports("publish", "success").exits(0).says("it is up to date");
    // The job's own side, from its folder.
    let folder = jobs(&hub.checkout).remove(0).0;
    let mut step = hub.checkout.step("pull_request.synchronize", &format!("publish {}", folder.display()));
    step.env("GITHUB_API_URL", hub.fake.url()).env("GBENCH_TOKEN", &hub.token);
    ended(step).exits(0).says("neutral");
    let dry = format!("publish {} --dry-run", folder.display());
    hub.checkout
        .ran("pull_request.synchronize", &dry)
        .exits(0)
        .says("would end as neutral")
        .says("no benchmark has run");
}

#[test]
fn n17_what_is_untouched_never_stands_for_what_is_missing() {
    let shard = |index| Some(Shard { index, of: 2 });
    // Both shards; one of them; one that measured nothing because its job died; another commit's.
    for (shards, conclusion, wanted) in [
        (vec![shard(1), shard(2)], "success", "neutral"),
        (vec![shard(1)], "success", "failure"),
        (vec![shard(1), shard(2)], "failure", "failure"),
    ] {
        let hub = Hub::new();
        for (index, shard) in shards.iter().enumerate() {
            hub.upload(&format!("gbench-ci-{index}"), &hub.job(*shard));
        }
        hub.reports("publish", conclusion);
        assert_eq!(hub.check().0, wanted, "{shards:?} {conclusion}");
    }
    let hub = Hub::new();
    hub.upload("gbench-ci", &hub.job(None));
    hub.reports("publish --expect 2", "success");
    assert_eq!(hub.check().0, "failure");
    let hub = Hub::new();
    hub.upload("gbench-ci", &Job { head: Some("7".repeat(40)), ..hub.job(None) });
    hub.reports("publish", "success").exits(6).says("the event is about");
    assert_eq!(hub.check().0, "failure");
}

#[test]
fn n17_parts_that_measured_nothing_merge_only_with_their_like() {
    let folder = crate::support::tempdir().unwrap();
    let hub = Hub::new();
    let shard = |index| Some(Shard { index, of: 2 });
    let put = |name: &str, job: &Job| {
        let place = folder.path().join("parts").join(name).join("one");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("job.json"), serde_json::to_string(job).unwrap()).unwrap();
    };
    let merge = |line: &str| ended(outside(folder.path(), &format!("merge parts {line}")));
    put("a", &hub.job(shard(1)));
    merge("").exits(4);
    put("b", &hub.job(shard(2)));
    merge("--expect 2 --measured success").exits(0).says("nothing that the suite measures was touched");
    assert!(!folder.path().join("merged").exists());
    merge("--expect 3").exits(4);
    merge("--measured failure").exits(4);
    // Beside one that did measure it is a gap.
    let measured = pull("", &[("work", &work(&[1.0; 2])), ("bench.sh", BENCH)]);
    measured.ran("pull_request.synchronize", "ci --quiet --rounds 4 --shard 1/2").exits(0);
    let folder = crate::support::tempdir().unwrap();
    let parts = folder.path().join("parts");
    let copy =
        format!("mkdir -p '{0}' && cp -R '{1}' '{0}/a'", parts.display(), measured.comparison().display());
    assert!(std::process::Command::new("sh").args(["-c", &copy]).status().unwrap().success());
    let job = Job { head: measured.job().head, base: measured.job().base, ..hub.job(shard(2)) };
    std::fs::create_dir_all(parts.join("b")).unwrap();
    std::fs::write(parts.join("b/job.json"), serde_json::to_string(&job).unwrap()).unwrap();
    ended(outside(folder.path(), "merge parts"))
        .exits(4)
        .says("measured nothing, because nothing that it measures");
}
