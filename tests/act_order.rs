//! Late and early reports under `act`: two runs on one commit, whose reports come in any order through the real workflow; and a
//! change that touches nothing, from the measuring job to what GitHub shows.

use serde_json::json;

use crate::act_whole::{Kernels, RESULT};
use crate::support::act::workflow_run;
use crate::support::cli::ended;
use crate::support::fake_github::{FakeGithub, RunSeed};
use crate::support::job::{outside, suite};

/// The report's workflow for one word of a run, which ends as its result does.
fn hears(kernels: &mut Kernels, fake: &FakeGithub, run: u64, action: &str, is_red: bool) {
    let mut event = workflow_run(action, &kernels.head, "feature", "acme/kernels");
    event["workflow_run"]["id"] = json!(run);
    if action == "completed" {
        event["workflow_run"]["conclusion"] = json!(if is_red { "failure" } else { "success" });
    }
    kernels.stage.set("GITHUB_API_URL", fake.url()).set("GITHUB_RUN_ID", (900 + run).to_string());
    kernels.stage.play("gbench-report.yml", "workflow_run", &event).is(0);
}

fn knows(kernels: &Kernels, fake: &FakeGithub, run: u64, result: &[u8]) {
    fake.workflow_run(&RunSeed {
        id: run,
        head_sha: &kernels.head,
        name: "gbench-ci pull request",
        path: ".github/workflows/gbench-pull-request.yml",
        conclusion: Some("failure"),
        ..RunSeed::default()
    });
    fake.artifact(run, RESULT, result);
}

/// What a run on the branch leaves, against this base.
fn measured(kernels: &Kernels, base: &str, code: i32) -> Vec<u8> {
    kernels.stage.sh("rm -rf artifacts && mkdir artifacts");
    let mut event = kernels.pull_request();
    event["pull_request"]["base"]["sha"] = json!(base);
    kernels.stage.play("gbench-pull-request.yml", "pull_request", &event).is(code);
    kernels.zip(RESULT)
}

#[test]
fn n16_four_orders_of_late_and_early_reports_end_with_the_newer_run() {
    let Some(mut kernels) = Kernels::new("--runner self-hosted,gpu") else { return };
    let red = measured(&kernels, &kernels.base.clone(), 1);
    // The same commit against itself, which nothing is slower than.
    let green = measured(&kernels, &kernels.head.clone(), 0);
    let (early, late) = ("requested", "completed");
    for (order, results) in [
        ([(101, early), (101, late), (102, early), (102, late)], [&red, &green]),
        ([(102, early), (102, late), (101, early), (101, late)], [&red, &green]),
        ([(101, late), (101, early), (102, late), (102, early)], [&green, &red]),
        ([(102, late), (101, late), (102, early), (101, early)], [&green, &red]),
    ] {
        let fake = FakeGithub::start();
        fake.repository("acme/kernels");
        fake.pull(7, &kernels.head, "feature", "acme/kernels", "main");
        knows(&kernels, &fake, 101, results[0]);
        knows(&kernels, &fake, 102, results[1]);
        kernels.stage.token = fake.actions_token(&["pull_requests", "checks", "actions"]);
        for (run, action) in order {
            hears(&mut kernels, &fake, run, action, results[(run - 101) as usize] == &red);
        }
        let newer_is_red = results[1] == &red;
        let shown = fake.checks(&kernels.head).into_iter().max_by_key(|check| check.id).unwrap();
        let wanted = if newer_is_red { "failure" } else { "success" };
        assert_eq!(
            (shown.status.as_str(), shown.conclusion.as_deref()),
            ("completed", Some(wanted)),
            "{order:?}"
        );
        let says_red = fake.comments(7).iter().any(|comment| comment.body.contains("gbench-ci: regressed"));
        assert_eq!(says_red, newer_is_red, "{order:?}");
    }
}

#[test]
fn n17_a_change_of_the_words_alone_is_told_and_not_measured() {
    for flags in ["--runner self-hosted,gpu", "--runner self-hosted,gpu --shards 2"] {
        let Some(mut kernels) = Kernels::new(flags) else { return };
        kernels.stage.sh("cd repository && git switch -q main");
        kernels.stage.write("repository/gbench.toml", &suite(3, "paths = [\"work\", \"bench.sh\"]"));
        kernels.base = kernels.stage.commit("Say what is measured");
        kernels.stage.sh("cd repository && git switch -q -C feature");
        kernels.stage.write("repository/README.md", "Words.\n");
        kernels.head = kernels.stage.commit("Words");
        let played =
            kernels.stage.play("gbench-pull-request.yml", "pull_request", &kernels.pull_request()).is(0);
        let said = "nothing that the suite measures was touched";
        drop(played.says(said));
        let fake = FakeGithub::start();
        fake.repository("acme/kernels");
        fake.pull(7, &kernels.head, "feature", "acme/kernels", "main");
        knows(&kernels, &fake, 101, &kernels.zip(RESULT));
        kernels.stage.token = fake.actions_token(&["pull_requests", "checks", "actions"]);
        let mut event = workflow_run("completed", &kernels.head, "feature", "acme/kernels");
        event["workflow_run"]["id"] = json!(101);
        event["workflow_run"]["conclusion"] = json!("success");
        kernels.stage.set("GITHUB_API_URL", fake.url());
        kernels.stage.play("gbench-report.yml", "workflow_run", &event).is(0);
        let [check] = &fake.checks(&kernels.head)[..] else { panic!("one check") };
        assert_eq!(check.conclusion.as_deref(), Some("neutral"));
        assert!(check.title.as_deref().unwrap().contains(said), "{check:?}");
        assert!(fake.comments(7).is_empty());
    }
}

#[test]
fn n17_what_a_comment_says_of_downloads_leads_to_the_same_verdict() {
    let Some(kernels) = Kernels::new("--runner self-hosted,gpu") else { return };
    measured(&kernels, &kernels.base.clone(), 1);
    let kept = kernels.artifact(RESULT);
    let id = kept[0].split('/').next().unwrap().to_owned();
    // Both artifacts hold the records; either is unpacked into `artifacts` of a checkout.
    for artifact in [RESULT, "gbench-ci-attempt-1-run"] {
        kernels
            .stage
            .sh(&format!("rm -rf repository/artifacts && cp -R 'artifacts/{artifact}' repository/artifacts"));
        let root = kernels.stage.at("repository");
        ended(outside(&root, &format!("replay {id}"))).exits(1).says("s/c1");
        ended(outside(&root, &format!("explain s/c1 {id}"))).exits(0).says("s/c1");
    }
}
