//! The sticky comment: found wherever it is, never taken from anyone else, never twice, never older than what is there.

use std::time::Duration;

use gbench_ci::github::comments::{self, CommentMode, CommentRequest, Marker, Posted};
use gbench_ci::github::{ApiResult, Client, ClientLimits, Identity};

use crate::support::fake_github::{FakeGithub, Fault, FaultKind, TokenKind};
use crate::support::github::{LIMITS, SLUG, client, client_within, sha, trouble};

const BOT: &str = "github-actions[bot]";
const PULL: u64 = 7;

/// A pull request whose head is commit 1, and who may comment on it.
/// No other run speaks.
fn alone() -> ApiResult<bool> {
    Ok(false)
}

fn hub() -> (FakeGithub, String) {
    let fake = FakeGithub::start();
    fake.repository(SLUG);
    fake.pull(PULL, sha(1).as_str(), "feature", SLUG, "main");
    let token = fake.actions_token(&["pull_requests"]);
    (fake, token)
}

fn marker(gate: &str, head: u8, run: u64, state: &str) -> Marker {
    Marker { gate: gate.into(), head: sha(head), run, attempt: 1, state: state.into() }
}

fn text(marker: &Marker) -> String {
    format!("Run {} says {}.\n\n{}", marker.run, marker.state, marker.comment())
}

fn post_as(client: &Client, mode: CommentMode, marker: &Marker, should_comment: bool) -> Posted {
    comments::post(
        client,
        PULL,
        mode,
        marker,
        &CommentRequest { body: &text, should_comment, is_overtaken: &alone },
        &Identity::Actions,
    )
    .unwrap()
}

/// Says it on any pull request.
fn post_on(client: &Client, number: u64, marker: &Marker) -> Posted {
    comments::post(
        client,
        number,
        CommentMode::OnChange,
        marker,
        &CommentRequest { body: &text, should_comment: true, is_overtaken: &alone },
        &Identity::Actions,
    )
    .unwrap()
}

fn post(client: &Client, marker: &Marker) -> Posted {
    post_as(client, CommentMode::OnChange, marker, true)
}

/// The markers of the comments there, of whatever author.
fn said(fake: &FakeGithub) -> Vec<Marker> {
    said_on(fake, PULL)
}

fn said_on(fake: &FakeGithub, number: u64) -> Vec<Marker> {
    fake.comments(number).iter().filter_map(|comment| Marker::find(&comment.body)).collect()
}

fn writes(fake: &FakeGithub) -> usize {
    fake.requests().iter().filter(|seen| seen.method != "GET").count()
}

#[test]
fn the_comment_is_found_on_the_third_page() {
    let (fake, token) = hub();
    for n in 0..230 {
        fake.comment(PULL, "mona", &format!("remark {n}"));
    }
    let id = fake.comment(PULL, BOT, &text(&marker("gate", 2, 1, "aa")));
    fake.comment(PULL, "mona", "after it");
    let found = comments::find(&client(&fake, &token), PULL, "gate", &Identity::Actions).unwrap().unwrap();
    assert_eq!((found.0.id, found.1), (id, marker("gate", 2, 1, "aa")));
    let done = post(&client(&fake, &token), &marker("gate", 1, 2, "bb"));
    assert!(matches!(done, Posted::Updated(_)), "{done:?}");
    assert_eq!(said(&fake), [marker("gate", 1, 2, "bb")]);
    assert_eq!(fake.count("POST", "."), 0);
}

#[test]
fn t9_a_foreign_comment_with_our_marker_is_left_alone() {
    let (fake, token) = hub();
    let forged = text(&marker("gate", 1, 999_999, "aa"));
    for login in ["mallory", "other-app[bot]", "github-actions"] {
        fake.comment(PULL, login, &forged);
    }
    // Ours by author, but the marker is a quotation.
    fake.comment(PULL, BOT, &format!("{forged}\n\nas somebody wrote"));
    let done = post(&client(&fake, &token), &marker("gate", 1, 5, "bb"));
    assert!(matches!(done, Posted::Created(_)), "{done:?}");
    let all = fake.comments(PULL);
    assert_eq!(all.len(), 5);
    assert!(all[..3].iter().all(|comment| comment.body == forged));
    assert_eq!(writes(&fake), 1);
    let done = post(&client(&fake, &token), &marker("gate", 1, 6, "cc"));
    assert!(matches!(done, Posted::Updated(_)), "{done:?}");
    assert_eq!(Marker::find(&fake.comments(PULL)[4].body), Some(marker("gate", 1, 6, "cc")));
}

#[test]
fn a_marker_with_odd_content_is_passed_over() {
    let (fake, token) = hub();
    let good = marker("gate", 1, 1, "aa").comment();
    for odd in [good.replace("aa", "zz"), good.replace(":1,", ":\"1\","), good.replace("}", ",\"x\":1}")] {
        assert_ne!(odd, good);
        fake.comment(PULL, BOT, &odd);
    }
    assert_eq!(comments::find(&client(&fake, &token), PULL, "gate", &Identity::Actions), Ok(None));
}

#[test]
fn two_gates_on_one_pull_request_keep_apart() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    for gate in ["gbench-ci (a100)", "gbench-ci (h100)"] {
        assert!(matches!(post(&client, &marker(gate, 1, 1, "aa")), Posted::Created(_)));
    }
    assert!(matches!(post(&client, &marker("gbench-ci (h100)", 1, 2, "bb")), Posted::Updated(_)));
    let expected = [marker("gbench-ci (a100)", 1, 1, "aa"), marker("gbench-ci (h100)", 1, 2, "bb")];
    assert_eq!(said(&fake), expected);
}

#[test]
fn the_mode_decides_whether_plain_green_is_said() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    let green = |head: u8, run: u64| marker("gate", head, run, "00");
    assert_eq!(post_as(&client, CommentMode::Never, &green(1, 1), true), Posted::Never);
    assert_eq!(fake.requests().len(), 0);
    assert_eq!(post_as(&client, CommentMode::OnChange, &green(1, 1), false), Posted::Quiet);
    assert_eq!(writes(&fake), 0);
    assert!(matches!(post_as(&client, CommentMode::Always, &green(1, 1), false), Posted::Created(_)));
    // What was red is told when it is green again, in either mode.
    assert!(matches!(post(&client, &marker("gate", 1, 2, "ff")), Posted::Updated(_)));
    assert!(matches!(post_as(&client, CommentMode::OnChange, &green(1, 3), false), Posted::Updated(_)));
    fake.push(PULL, sha(2).as_str());
    assert_eq!(post_as(&client, CommentMode::OnChange, &green(2, 4), false), Posted::Unchanged);
    assert!(matches!(post_as(&client, CommentMode::Always, &green(2, 4), false), Posted::Updated(_)));
}

#[test]
fn what_is_said_already_is_not_written_again() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    post(&client, &marker("gate", 1, 1, "aa"));
    let before = writes(&fake);
    assert_eq!(post(&client, &marker("gate", 1, 2, "aa")), Posted::Unchanged);
    assert_eq!(writes(&fake), before);
    // The same regression of another commit is news: the comment names its commit.
    fake.push(PULL, sha(2).as_str());
    assert!(matches!(post(&client, &marker("gate", 2, 3, "aa")), Posted::Updated(_)));
}

#[test]
fn t5_a_stale_head_never_speaks() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    assert_eq!(post(&client, &marker("gate", 3, 9, "aa")), Posted::Stale);
    assert_eq!(fake.comments(PULL).len(), 0);
    post(&client, &marker("gate", 1, 1, "aa"));
    assert_eq!(post(&client, &marker("gate", 3, 9, "bb")), Posted::Stale);
    assert_eq!(said(&fake), [marker("gate", 1, 1, "aa")]);
}

#[test]
fn t5_the_head_may_move_between_finding_and_writing() {
    for has_comment in [false, true] {
        let (fake, token) = hub();
        let client = client(&fake, &token);
        if has_comment {
            post(&client, &marker("gate", 1, 1, "aa"));
        }
        let before = (said(&fake), writes(&fake));
        // Somebody pushes while the text is put together, which is after the comment was looked for.
        let push = |marker: &Marker| {
            fake.push(PULL, sha(2).as_str());
            text(marker)
        };
        let late = marker("gate", 1, 2, "bb");
        let done = comments::post(
            &client,
            PULL,
            CommentMode::Always,
            &late,
            &CommentRequest { body: &push, should_comment: true, is_overtaken: &alone },
            &Identity::Actions,
        );
        assert_eq!(done, Ok(Posted::Stale));
        assert_eq!((said(&fake), writes(&fake)), before);
    }
}

#[test]
fn t5_runs_in_any_order_leave_the_newest_one_speaking() {
    let runs = [(1, 1), (1, 2), (2, 1), (3, 1)];
    let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [3, 0, 1, 2], [1, 3, 0, 2]];
    for order in orders {
        let (fake, token) = hub();
        let client = client(&fake, &token);
        for at in order {
            let (run, attempt) = runs[at];
            let marker = Marker { attempt, ..marker("gate", 1, run, &format!("{at:02x}")) };
            post(&client, &marker);
        }
        let said = said(&fake);
        assert_eq!(said.len(), 1);
        assert_eq!((said[0].run, said[0].attempt), (3, 1), "{order:?}");
    }
}

#[test]
fn t5_a_change_that_failed_is_not_repeated_over_a_newer_run() {
    let (fake, token) = hub();
    let (first, second) = (client(&fake, &token), client(&fake, &token));
    post(&first, &marker("gate", 1, 1, "aa"));
    let newer = marker("gate", 1, 3, "cc");
    // The newer run writes meanwhile, and the older one's change meets a server error: its next look sees the newer.
    fake.inject(Fault::new("PATCH", ".", FaultKind::Status(502, "Bad Gateway".into())).nth(2));
    let meanwhile = |older: &Marker| {
        assert!(matches!(post(&second, &newer), Posted::Updated(_)));
        text(older)
    };
    let older = marker("gate", 1, 2, "bb");
    let done = comments::post(
        &first,
        PULL,
        CommentMode::OnChange,
        &older,
        &CommentRequest { body: &meanwhile, should_comment: true, is_overtaken: &alone },
        &Identity::Actions,
    );
    assert_eq!(done, Ok(Posted::Stale));
    assert_eq!(said(&fake), [newer]);
}

/// POSTs of comments on a pull request that came after one that took effect.
fn repeated(fake: &FakeGithub, number: u64) -> usize {
    let path = format!("/repos/{SLUG}/issues/{number}/comments");
    let all = fake.requests().into_iter();
    let posts: Vec<_> = all.filter(|seen| seen.method == "POST" && seen.path == path).collect();
    let took = posts.iter().position(|seen| seen.handled).unwrap_or(posts.len());
    posts.len().saturating_sub(took + 1)
}

#[test]
fn b5_no_comment_is_posted_twice_whatever_goes_wrong() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    let mut met = 0;
    for seed in 0..60 {
        let number = 100 + seed;
        fake.pull(number, sha(1).as_str(), "feature", SLUG, "main");
        trouble(&fake, seed);
        let done = post_on(&client, number, &marker("gate", 1, 1, "aa"));
        assert!(matches!(done, Posted::Created(_)), "seed {seed}: {done:?}");
        let done = post_on(&client, number, &marker("gate", 1, 2, "bb"));
        assert!(matches!(done, Posted::Updated(_)), "seed {seed}: {done:?}");
        met += fake.mend();
        assert_eq!(said_on(&fake, number), [marker("gate", 1, 2, "bb")], "seed {seed}");
        assert_eq!(repeated(&fake, number), 0, "seed {seed}");
    }
    assert!(met > 100, "only {met} requests met a fault");
}

#[test]
fn b5_an_answer_that_comes_too_late_is_looked_up() {
    let (fake, token) = hub();
    let limits = ClientLimits { timeout: Duration::from_secs(8), ..LIMITS };
    let client = client_within(&fake, &token, limits);
    let late = FaultKind::Delay(Duration::from_secs(1000));
    fake.inject(Fault::new("GET", "/7/comments$", late.clone()));
    fake.inject(Fault::new("POST", "/7/comments$", late));
    let done = post(&client, &marker("gate", 1, 1, "aa"));
    assert!(matches!(done, Posted::Created(_)), "{done:?}");
    assert_eq!((said(&fake).len(), repeated(&fake, PULL)), (1, 0));
}

#[test]
fn jobs_that_run_at_once_leave_one_comment() {
    let (fake, token) = hub();
    let mut clients: Vec<Client> = (0..3).map(|_| client(&fake, &token)).collect();
    for number in 100..120 {
        fake.pull(number, sha(1).as_str(), "feature", SLUG, "main");
        std::thread::scope(|scope| {
            for (run, client) in (1..).zip(&mut clients) {
                scope.spawn(move || post_on(client, number, &marker("gate", 1, run, &format!("a{run}"))));
            }
        });
        let said = said_on(&fake, number);
        assert_eq!(said.len(), 1, "{said:?}");
    }
}

#[test]
fn twins_of_an_earlier_race_are_taken_away_with_the_next_change() {
    let (fake, token) = hub();
    let first = fake.comment(PULL, BOT, &text(&marker("gate", 1, 1, "aa")));
    fake.comment(PULL, BOT, &text(&marker("gate", 1, 2, "bb")));
    fake.comment(PULL, BOT, &text(&marker("other", 1, 2, "bb")));
    let client = client(&fake, &token);
    // The twin knows more than run 1.
    assert_eq!(post(&client, &marker("gate", 1, 1, "dd")), Posted::Stale);
    assert!(matches!(post(&client, &marker("gate", 1, 3, "cc")), Posted::Updated(_)));
    let all = fake.comments(PULL);
    assert_eq!((all.len(), all[0].id), (2, first));
    assert_eq!(said(&fake), [marker("gate", 1, 3, "cc"), marker("other", 1, 2, "bb")]);
}

#[test]
fn the_token_says_whose_comments_are_ours() {
    let (fake, token) = hub();
    assert_eq!(Identity::of(&client(&fake, &token)), Ok(Identity::Actions));
    let personal = fake.token("mona", TokenKind::User, &[("pull_requests", "write")]);
    let me = Identity::of(&client(&fake, &personal)).unwrap();
    assert_eq!(me, Identity::Login("mona".into()));
    fake.comment(PULL, BOT, &text(&marker("gate", 1, 9, "aa")));
    let own = marker("gate", 1, 1, "bb");
    let done = comments::post(
        &client(&fake, &personal),
        PULL,
        CommentMode::OnChange,
        &own,
        &CommentRequest { body: &text, should_comment: true, is_overtaken: &alone },
        &me,
    )
    .unwrap();
    assert!(matches!(done, Posted::Created(_)), "{done:?}");
    assert_eq!(fake.comments(PULL)[1].login, "mona");
    assert_eq!(Identity::of(&client(&fake, "ghs_unknown")).unwrap_err().status(), Some(401));
}

#[test]
fn a_marker_that_could_not_be_read_back_is_never_posted() {
    let (fake, token) = hub();
    for broken in [marker("", 1, 1, "aa"), marker("gate", 1, 1, "not hexadecimal")] {
        let client = client(&fake, &token);
        let done = comments::post(
            &client,
            PULL,
            CommentMode::Always,
            &broken,
            &CommentRequest { body: &text, should_comment: true, is_overtaken: &alone },
            &Identity::Actions,
        );
        assert!(done.is_err());
    }
    assert_eq!(fake.requests().len(), 0);
}

#[test]
fn a_text_without_its_marker_gets_it() {
    let (fake, token) = hub();
    let marker = marker("gate", 1, 1, "aa");
    let client = client(&fake, &token);
    let bare = |_: &Marker| "Faster.".to_owned();
    comments::post(
        &client,
        PULL,
        CommentMode::Always,
        &marker,
        &CommentRequest { body: &bare, should_comment: true, is_overtaken: &alone },
        &Identity::Actions,
    )
    .unwrap();
    assert_eq!(said(&fake), [marker]);
}

#[test]
fn a_missing_permission_names_the_line_that_grants_it() {
    let (fake, _) = hub();
    let token = fake.token(BOT, TokenKind::App, &[("pull_requests", "read")]);
    let marker = marker("gate", 1, 1, "aa");
    let refused = comments::post(
        &client(&fake, &token),
        PULL,
        CommentMode::Always,
        &marker,
        &CommentRequest { body: &text, should_comment: true, is_overtaken: &alone },
        &Identity::Actions,
    );
    let fault = gbench_ci::model::Fault::from(refused.unwrap_err());
    assert!(fault.next.contains("`pull-requests: write`"), "{}", fault.next);
}

#[test]
fn n17_a_locked_conversation_is_said_and_no_permission_is_asked_for() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    let said = |marker: &Marker| {
        let posted = comments::post(
            &client,
            PULL,
            CommentMode::Always,
            marker,
            &CommentRequest { body: &text, should_comment: true, is_overtaken: &alone },
            &Identity::Actions,
        );
        gbench_ci::model::Fault::from(posted.unwrap_err())
    };
    post(&client, &marker("there", 1, 1, "aa"));
    fake.change_pull(PULL, |issue| issue.locked = true);
    // A new comment, and a change of one.
    for marker in [marker("gate", 1, 1, "aa"), marker("there", 1, 2, "bb")] {
        let fault = said(&marker);
        assert!(fault.what.contains("locked") && fault.next.contains("unlock"), "{fault}");
        assert!(!fault.next.contains("permissions"), "{fault}");
        assert_eq!(fault.exit, gbench_ci::model::Exit::Unpublished);
    }
}

#[test]
fn n17_a_comment_that_somebody_deletes_meanwhile_is_made_anew() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    post(&client, &marker("gate", 1, 1, "aa"));
    let first = fake.comments(PULL)[0].id;
    let next = marker("gate", 1, 2, "bb");
    // The text is asked for between looking and writing.
    let meanwhile = |marker: &Marker| {
        fake.delete_comment(first);
        text(marker)
    };
    let posted = comments::post(
        &client,
        PULL,
        CommentMode::OnChange,
        &next,
        &CommentRequest { body: &meanwhile, should_comment: true, is_overtaken: &alone },
        &Identity::Actions,
    );
    assert!(matches!(posted, Ok(Posted::Created(_))), "{posted:?}");
    assert_eq!(said(&fake), [next]);
    assert_ne!(fake.comments(PULL)[0].id, first);
}

#[test]
fn n16_nothing_is_written_once_a_later_run_has_spoken_elsewhere() {
    let (fake, token) = hub();
    let client = client(&fake, &token);
    let late = || Ok(true);
    let older = marker("gate", 1, 1, "aa");
    let posted = comments::post(
        &client,
        PULL,
        CommentMode::OnChange,
        &older,
        &CommentRequest { body: &text, should_comment: true, is_overtaken: &late },
        &Identity::Actions,
    );
    assert_eq!((posted, writes(&fake)), (Ok(Posted::Stale), 0));
}
