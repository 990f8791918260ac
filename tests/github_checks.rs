//! The check: one for each name and commit, every annotation once, and a status where checks are refused.

use gbench_ci::github::checks::{
    Annotation, AnnotationLevel, CheckConclusion, CheckOutput, CheckReport, Reported, external,
};
use gbench_ci::github::comments::{self, CommentMode, CommentRequest, Marker, Posted};
use gbench_ci::github::{ApiResult, Client, Identity, Sha};
use serde_json::json;

use crate::support::fake_github::{Check, FakeGithub, Fault, FaultKind, Seen, TokenKind};
use crate::support::github::{SLUG, client, sha, trouble};

const NAME: &str = "gbench-ci (h100 #1)";
const URL: &str = "https://github.com/acme/kernels/actions/runs/5";

/// No other run speaks.
fn alone() -> ApiResult<bool> {
    Ok(false)
}

fn hub() -> (FakeGithub, String) {
    let fake = FakeGithub::start();
    fake.repository(SLUG);
    fake.pull(7, sha(1).as_str(), "feature", SLUG, "main");
    let token = fake.actions_token(&["checks", "pull_requests"]);
    (fake, token)
}

fn output(annotations: u32) -> CheckOutput {
    let annotation = |line| Annotation {
        path: "kernels/gemm.cu".into(),
        line,
        level: AnnotationLevel::Failure,
        title: "slower".into(),
        message: format!("case {line} is slower"),
    };
    CheckOutput {
        title: "2 regressions".into(),
        summary: "It is **slower**.".into(),
        text: Some("| a | b |".into()),
        annotations: (1..=annotations).map(annotation).collect(),
    }
}

fn begin_as(
    client: &Client,
    name: &str,
    head: &Sha,
    external: &str,
    details_url: Option<&str>,
    output: &CheckOutput,
) -> ApiResult<Reported> {
    CheckReport { client, name, head, external, details_url, output, conclusion: None }.send()
}

fn finish_as(
    client: &Client,
    name: &str,
    head: &Sha,
    external: &str,
    details_url: Option<&str>,
    conclusion: CheckConclusion,
    output: &CheckOutput,
) -> ApiResult<Reported> {
    CheckReport { client, name, head, external, details_url, output, conclusion: Some(conclusion) }.send()
}

fn begin(client: &Client, run: u64) -> ApiResult<Reported> {
    begin_as(client, NAME, &sha(1), &external(run, 1), Some(URL), &output(0))
}

fn finish(client: &Client, run: u64, end: CheckConclusion, annotations: u32) -> ApiResult<Reported> {
    finish_as(client, NAME, &sha(1), &external(run, 1), Some(URL), end, &output(annotations))
}

/// The only check there is.
fn only(fake: &FakeGithub) -> Check {
    let all = fake.checks(sha(1).as_str());
    assert_eq!(all.len(), 1, "{all:#?}");
    all.into_iter().next().unwrap()
}

/// The lines that a check remarks on, in order.
fn lines(check: &Check) -> Vec<u64> {
    let mut lines: Vec<u64> = check.annotations.iter().map(|a| a["start_line"].as_u64().unwrap()).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn begun_and_finished_is_one_check_on_the_head_commit() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    let Ok(Reported::Check(id, page)) = begin(&client, 5) else { panic!("no check") };
    let begun = only(&fake);
    assert_eq!((begun.id, begun.status.as_str(), begun.conclusion.as_deref()), (id, "in_progress", None));
    assert!(page.starts_with("https://"), "{page}");
    let done = finish(&client, 5, CheckConclusion::Failure, 3).unwrap();
    assert_eq!(done, Reported::Check(id, page));
    let check = only(&fake);
    assert_eq!((check.status.as_str(), check.conclusion.as_deref()), ("completed", Some("failure")));
    assert_eq!((check.name.as_str(), check.head_sha.as_str()), (NAME, sha(1).as_str()));
    assert_eq!(check.details_url.as_deref(), Some(URL));
    assert_eq!((check.title.as_deref(), check.text.as_deref()), (Some("2 regressions"), Some("| a | b |")));
    assert_eq!(lines(&check), [1, 2, 3]);
    assert_eq!(fake.requests().len(), 5);
}

#[test]
fn a_check_that_was_never_begun_is_made_finished() {
    let (fake, token) = hub();
    finish(&client(&fake, &token), 5, CheckConclusion::Success, 0).unwrap();
    assert_eq!(only(&fake).conclusion.as_deref(), Some("success"));
    assert_eq!(fake.requests().len(), 3);
}

#[test]
fn a_second_run_begins_the_same_check_anew() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    finish(&client, 5, CheckConclusion::Failure, 0).unwrap();
    begin(&client, 6).unwrap();
    assert_eq!(only(&fake).status, "in_progress");
    // Begun twice is begun once: nothing is written the second time.
    let writes = fake.count("PATCH", ".");
    begin(&client, 6).unwrap();
    assert_eq!(fake.count("PATCH", "."), writes);
    finish(&client, 6, CheckConclusion::Success, 0).unwrap();
    assert_eq!(only(&fake).conclusion.as_deref(), Some("success"));
}

#[test]
fn t5_an_older_run_does_not_touch_a_newer_runs_check() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    finish(&client, 10, CheckConclusion::Success, 0).unwrap();
    assert_eq!(begin(&client, 9), Ok(Reported::Superseded));
    assert_eq!(finish(&client, 9, CheckConclusion::Failure, 5), Ok(Reported::Superseded));
    let check = only(&fake);
    assert_eq!((check.conclusion.as_deref(), check.annotations.len()), (Some("success"), 0));
}

#[test]
fn every_conclusion_is_said_in_githubs_word() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    for (end, word) in [
        (CheckConclusion::Success, "success"),
        (CheckConclusion::Failure, "failure"),
        (CheckConclusion::Neutral, "neutral"),
        (CheckConclusion::Cancelled, "cancelled"),
        (CheckConclusion::ActionRequired, "action_required"),
        (CheckConclusion::Skipped, "skipped"),
        (CheckConclusion::TimedOut, "timed_out"),
    ] {
        finish(&client, 5, end, 0).unwrap();
        assert_eq!(only(&fake).conclusion.as_deref(), Some(word));
    }
}

#[test]
fn a_hundred_and_twenty_annotations_go_in_three_requests() {
    for is_begun in [false, true] {
        let (fake, token) = hub();
        let client = client(&fake, &token);
        if is_begun {
            begin(&client, 5).unwrap();
        }
        finish(&client, 5, CheckConclusion::Failure, 120).unwrap();
        let bodies: Vec<_> = fake.requests().into_iter().map(|seen| seen.body).collect();
        let sent = bodies.iter().filter_map(|body| body["output"]["annotations"].as_array().map(Vec::len));
        assert_eq!(sent.collect::<Vec<_>>(), [50, 50, 20]);
        assert_eq!(lines(&only(&fake)), (1..=120).collect::<Vec<_>>());
        assert_eq!(only(&fake).conclusion.as_deref(), Some("failure"));
    }
}

#[test]
fn no_more_than_two_hundred_annotations_are_shown() {
    let (fake, token) = hub();
    finish(&client(&fake, &token), 5, CheckConclusion::Failure, 300).unwrap();
    assert_eq!(lines(&only(&fake)), (1..=200).collect::<Vec<_>>());
}

#[test]
fn annotations_are_neither_doubled_nor_lost_whatever_goes_wrong() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    let mut met = 0;
    for seed in 0..40 {
        let head = sha(100 + seed);
        fake.pull(100 + u64::from(seed), head.as_str(), "feature", SLUG, "main");
        trouble(&fake, seed.into());
        if seed % 2 == 0 {
            begin_as(&client, NAME, &head, &external(5, 1), None, &output(0)).unwrap();
        }
        let end = CheckConclusion::Failure;
        finish_as(&client, NAME, &head, &external(5, 1), None, end, &output(120)).unwrap();
        met += fake.mend();
        let all = fake.checks(head.as_str());
        assert_eq!(all.len(), 1, "seed {seed}");
        assert_eq!(lines(&all[0]), (1..=120).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(all[0].conclusion.as_deref(), Some("failure"), "seed {seed}");
        let of_head = |seen: &Seen| seen.method == "POST" && seen.body["head_sha"] == head.as_str();
        let posts = fake.requests().into_iter().filter(|seen| of_head(seen) && seen.handled);
        assert_eq!(posts.count(), 1, "seed {seed}");
    }
    assert!(met > 60, "only {met} requests met a fault");
}

#[test]
fn what_is_too_long_is_cut_between_characters() {
    let (fake, token) = hub();
    let long = "ö日🚀".repeat(20_000);
    let annotation = Annotation {
        path: "a.py".into(),
        line: 1,
        level: AnnotationLevel::Warning,
        title: long.clone(),
        message: long.clone(),
    };
    let output = CheckOutput {
        title: long.clone(),
        summary: long.clone(),
        text: Some(long.clone()),
        annotations: vec![annotation],
    };
    let end = CheckConclusion::Neutral;
    finish_as(&client(&fake, &token), NAME, &sha(1), "x", None, end, &output).unwrap();
    let check = only(&fake);
    for text in [check.summary.unwrap(), check.text.unwrap()] {
        assert!((65_525..=65_535).contains(&text.len()), "{}", text.len());
        assert!(long.starts_with(text.strip_suffix('…').unwrap()));
    }
    assert!(check.title.unwrap().len() <= 255);
    assert!(check.annotations[0]["message"].as_str().unwrap().len() <= 65_536);
}

#[test]
fn a_job_of_the_same_name_is_no_check_of_ours() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    // As the job of a workflow, whose check belongs to the same app.
    let job = json!({
        "name": NAME, "head_sha": sha(1).as_str(), "status": "in_progress",
        "external_id": "7c1a1b52-0000-4000-8000-1b6a4f3f0001",
    });
    let job: serde_json::Value = client.post_once(&client.route("/check-runs"), &job).unwrap();
    finish(&client, 5, CheckConclusion::Success, 0).unwrap();
    let all = fake.checks(sha(1).as_str());
    assert_eq!(all.len(), 2);
    assert_eq!((Some(all[0].id), all[0].status.as_str()), (job["id"].as_u64(), "in_progress"));
}

#[test]
fn a_twin_left_in_progress_is_ended() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    for _ in 0..2 {
        let body = json!({
            "name": NAME, "head_sha": sha(1).as_str(), "status": "in_progress", "external_id": "gbench-ci/5/1",
        });
        client.post_once::<serde_json::Value>(&client.route("/check-runs"), &body).unwrap();
    }
    finish(&client, 5, CheckConclusion::Failure, 0).unwrap();
    let ends: Vec<_> = fake.checks(sha(1).as_str()).into_iter().map(|check| check.conclusion).collect();
    assert_eq!(ends, [Some("neutral".to_owned()), Some("failure".to_owned())]);
}

#[test]
fn a_token_that_may_write_no_checks_sets_a_status() {
    let (fake, _) = hub();
    let personal = fake.token(
        "mona",
        TokenKind::User,
        &[("checks", "read"), ("statuses", "write"), ("pull_requests", "write")],
    );
    let app = fake.token("github-actions[bot]", TokenKind::App, &[("statuses", "write")]);
    for token in [personal, app] {
        let client = client(&fake, &token);
        fake.forget_statuses();
        assert_eq!(begin(&client, 5), Ok(Reported::Status));
        assert_eq!(fake.statuses(sha(1).as_str()).last().unwrap().state, "pending");
        for (end, state) in [
            (CheckConclusion::Failure, "failure"),
            (CheckConclusion::ActionRequired, "failure"),
            (CheckConclusion::Success, "success"),
            (CheckConclusion::Neutral, "success"),
            (CheckConclusion::Cancelled, "error"),
        ] {
            assert_eq!(finish(&client, 5, end, 3), Ok(Reported::Status));
            let last = fake.statuses(sha(1).as_str()).pop().unwrap();
            assert_eq!((last.state.as_str(), last.context.as_str()), (state, NAME));
            assert_eq!(last.description.as_deref(), Some("2 regressions"));
            assert_eq!(last.target_url.as_deref(), Some(URL));
        }
    }
    assert_eq!(fake.checks(sha(1).as_str()).len(), 0);
}

#[test]
fn a14_one_refusal_by_github_makes_no_status_beside_a_check() {
    let permissions = [("checks", "write"), ("statuses", "write"), ("pull_requests", "write")];
    for (method, code) in [("GET", 403), ("GET", 404), ("POST", 403), ("PATCH", 403), ("PATCH", 404)] {
        for nth in 1..=3 {
            let (fake, _) = hub();
            let token = fake.token("github-actions[bot]", TokenKind::App, &permissions);
            let client = client(&fake, &token);
            let refusal = FaultKind::Status(code, "Resource not accessible by integration".into());
            fake.inject(Fault::new(method, "/check-runs", refusal).nth(nth));
            begin(&client, 5).unwrap();
            finish(&client, 5, CheckConclusion::Failure, 3).unwrap();
            let statuses = fake.statuses(sha(1).as_str());
            assert!(statuses.is_empty(), "{method} {code}, {nth}: {statuses:?}");
            let shown = fake.checks(sha(1).as_str()).into_iter().max_by_key(|check| check.id).unwrap();
            assert_eq!(shown.conclusion.as_deref(), Some("failure"), "{method} {code}, {nth}");
        }
    }
    // Nor do many, once a check is there.
    let (fake, _) = hub();
    let token = fake.token("github-actions[bot]", TokenKind::App, &permissions);
    let client = client(&fake, &token);
    finish(&client, 5, CheckConclusion::Success, 0).unwrap();
    for method in ["POST", "PATCH"] {
        let refusal = FaultKind::Status(403, "Resource not accessible by integration".into());
        fake.inject(Fault::new(method, "/check-runs", refusal).first(9));
    }
    assert_eq!(finish(&client, 6, CheckConclusion::Failure, 0).unwrap_err().status(), Some(403));
    assert!(fake.statuses(sha(1).as_str()).is_empty());
}

#[test]
fn a_status_that_says_so_already_is_not_set_again() {
    let (fake, _) = hub();
    let token = fake.token("github-actions[bot]", TokenKind::App, &[("statuses", "write")]);
    let client = client(&fake, &token);
    fake.inject(Fault::new("POST", "/statuses/", FaultKind::LostResponse));
    for _ in 0..3 {
        finish(&client, 5, CheckConclusion::Failure, 0).unwrap();
    }
    assert_eq!(fake.statuses(sha(1).as_str()).len(), 1);
    let long = CheckOutput { title: "é".repeat(200), ..output(0) };
    let end = CheckConclusion::Failure;
    finish_as(&client, NAME, &sha(1), "x", None, end, &long).unwrap();
    assert!(fake.statuses(sha(1).as_str())[1].description.as_ref().unwrap().len() <= 140);
}

#[test]
fn where_both_are_refused_the_check_is_what_to_allow() {
    let (fake, _) = hub();
    let token = fake.token("github-actions[bot]", TokenKind::App, &[("pull_requests", "write")]);
    let refused = finish(&client(&fake, &token), 5, CheckConclusion::Failure, 0).unwrap_err();
    let next = gbench_ci::model::Fault::from(refused).next;
    assert!(next.contains("`checks: "), "{next}");
}

#[test]
fn a_commit_that_github_does_not_know_is_an_error_and_no_status() {
    let (fake, token) = hub();
    let end = CheckConclusion::Success;
    let done = finish_as(&client(&fake, &token), NAME, &sha(9), "x", None, end, &output(0));
    assert_eq!(done.unwrap_err().status(), Some(422));
}

#[test]
fn t17_a_whole_publication_takes_few_requests() {
    let (fake, token) = hub();
    // Two jobs, as in a workflow: one begins, the other publishes.
    let (first, second) = (client(&fake, &token), client(&fake, &token));
    begin(&first, 5).unwrap();
    let me = Identity::of(&second).unwrap();
    let marker = Marker { gate: NAME.into(), head: sha(1), run: 5, attempt: 1, state: "aa".into() };
    let body = |_: &Marker| "It is slower.".to_owned();
    let done = comments::post(
        &second,
        7,
        CommentMode::OnChange,
        &marker,
        &CommentRequest { body: &body, should_comment: true, is_overtaken: &alone },
        &me,
    )
    .unwrap();
    assert!(matches!(done, Posted::Created(_)), "{done:?}");
    finish(&second, 5, CheckConclusion::Failure, 40).unwrap();
    let sent = fake.requests().len();
    assert!(sent <= 12, "{sent} requests");
    assert_eq!(first.requests_used() + second.requests_used(), sent as u32);
    // Again with nothing changed: looked at, and only the check is written.
    let third = client(&fake, &token);
    let done = comments::post(
        &third,
        7,
        CommentMode::OnChange,
        &marker,
        &CommentRequest { body: &body, should_comment: true, is_overtaken: &alone },
        &me,
    )
    .unwrap();
    assert_eq!(done, Posted::Unchanged);
    assert_eq!(third.requests_used(), 1);
}

#[test]
fn n16_a_beginning_and_an_end_at_the_same_time_leave_the_end() {
    for _ in 0..20 {
        let (fake, token) = hub();
        std::thread::scope(|scope| {
            scope.spawn(|| begin(&client(&fake, &token), 5).unwrap());
            scope.spawn(|| finish(&client(&fake, &token), 5, CheckConclusion::Success, 0).unwrap());
        });
        let shown = fake.checks(sha(1).as_str()).into_iter().max_by_key(|check| check.id).unwrap();
        assert_eq!((shown.status.as_str(), shown.conclusion.as_deref()), ("completed", Some("success")));
    }
}

/// GitHub shows the newest check of a name: one that an older run made after the end of a newer one says the same as that.
#[test]
fn n16_an_older_runs_check_that_hides_a_newer_runs_end_says_the_same() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    begin(&client, 5).unwrap();
    let begun = only(&fake).id;
    // As if both had looked before either wrote.
    fake.change_check(begun, |check| check.name = "elsewhere".into());
    finish(&client, 6, CheckConclusion::Failure, 0).unwrap();
    fake.change_check(begun, |check| {
        check.name = NAME.into();
        check.id = 1 << 40;
    });
    assert_eq!(finish(&client, 5, CheckConclusion::Success, 0), Ok(Reported::Superseded));
    let checks = fake.checks(sha(1).as_str());
    assert!(checks.iter().all(|check| check.conclusion.as_deref() == Some("failure")), "{checks:#?}");
    assert_eq!(checks.len(), 2);
}
