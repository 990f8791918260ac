//! Under `act`: the workflows that `init` writes where the action is no release. A job without rights builds gbench-ci, and the jobs that
//! may write take it over by its SHA-256.

use serde_json::json;

use crate::act_accept::accept;
use crate::act_whole::{RESULT, night, report};
use crate::support::act::{Played, repository};
use crate::support::fake_github::FakeGithub;

const FLAGS: &str = "--runner self-hosted,gpu";
const TAKEN: &str = "its SHA-256 as in the input binary-sha256";

/// The last program that the action found is the handed-over one.
fn took_over(played: Played) {
    let played = played.says(TAKEN);
    assert!(played.output("install", "binary").unwrap().contains("/gbench-ci."), "{}", played.log());
}

#[test]
fn the_report_and_what_accepts_run_what_a_job_without_rights_built() {
    let Some(mut kernels) = crate::act_whole::Kernels::new(FLAGS) else { return };
    kernels.stage.play("gbench-pull-request.yml", "pull_request", &kernels.pull_request()).is(1);
    let zip = kernels.zip(RESULT);
    kernels.stage.init_from("", FLAGS);
    kernels.stage.commit("No release");
    let fake = FakeGithub::start();
    fake.repository("acme/kernels");
    fake.pull(7, &kernels.head, "feature", "acme/kernels", "main");
    fake.collaborator("maria", "write");
    took_over(report(&mut kernels, &fake, "completed", "acme/kernels", Some(&zip)).is(0));
    // Another run of the same name takes the artifact's place.
    took_over(accept(&mut kernels, &fake, "maria", "/gbench accept s/c1 -- wanted").is(0));
    let conclusions: Vec<_> =
        fake.checks(&kernels.head).into_iter().map(|it| (it.name, it.conclusion)).collect();
    assert!(conclusions.contains(&("gbench-ci".into(), Some("success".into()))), "{conclusions:?}");
}

#[test]
fn the_night_is_published_by_what_a_job_without_rights_built() {
    let Some((kernels, fake)) = night(FLAGS) else { return };
    kernels.stage.init_from("", FLAGS);
    let event = json!({"schedule": "23 2 * * *", "repository": repository()});
    // The first night has nothing to go by, says so, and is kept.
    let played = kernels.stage.play("gbench-nightly.yml", "schedule", &event).is(1);
    assert_eq!(played.failed_steps(), [3], "{}", played.log());
    drop(played.says(TAKEN));
    assert!(fake.files("gbench-history").keys().any(|path| path.ends_with(".json.gz")));
}
