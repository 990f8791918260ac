//! What another run has uploaded: nothing larger, older or other than it should be is taken.

use gbench_ci::github::artifacts::{self, Artifact};
use gbench_ci::github::{ApiError, Client};

use crate::support::fake_github::{FakeGithub, Fault, FaultKind, RunSeed};
use crate::support::github::{SLUG, client, sha};

fn hub() -> (FakeGithub, Client) {
    let fake = FakeGithub::start();
    fake.repository(SLUG);
    let head = sha(1);
    fake.workflow_run(&RunSeed { id: 11, head_sha: head.as_str(), ..RunSeed::default() });
    fake.workflow_run(&RunSeed { id: 12, head_sha: head.as_str(), ..RunSeed::default() });
    let token = fake.actions_token(&["actions"]);
    let client = client(&fake, &token);
    (fake, client)
}

fn only(client: &Client) -> Artifact {
    artifacts::list(client, 11).unwrap().pop().unwrap()
}

fn unfit(client: &Client, artifact: &Artifact, most: usize) -> String {
    match artifacts::fetch(client, artifact, most) {
        Err(ApiError::Unfit { cause, .. }) => cause,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_runs_artifacts_are_listed_on_every_page_and_fetched_whole() {
    let (fake, client) = hub();
    for n in 0..130 {
        fake.artifact(11, &format!("gbench-{n}"), format!("zip {n}").as_bytes());
    }
    fake.artifact(12, "another run's", b"zip");
    let all = artifacts::list(&client, 11).unwrap();
    assert_eq!(all.len(), 130);
    let seventh = all.iter().find(|artifact| artifact.name == "gbench-7").unwrap();
    assert_eq!(artifacts::fetch(&client, seventh, 100), Ok(b"zip 7".to_vec()));
    assert_eq!(seventh.size, 5);
}

#[test]
fn one_that_is_too_large_is_not_even_asked_for() {
    let (fake, client) = hub();
    fake.artifact(11, "gbench", &[7; 1000]);
    let before = client.requests_used();
    assert!(unfit(&client, &only(&client), 999).contains("1000 bytes"));
    assert_eq!(client.requests_used(), before + 1);
    assert_eq!(artifacts::fetch(&client, &only(&client), 1000).unwrap().len(), 1000);
}

#[test]
fn one_that_lies_about_its_size_is_read_no_further_than_allowed() {
    let (fake, client) = hub();
    let id = fake.artifact(11, "gbench", &[7; 500_000]);
    fake.change_artifact(id, Some(10), None, false);
    let before = fake.requests().len();
    assert!(unfit(&client, &only(&client), 1000).contains("longer than 1000 bytes"));
    // The list, the way there, the archive: once, for it would not get shorter.
    assert_eq!(fake.requests().len(), before + 3);
}

#[test]
fn one_that_is_not_what_its_digest_says_is_refused() {
    let (fake, client) = hub();
    let id = fake.artifact(11, "gbench\u{202e}`\n", b"zip");
    fake.change_artifact(id, None, Some(&format!("sha256:{}", "0".repeat(64))), false);
    let cause = unfit(&client, &only(&client), 1000);
    assert!(cause.contains("digest") && !cause.contains(['\n', '\u{202e}']), "{cause}");
    fake.change_artifact(id, None, Some("sha256:"), false);
    assert!(unfit(&client, &only(&client), 1000).contains("digest"));
}

#[test]
fn one_without_a_digest_is_taken_as_it_is() {
    let (fake, client) = hub();
    fake.artifact(11, "gbench", b"zip");
    let artifact = Artifact { digest: None, ..only(&client) };
    assert_eq!(artifacts::fetch(&client, &artifact, 3), Ok(b"zip".to_vec()));
}

#[test]
fn one_that_has_expired_is_told_so() {
    let (fake, client) = hub();
    let id = fake.artifact(11, "gbench", b"zip");
    let fresh = only(&client);
    fake.change_artifact(id, None, None, true);
    let before = client.requests_used();
    let error = artifacts::fetch(&client, &only(&client), 1000).unwrap_err();
    assert_eq!(client.requests_used(), before + 1);
    assert!(error.to_string().contains("expired"), "{error}");
    let fault = gbench_ci::model::Fault::from(error);
    assert!(fault.next.contains("measuring workflow again"), "{}", fault.next);
    // It expired since it was listed.
    assert_eq!(artifacts::fetch(&client, &fresh, 1000).unwrap_err().status(), Some(410));
}

#[test]
fn a_download_is_tried_again_and_the_token_stays_here() {
    let (fake, client) = hub();
    fake.artifact(11, "gbench", &[7; 100_000]);
    fake.inject(Fault::new("GET", "^/artifacts/", FaultKind::TornResponse));
    fake.inject(Fault::new("GET", "/zip$", FaultKind::Status(502, "Bad Gateway".into())));
    assert_eq!(artifacts::fetch(&client, &only(&client), 100_000).unwrap().len(), 100_000);
    // A token on the other host would fail this test when the fake is dropped.
    assert_eq!(fake.count("GET", "^/artifacts/"), 2);
}
