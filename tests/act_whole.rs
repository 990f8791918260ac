//! Whole ways under `act`: from an event through the real workflows, the real action and the real binary to what GitHub
//! holds in the end. Programs are real processes with made-up times, so verdicts do not depend on the machine.

use serde_json::{Value, json};

use crate::support::act::{Played, Stage, pull_request, repository, workflow_run};
use crate::support::emulator::Emulator;
use crate::support::fake_github::{FakeGithub, RunSeed};
use crate::support::gbench;
use crate::support::job::{BENCH, suite, work};

/// `acme/kernels`: three benchmarks on `main`, the workflows that `init` writes, and a branch `feature` in which the second
/// benchmark is slower.
pub struct Kernels {
    pub stage: Stage,
    pub base: String,
    pub head: String,
}

impl Kernels {
    pub fn new(flags: &str) -> Option<Self> {
        let mut stage = Stage::new()?;
        stage.set("GBENCH_CI_BINARY", gbench());
        for (name, text) in [("bench.sh", BENCH), ("gbench.toml", &suite(3, "")), ("work", &work(&[1.0; 3]))]
        {
            stage.write(&format!("repository/{name}"), text);
        }
        stage.write("repository/.gitignore", "/artifacts\n/.gbench\n");
        stage.using(&[("token", "${{ github.token }}"), ("name", "gate")], "");
        stage.init(flags);
        let base = stage.commit("Three kernels");
        stage.sh("cd repository && git switch -q -c feature");
        let mut it = Self { stage, base, head: String::new() };
        it.change(&[1.0, 1.1, 1.0]);
        Some(it)
    }

    pub fn change(&mut self, costs: &[f64]) {
        self.stage.write("repository/work", &work(costs));
        self.head = self.stage.commit("Change the kernels");
    }

    pub fn pull_request(&self) -> Value {
        pull_request(&self.base, &self.head, "feature", "acme/kernels")
    }

    /// The paths of an artifact's files, sorted.
    pub fn artifact(&self, name: &str) -> Vec<String> {
        let list = self.stage.sh(&format!("cd 'artifacts/{name}' && find . -type f | sort"));
        list.lines().map(|line| line.trim_start_matches("./").to_owned()).collect()
    }

    pub fn document(&self, path: &str) -> Value {
        let text = std::fs::read_to_string(self.stage.at(path)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// An artifact as GitHub hands it out.
    pub fn zip(&self, name: &str) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for path in self.artifact(name) {
            writer.start_file(&path, zip::write::SimpleFileOptions::default()).unwrap();
            let bytes = std::fs::read(self.stage.at("artifacts").join(name).join(&path)).unwrap();
            std::io::Write::write_all(&mut writer, &bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }
}

pub const RESULT: &str = "gbench-ci-attempt-1-result";

#[test]
fn b7_the_generated_pull_request_workflow_runs_unchanged_and_keeps_what_publishing_needs() {
    let Some(kernels) = Kernels::new("--runner self-hosted,gpu") else { return };
    let played = kernels.stage.play("gbench-pull-request.yml", "pull_request", &kernels.pull_request()).is(1);
    assert_eq!(played.failed_steps(), [1], "{}", played.log());
    assert_eq!(played.output("measure", "verdict"), Some("regressed"));
    assert_eq!(played.output("measure", "exit-code"), Some("1"));
    assert!(played.summaries().iter().any(|text| text.contains("s/c1")), "{:?}", played.summaries());
    let files = kernels.artifact(RESULT);
    for name in
        ["/job.json", "/reports/verdict.json", "/head/results/record.json", "/base/results/record.json"]
    {
        assert!(files.iter().any(|file| file.ends_with(name)), "{name} in {files:?}");
    }
    // All that was measured is kept beside it, the programs' output too.
    assert!(kernels.artifact("gbench-ci-attempt-1-run").len() > files.len());
    let job = files.iter().find(|file| file.ends_with("/job.json")).unwrap();
    let job = kernels.document(&format!("artifacts/{RESULT}/{job}"));
    assert_eq!(
        (job["head"].as_str(), job["base"]["commit"].as_str()),
        (Some(&*kernels.head), Some(&*kernels.base))
    );
}

#[test]
fn b7_three_shards_are_measured_by_themselves_and_merge_into_one_verdict() {
    let Some(kernels) = Kernels::new("--runner self-hosted,gpu --shards 3") else { return };
    let played = kernels.stage.play("gbench-pull-request.yml", "pull_request", &kernels.pull_request()).is(1);
    assert_eq!(played.failed_steps(), [1, 1], "the part with the slowdown, and the merge\n{}", played.log());
    assert_eq!(played.output("merge", "exit-code"), Some("1"));
    let merged = kernels.document(&format!("artifacts/{RESULT}/merged/merged.json"));
    assert_eq!(merged["exit_code"], 1);
    assert_eq!(merged["groups"].as_array().unwrap().len(), 1, "{merged}");
    let rows = merged["groups"][0]["verdict"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3, "{merged}");
    for part in 0..3 {
        assert!(!kernels.artifact(&format!("gbench-ci-attempt-1-part-{part}")).is_empty());
    }
}

#[test]
fn n18_a_part_that_is_missing_makes_the_merged_verdict_fail() {
    let Some(mut kernels) = Kernels::new("--runner self-hosted,gpu --shards 3") else { return };
    kernels.change(&[1.0; 3]);
    let played = kernels.stage.play("gbench-pull-request.yml", "pull_request", &kernels.pull_request()).is(0);
    assert_eq!(played.failed_steps(), [0; 0]);
    let merge = |expect: &str| {
        kernels.stage.using(&[("command", "merge"), ("artifacts", "parts"), ("expect", expect)], "");
        kernels.stage.sh(
            "rm -rf repository/parts && mkdir repository/parts && cp -R artifacts/*-part-* repository/parts/",
        );
        kernels.stage.play("test.yml", "push", &json!({"ref": "refs/heads/main", "repository": repository()}))
    };
    // All that are there pass, and still one may be missing.
    drop(merge("3").is(0));
    drop(merge("4").is(1).says("3 of 4 parts"));
    // Of a part that was measured again the later attempt counts, and no shard is there twice.
    kernels.stage.sh("cd artifacts && cp -R gbench-ci-attempt-1-part-2 gbench-ci-attempt-2-part-2");
    drop(merge("3").is(0));
    kernels.stage.sh("rm -rf artifacts/gbench-ci-attempt-2-part-2");
    let parts = kernels.stage.at("artifacts");
    // Measured again in a second attempt, from which the first part's upload never came; an old one does not stand in.
    std::fs::remove_dir_all(parts.join("gbench-ci-attempt-1-part-1")).unwrap();
    let played = merge("3").is(1);
    assert_eq!(played.failed_steps(), [4], "{}", played.log());
    // A later attempt of a part takes the place of an earlier one.
    kernels.stage.sh("cd artifacts && cp -R gbench-ci-attempt-1-part-2 gbench-ci-attempt-2-part-2 && rm -rf gbench-ci-attempt-1-part-2/*");
    let played = merge("2").is(1);
    drop(played.says("2 of 3"));
}

/// Plays the one-job workflow with this run's number against a server.
fn gate(kernels: &mut Kernels, run: u32, url: &str, token: &str) -> Played {
    kernels.stage.token = token.into();
    kernels.stage.set("GITHUB_API_URL", url).set("GITHUB_RUN_ID", run.to_string());
    kernels.stage.play("test.yml", "pull_request", &kernels.pull_request())
}

#[test]
fn b1_red_then_green_then_nothing_new_against_the_fake() {
    let Some(mut kernels) = Kernels::new("--runner self-hosted,gpu") else { return };
    let fake = FakeGithub::start();
    fake.repository("acme/kernels");
    let token = fake.actions_token(&["pull_requests", "checks"]);
    fake.pull(7, &kernels.head, "feature", "acme/kernels", "main");

    let played = gate(&mut kernels, 101, &fake.url(), &token).is(1).keeps_silent_about(&token);
    assert_eq!(played.failed_steps(), [1], "{}", played.log());
    assert!(!played.summaries().is_empty());
    let [red] = &fake.comments(7)[..] else { panic!("{:?}", fake.comments(7)) };
    assert!(red.body.contains("s/c1"), "{}", red.body);
    let [check] = &fake.checks(&kernels.head)[..] else { panic!("one check") };
    assert_eq!((check.status.as_str(), check.conclusion.as_deref()), ("completed", Some("failure")));

    kernels.change(&[1.0; 3]);
    fake.push(7, &kernels.head);
    gate(&mut kernels, 102, &fake.url(), &token).is(0);
    let [green] = &fake.comments(7)[..] else { panic!("{:?}", fake.comments(7)) };
    assert_eq!(green.id, red.id);
    assert_ne!(green.body, red.body);
    let [check] = &fake.checks(&kernels.head)[..] else { panic!("one check") };
    assert_eq!((check.status.as_str(), check.conclusion.as_deref()), ("completed", Some("success")));

    let written = fake.count("*", "/issues/(7/comments|comments/)") - fake.count("GET", "/issues/");
    gate(&mut kernels, 103, &fake.url(), &token).is(0);
    let [same] = &fake.comments(7)[..] else { panic!("{:?}", fake.comments(7)) };
    assert_eq!(same.body, green.body);
    assert_eq!(fake.count("*", "/issues/(7/comments|comments/)") - fake.count("GET", "/issues/"), written);
    assert_eq!(fake.checks(&kernels.head).len(), 1);
}

#[test]
fn b1_red_then_green_then_nothing_new_against_the_emulator() {
    let Some(mut kernels) = Kernels::new("--runner self-hosted,gpu") else { return };
    let Some(server) = Emulator::start("acme/kernels") else { return };
    // The fix comes with the merge: see below.
    let merged = "if git rev-parse -q --verify HEAD^2 >/dev/null; then sed -i 's/ 1.1$/ 1.0/' work; fi\n";
    kernels.stage.sh("cd repository && git switch -q main");
    kernels.stage.write("repository/bench.sh", &format!("{merged}{BENCH}"));
    kernels.base = kernels.stage.commit("Another way to be slow");
    kernels.stage.sh("cd repository && git switch -q -C feature");
    kernels.change(&[1.0, 1.1, 1.0]);
    let root = kernels.stage.at("repository");
    server.repeat("acme/kernels", &root, "main", "main");
    server.repeat("acme/kernels", &root, "feature", "feature");
    let pull = server.call(
        "POST",
        "/repos/acme/kernels/pulls",
        Some(json!({"title": "Faster", "head": "feature", "base": "main"})),
    );
    let number = pull["number"].as_u64().unwrap();
    assert_eq!(pull["head"]["sha"], json!(kernels.head));
    let comments = || server.call("GET", &format!("/repos/acme/kernels/issues/{number}/comments"), None);
    let checks =
        |head: &str| server.call("GET", &format!("/repos/acme/kernels/commits/{head}/check-runs"), None);
    let play = |kernels: &mut Kernels, run: u32| {
        kernels.stage.token = server.token.into();
        kernels.stage.set("GITHUB_API_URL", server.url.clone()).set("GITHUB_RUN_ID", run.to_string());
        let mut event = kernels.pull_request();
        event["number"] = json!(number);
        event["pull_request"]["number"] = json!(number);
        kernels.stage.play("test.yml", "pull_request", &event)
    };

    let played = play(&mut kernels, 101).is(1);
    assert_eq!(played.failed_steps(), [1], "{}", played.log());
    let red = comments();
    assert_eq!(red.as_array().unwrap().len(), 1, "{red}");
    let found = checks(&kernels.head);
    assert_eq!(
        (&found["total_count"], &found["check_runs"][0]["conclusion"]),
        (&json!(1), &json!("failure"))
    );

    // The emulator moves a pull request's head only by a merge of its own; our repository repeats that one.
    server.call("PUT", &format!("/repos/acme/kernels/pulls/{number}/update-branch"), Some(json!({})));
    let pull = server.call("GET", &format!("/repos/acme/kernels/pulls/{number}"), None);
    let head = pull["head"]["sha"].as_str().unwrap().to_owned();
    kernels.head = repeat_here(
        &kernels.stage,
        &server.call("GET", &format!("/repos/acme/kernels/git/commits/{head}"), None),
    );
    assert_eq!(kernels.head, head);
    play(&mut kernels, 102).is(0);
    let green = comments();
    assert_eq!((green.as_array().unwrap().len(), &green[0]["id"]), (1, &red[0]["id"]));
    assert_ne!(green[0]["body"], red[0]["body"]);
    let found = checks(&kernels.head);
    assert_eq!(
        (&found["total_count"], &found["check_runs"][0]["conclusion"]),
        (&json!(1), &json!("success"))
    );

    play(&mut kernels, 103).is(0);
    assert_eq!(comments(), green);
    assert_eq!(checks(&kernels.head)["total_count"], 1);
}

/// Makes a commit that a server shows, and puts `feature` on it.
fn repeat_here(stage: &Stage, commit: &Value) -> String {
    let repository = git2::Repository::open(stage.at("repository")).unwrap();
    let id = |value: &Value| git2::Oid::from_str(value["sha"].as_str().unwrap()).unwrap();
    let person = |who: &Value| {
        let date = humantime::parse_rfc3339(who["date"].as_str().unwrap()).unwrap();
        let seconds = date.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let time = git2::Time::new(i64::try_from(seconds).unwrap(), 0);
        git2::Signature::new(who["name"].as_str().unwrap(), who["email"].as_str().unwrap(), &time).unwrap()
    };
    let parents: Vec<git2::Commit> = commit["parents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|parent| repository.find_commit(id(parent)).unwrap())
        .collect();
    let tree = repository.find_tree(id(&commit["tree"])).unwrap();
    let (author, committer) = (person(&commit["author"]), person(&commit["committer"]));
    let message = format!("{}\n", commit["message"].as_str().unwrap().trim_end());
    let parents: Vec<&git2::Commit> = parents.iter().collect();
    let made = repository.commit(None, &author, &committer, &message, &tree, &parents).unwrap();
    stage.sh(&format!("cd repository && git reset -q --hard {made}"));
    made.to_string()
}

/// The report's side of a run on `feature`, whose artifacts are these.
pub fn report(
    kernels: &mut Kernels,
    fake: &FakeGithub,
    action: &str,
    head_repository: &str,
    result: Option<&[u8]>,
) -> Played {
    let token = fake.actions_token(&["pull_requests", "checks", "actions"]);
    let head = kernels.head.clone();
    fake.workflow_run(&RunSeed {
        head_sha: &head,
        head_repository: Some(head_repository),
        name: "gbench-ci pull request",
        path: ".github/workflows/gbench-pull-request.yml",
        conclusion: (action == "completed").then_some("failure"),
        ..RunSeed::default()
    });
    if let Some(zip) = result {
        fake.artifact(1, RESULT, zip);
    }
    kernels.stage.token = token;
    kernels.stage.set("GITHUB_API_URL", fake.url()).set("GITHUB_RUN_ID", "900");
    kernels.stage.play(
        "gbench-report.yml",
        "workflow_run",
        &workflow_run(action, &head, "feature", head_repository),
    )
}

#[test]
fn b6_the_trusted_side_reports_what_the_measuring_side_left() {
    for flags in ["--runner self-hosted,gpu", "--runner self-hosted,gpu --shards 3"] {
        let Some(mut kernels) = Kernels::new(flags) else { return };
        kernels.stage.play("gbench-pull-request.yml", "pull_request", &kernels.pull_request()).is(1);
        let zip = kernels.zip(RESULT);
        let fake = FakeGithub::start();
        fake.repository("acme/kernels");
        fake.pull(7, &kernels.head, "feature", "acme/kernels", "main");
        report(&mut kernels, &fake, "requested", "acme/kernels", None).is(0);
        let [begun] = &fake.checks(&kernels.head)[..] else { panic!("one check") };
        assert_eq!(begun.status, "in_progress");
        report(&mut kernels, &fake, "completed", "acme/kernels", Some(&zip)).is(0);
        let [check] = &fake.checks(&kernels.head)[..] else { panic!("one check") };
        assert_eq!((check.id, check.conclusion.as_deref()), (begun.id, Some("failure")));
        let [comment] = &fake.comments(7)[..] else { panic!("{:?}", fake.comments(7)) };
        assert!(comment.body.contains("1 of 3"), "{}", comment.body);
    }
}

#[test]
fn b6_t4_a_forks_artifact_cannot_choose_the_pull_request_and_is_called_unverified() {
    let Some(mut kernels) = Kernels::new("--runner self-hosted,gpu --forks allow") else { return };
    let event = pull_request(&kernels.base, &kernels.head, "feature", "mallory/kernels");
    kernels.stage.play("gbench-pull-request.yml", "pull_request", &event).is(1);
    let zip = kernels.zip(RESULT);
    let fake = FakeGithub::start();
    fake.repository("acme/kernels");
    fake.pull(7, &kernels.head, "feature", "mallory/kernels", "main");
    fake.pull(8, &"8".repeat(40), "feature", "acme/kernels", "main");
    let mut spoofed = workflow_run("completed", &kernels.head, "feature", "mallory/kernels");
    spoofed["workflow_run"]["pull_requests"] = json!([{"number": 8}]);
    report(&mut kernels, &fake, "completed", "mallory/kernels", Some(&zip));
    kernels.stage.play("gbench-report.yml", "workflow_run", &spoofed);
    assert_eq!(fake.comments(8).len(), 0);
    let [comment] = &fake.comments(7)[..] else { panic!("{:?}", fake.comments(7)) };
    assert!(comment.body.to_lowercase().contains("unverified"), "{}", comment.body);
}

/// The default branch at night.
pub fn night(flags: &str) -> Option<(Kernels, FakeGithub)> {
    let mut kernels = Kernels::new(flags)?;
    kernels.stage.sh("cd repository && git switch -q main");
    let fake = FakeGithub::start();
    fake.repository("acme/kernels");
    // It knows the commit by the run on it.
    fake.workflow_run(&RunSeed {
        event: "schedule",
        head_branch: "main",
        head_sha: &kernels.base,
        ..RunSeed::default()
    });
    kernels.stage.token = fake.actions_token(&["checks", "contents", "issues"]);
    kernels.stage.set("GITHUB_API_URL", fake.url());
    Some((kernels, fake))
}

#[test]
fn b7_a_night_keeps_its_record_and_opens_no_issue_while_nothing_is_slower() {
    for flags in ["--runner self-hosted,gpu", "--runner self-hosted,gpu --shards 2"] {
        let Some((kernels, fake)) = night(flags) else { return };
        let event = json!({"schedule": "23 2 * * *", "repository": repository()});
        // The first night has nothing to go by, says so, and is kept.
        let played = kernels.stage.play("gbench-nightly.yml", "schedule", &event).is(1);
        assert!(played.failed_steps().iter().all(|code| *code == 3), "{}", played.log());
        let records = fake.files("gbench-history").keys().filter(|path| path.ends_with(".json.gz")).count();
        assert!(records >= 1, "{:?}", fake.files("gbench-history").keys());
        assert_eq!(fake.issues().len(), 0);
    }
}

#[test]
fn n15_a_night_that_did_not_fetch_its_history_decides_nothing_and_says_so() {
    let Some((mut kernels, fake)) = night("--runner self-hosted,gpu") else { return };
    let accept = json!({"ref": "refs/heads/main", "inputs": {"base": "", "accept": "true"}, "repository": repository()});
    kernels.stage.play("gbench-nightly.yml", "workflow_dispatch", &accept).is(0);
    // As slow as it may be: the history is on the server, and the checkout holds the code alone.
    kernels.change(&[1.0, 1.1, 1.0]);
    let head = kernels.head.clone();
    // Another run has artifacts of its own.
    kernels.stage.sh("rm -rf artifacts/*");
    fake.workflow_run(&RunSeed {
        event: "schedule",
        head_branch: "main",
        head_sha: &head,
        ..RunSeed::default()
    });
    let event = json!({"schedule": "23 2 * * *", "repository": repository()});
    let played = kernels.stage.play("gbench-nightly.yml", "schedule", &event).is(1);
    assert_eq!(played.failed_steps(), [3], "{}", played.log());
    let told = played.says("the branch is there, and the job that measured did not see it");
    drop(told.says("issue: left as it is, the verdict is inconclusive"));
    let [check] = &fake.checks(&head)[..] else { panic!("one check") };
    assert_eq!(check.conclusion.as_deref(), Some("action_required"));
}

#[test]
fn a_night_of_another_branch_publishes_nothing() {
    let Some((kernels, fake)) = night("--runner self-hosted,gpu") else { return };
    kernels.stage.sh("cd repository && git switch -q feature");
    let event = json!({"ref": "refs/heads/feature", "inputs": {"base": "main"}, "repository": repository()});
    let played = kernels.stage.play("gbench-nightly.yml", "workflow_dispatch", &event);
    assert_eq!(played.failed_steps(), [1], "the slowdown is found\n{}", played.log());
    assert_eq!(fake.requests().len(), 0);
}

/// The nights so far, in the repository, as a checkout with all branches brings them.
fn fetch_history(kernels: &Kernels, fake: &FakeGithub) {
    kernels.stage.sh("rm -rf past && git init -q -b gbench-history past");
    for (path, bytes) in fake.files("gbench-history") {
        let place = kernels.stage.at("past").join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, bytes).unwrap();
    }
    kernels.stage.sh("cd past && git add -A && git commit -q -m past && cd ../repository && \
         git fetch -q ../past +gbench-history:gbench-history");
}

/// What the measuring job of a night was about: its base, and whether somebody chose it.
fn job_of(kernels: &Kernels) -> Value {
    let part = "gbench-ci-attempt-1-part-0";
    let job = kernels.artifact(part).into_iter().find(|path| path.ends_with("job.json")).unwrap();
    kernels.document(&format!("artifacts/{part}/{job}"))
}

#[test]
fn n18_accepting_a_slowdown_makes_the_slow_commit_the_next_night_s_reference() {
    let Some((mut kernels, fake)) = night("--runner self-hosted,gpu") else { return };
    let nightly = |kernels: &Kernels, event: &str, payload: Value, code: i32| {
        kernels.stage.sh("rm -rf artifacts && mkdir artifacts");
        let played = kernels.stage.play("gbench-nightly.yml", event, &payload).is(code);
        fetch_history(kernels, &fake);
        (job_of(kernels), played)
    };
    let schedule = json!({"schedule": "23 2 * * *", "repository": repository()});
    // A string, as act takes it; GitHub makes a boolean of both.
    let by_hand = |accept: &str| {
        let inputs = json!({"base": "", "accept": accept});
        json!({"ref": "refs/heads/main", "inputs": inputs, "repository": repository()})
    };
    let fast = kernels.base.clone();
    // The first night has nothing to go by: exit code 3, and the run is kept.
    let (job, _) = nightly(&kernels, "schedule", schedule.clone(), 1);
    assert_eq!(job["head"], fast.as_str());

    kernels.change(&[1.0, 1.1, 1.0]);
    let slow = kernels.head.clone();
    fake.workflow_run(&RunSeed {
        event: "schedule",
        head_branch: "main",
        head_sha: &slow,
        ..RunSeed::default()
    });
    // Red against the fast commit, every night, and also by hand without the word.
    for (event, payload) in [("schedule", schedule.clone()), ("workflow_dispatch", by_hand("false"))] {
        let (job, _) = nightly(&kernels, event, payload, 1);
        assert_eq!((&job["base"]["commit"], &job["head"]), (&json!(fast), &json!(slow)), "{event}");
        assert_eq!(fake.issues().iter().filter(|issue| issue.open).count(), 1, "{event}");
    }
    // Accepted: the commit against itself, although the history has a green one.
    let (job, _) = nightly(&kernels, "workflow_dispatch", by_hand("true"), 0);
    assert_eq!((&job["base"]["commit"], &job["base"]["by_hand"]), (&json!(slow), &json!(true)), "{job}");
    assert_eq!(fake.issues().iter().filter(|issue| issue.open).count(), 0);
    // From then on it is what a night is judged against.
    let (job, _) = nightly(&kernels, "schedule", schedule, 0);
    assert_eq!((&job["base"]["commit"], job["base"].get("by_hand")), (&json!(slow), None), "{job}");
}

#[test]
fn n13_a_night_of_an_older_server_is_kept_like_any_other() {
    for payload in
        [json!({"schedule": "23 2 * * *"}), json!({"schedule": "23 2 * * *", "repository": repository()})]
    {
        let Some((kernels, fake)) = night("--runner self-hosted,gpu") else { return };
        // The first night has nothing to go by.
        let played = kernels.stage.play("gbench-nightly.yml", "schedule", &payload).is(1);
        assert_eq!(played.failed_steps(), [3], "{}", played.log());
        let records = fake.files("gbench-history").keys().filter(|path| path.ends_with(".json.gz")).count();
        assert_eq!(records, 1, "{payload}");
        assert_eq!(fake.checks(&kernels.base).len(), 1, "{payload}");
    }
}
