//! The history on a branch of GitHub: the fake takes what we send, loses some of it, and keeps git's own rules.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gbench_ci::github::{Client, ClientLimits, Endpoint, Token, branch};
use gbench_ci::history::{Address, Appended, HistoryBranch, HistoryEntry};
use gbench_ci::model::{Exit, Fault, RecordState};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::fake_github::{FakeGithub, Fault as Injected, FaultKind};
use crate::support::git::Sandbox;
use crate::support::history::{entry, recent};
use crate::support::rest::Rest;
use crate::support::wait::wait_until;

const BRANCH: &str = "gbench-history";
const SLUG: &str = "acme/kernels";

/// A fake with a repository, and what opens it.
struct Place {
    fake: FakeGithub,
    token: String,
}

impl Place {
    fn new() -> Self {
        let fake = FakeGithub::start();
        fake.repository(SLUG);
        let token = fake.actions_token(&["contents"]);
        Self { fake, token }
    }

    fn client(&self) -> Client {
        self.client_with(ClientLimits { pause: Duration::from_millis(1), ..ClientLimits::default() })
    }

    fn client_with(&self, limits: ClientLimits) -> Client {
        let endpoint = Endpoint::new(Some(&self.fake.url()), None).unwrap();
        let token = Token::new(&self.token).unwrap();
        Client::new(&endpoint, &SLUG.parse().unwrap(), Some(&token), limits).unwrap()
    }

    fn append_to(&self, branch: &str, entry: &HistoryEntry) -> Result<Appended, Fault> {
        let client = self.client();
        open(&client, branch).append(entry)
    }

    fn append(&self, entry: &HistoryEntry) -> Result<Appended, Fault> {
        self.append_to(BRANCH, entry)
    }

    fn runs(&self) -> Vec<String> {
        let client = self.client();
        open(&client, BRANCH).list().unwrap().into_iter().map(|listed| listed.run_id.to_string()).collect()
    }

    /// Puts files on the branch as a person would, on its tip.
    fn by_hand(&self, branch: &str, files: &[(&str, &[u8])]) {
        let client = self.client();
        let files: Vec<_> = files.iter().map(|(path, bytes)| (path.to_string(), bytes.to_vec())).collect();
        branch::append(&client, branch, "by hand", &mut |_| Ok(branch::BranchChange::Add(files.clone())))
            .unwrap();
    }

    /// Moves the branch wherever, as `git push --force` does.
    fn force(&self, branch: &str, commit: &str) {
        let rest = Rest::new(&self.fake.url(), Some(&self.token));
        let route = format!("/repos/{SLUG}/git/refs/heads/{branch}");
        assert_eq!(rest.patch(&route, json!({"sha": commit, "force": true})).status, 200);
    }
}

fn open<'c>(client: &'c Client, branch: &str) -> HistoryBranch<'c> {
    let address = Address::GitHub { slug: SLUG.parse().unwrap(), branch: branch.into() };
    HistoryBranch::open(&address, std::path::Path::new("."), Some(client)).unwrap()
}

#[test]
fn a_run_reads_back_as_it_was_written_and_stands_where_git_would_put_it() {
    let place = Place::new();
    let first = place.append(&entry(1)).unwrap();
    let second = place.append(&entry(2)).unwrap();
    assert_eq!(first.path, "history/2026-11/20261121T000001.000Z-000001.json.gz");
    assert_eq!((first.already, second.already), (false, false));
    assert_eq!(place.fake.tip(BRANCH), Some(second.version));
    assert_eq!(place.fake.commits(BRANCH), 2, "it shares no commit with the code");

    let client = place.client();
    let history = open(&client, BRANCH);
    let listed = history.list().unwrap();
    let read: Vec<_> = listed.iter().map(|listed| history.read(listed).unwrap()).collect();
    assert_eq!(read, [entry(1), entry(2)]);

    // The same bytes, whoever writes them: a branch may be written from here today and through GitHub tomorrow.
    let sandbox = Sandbox::new();
    let here = HistoryBranch::open(&format!("git:{BRANCH}").parse().unwrap(), &sandbox.root(), None).unwrap();
    for number in [1, 2] {
        here.append(&entry(number)).unwrap();
    }
    let tree =
        sandbox.repository.find_reference("refs/heads/gbench-history").unwrap().peel_to_tree().unwrap();
    let on_github = place.fake.files(BRANCH);
    assert_eq!(on_github.len(), 5, "two runs, each with its name in the index, and the README");
    for (path, bytes) in on_github {
        let id = git2::Oid::hash_object(git2::ObjectType::Blob, &bytes).unwrap();
        assert_eq!(tree.get_path(std::path::Path::new(&path)).unwrap().id(), id, "{path}");
    }
}

#[test]
fn one_run_costs_ten_requests_and_the_same_run_twice_is_there_once() {
    let place = Place::new();
    place.append(&entry(1)).unwrap();
    let client = place.client();
    open(&client, BRANCH).append(&entry(2)).unwrap();
    assert!(client.requests_used() <= 10, "{}", client.requests_used());

    let later = HistoryEntry { appended: "2026-12-24T18:00:00Z".into(), ..entry(1) };
    let again = place.append(&later).unwrap();
    assert!(again.already);
    assert_eq!(place.fake.commits(BRANCH), 2);
    assert_eq!(place.fake.count("POST", "/git/blobs$"), 3, "two runs and the README");

    let mut other = entry(1);
    other.record.cases[0].metrics[0].processes[0].values[0] *= 2.0;
    assert!(place.append(&other).unwrap_err().what.contains("is there with another content"));
}

#[test]
fn what_may_not_enter_is_refused_before_a_request_is_sent() {
    let place = Place::new();
    let mut cut = entry(1);
    cut.record.state = RecordState::Interrupted;
    let client = place.client();
    assert_eq!(open(&client, BRANCH).append(&cut).unwrap_err().exit, Exit::Failed);
    assert_eq!(client.requests_used(), 0);
}

#[test]
fn an_answer_that_is_lost_costs_neither_the_run_nor_a_second_one() {
    let kinds = [
        FaultKind::LostResponse,
        FaultKind::TornResponse,
        FaultKind::StatusAfter(502, "Bad Gateway".into()),
        FaultKind::Status(502, "Bad Gateway".into()),
        FaultKind::Status(409, "Reference cannot be updated".into()),
        FaultKind::Status(422, "Update is not a fast forward".into()),
        FaultKind::Refused,
    ];
    for kind in kinds {
        let place = Place::new();
        // The branch is made, then moved on.
        for (number, method, path) in [(1, "POST", "/git/refs$"), (2, "PATCH", "/git/refs/heads/")] {
            place.fake.inject(Injected::new(method, path, kind.clone()));
            assert!(!place.append(&entry(number)).unwrap().already, "{kind:?}");
            assert_eq!(place.fake.mend(), 1);
            assert_eq!(place.fake.commits(BRANCH), number as usize, "{kind:?}");
        }
        assert_eq!(place.runs().len(), 2);
    }
}

#[test]
fn the_same_run_published_twice_at_once_is_there_once_as_the_faster_one_wrote_it() {
    let place = Place::new();
    place.append(&entry(1)).unwrap();
    // The slower one has read the tip, and gets its answer when the faster one is done: its branch is out of date by then.
    let release = Arc::new(Notify::new());
    place.fake.inject(Injected::new("GET", "/git/commits/", FaultKind::Held(release.clone())));
    let before = place.fake.count("GET", "/git/commits/");
    let of = |time: &str| HistoryEntry { appended: time.into(), ..entry(2) };
    let [slower, faster] = ["2026-12-24T18:00:00Z", "2026-12-24T18:00:01Z"].map(of);
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| place.append(&slower).unwrap());
        wait_until("the slower one reads", || place.fake.count("GET", "/git/commits/") != before);
        let other = place.append(&faster).unwrap();
        release.notify_one();
        (one.join().unwrap(), other)
    });
    assert_eq!((one.already, other.already), (true, false), "{one:?} {other:?}");
    assert_eq!(one.path, other.path);
    assert_eq!(place.fake.commits(BRANCH), 2);
    assert_eq!(
        place.fake.files(BRANCH).len(),
        5,
        "two runs, each with its name in the index, and the README"
    );
    let client = place.client();
    let history = open(&client, BRANCH);
    let there = history.read(&history.list().unwrap()[1]).unwrap();
    assert_eq!(there, faster);
    // It saw that the file was there now, and did not send a second commit.
    assert_eq!(place.fake.count("GET", "/contents/history/"), 1);
    assert_eq!(place.fake.count("PATCH", "/git/refs/"), 2);
}

#[test]
fn rules_of_the_repository_are_never_tried_against_twice() {
    let ruled = "Repository rule violations found\n\nChanges must be made through a pull request.";
    let kinds = [
        FaultKind::Status(422, ruled.into()),
        FaultKind::Status(409, ruled.into()),
        FaultKind::Status(403, "Protected branch update failed for refs/heads/gbench-history.".into()),
    ];
    for kind in kinds {
        let place = Place::new();
        place.append(&entry(1)).unwrap();
        place.fake.inject(Injected::new("PATCH", "/git/refs/", kind).always());
        let fault = place.append(&entry(2)).unwrap_err();
        assert_eq!(place.fake.count("PATCH", "/git/refs/"), 1);
        assert_eq!(fault.exit, Exit::Unpublished);
        assert!(fault.next.contains("take `gbench-history` out of the repository's rules"), "{fault}");
    }
    let place = Place::new();
    place.fake.protect(BRANCH);
    assert!(place.append(&entry(1)).unwrap_err().what.contains("rule violations"));
    assert_eq!(place.fake.count("POST", "/git/refs$"), 1);
}

#[test]
fn an_empty_repository_is_said_to_take_no_branch() {
    let fake = FakeGithub::start();
    fake.empty_repository(SLUG);
    let token = fake.actions_token(&["contents"]);
    let place = Place { fake, token };
    assert_eq!(place.runs(), [""; 0]);
    let fault = place.append(&entry(1)).unwrap_err();
    assert!(fault.next.contains("an empty repository takes no branches"), "{fault}");
    assert_eq!(place.fake.count("POST", ""), 1);
}

#[test]
fn a_token_that_may_not_write_is_told_the_line_that_grants_it() {
    let mut place = Place::new();
    place.token = place.fake.actions_token(&[]);
    let fault = place.append(&entry(1)).unwrap_err();
    assert!(fault.next.contains("`contents: "), "{fault}");
    assert_eq!(fault.exit, Exit::Unpublished);
}

#[test]
fn a_repository_that_cannot_be_seen_is_not_taken_for_an_empty_history() {
    let place = Place::new();
    let endpoint = Endpoint::new(Some(&place.fake.url()), None).unwrap();
    let client = Client::new(&endpoint, &SLUG.parse().unwrap(), None, ClientLimits::default()).unwrap();
    let fault = open(&client, BRANCH).list().unwrap_err();
    assert!(fault.next.contains("set GBENCH_TOKEN or GITHUB_TOKEN"), "{fault}");
    assert_eq!(place.runs(), [""; 0], "with a token it is seen that nothing is there yet");
}

#[test]
fn a_branch_that_someone_forced_elsewhere_or_deleted_is_gone_on_with_from_where_it_is() {
    let place = Place::new();
    let first = place.append(&entry(1)).unwrap().version;
    place.append(&entry(2)).unwrap();
    place.force(BRANCH, &first);
    place.append(&entry(3)).unwrap();
    assert_eq!(place.runs(), [1, 3].map(|number| entry(number).run_id.to_string()));

    // Between our look and our write: GitHub says that the reference is gone, and the branch is made anew.
    let gone = FaultKind::Status(422, "Reference does not exist".into());
    place.fake.inject(Injected::new("PATCH", "/git/refs/", gone));
    place.append(&entry(4)).unwrap();
    assert_eq!(place.runs().len(), 3);
}

#[test]
fn a_branch_that_was_made_for_something_else_is_refused() {
    let place = Place::new();
    place.by_hand("release", &[("src/main.rs", b"fn main() {}")]);
    let before = place.fake.tip("release");
    let fault = place.append_to("release", &entry(1)).unwrap_err();
    assert!(fault.what.contains("made for something else"), "{fault}");
    assert_eq!(place.fake.tip("release"), before);
}

#[test]
fn a_nested_name_with_odd_letters_is_in_order() {
    let place = Place::new();
    for name in ["bench/nightly/größe", "100%#x"] {
        place.append_to(name, &entry(1)).unwrap();
        place.append_to(name, &entry(2)).unwrap();
        assert_eq!(place.fake.commits(name), 2);
        let client = place.client();
        assert_eq!(open(&client, name).list().unwrap().len(), 2);
    }
    // GitHub can keep no `bench` beside `bench/nightly/größe`.
    assert_eq!(place.append_to("bench", &entry(1)).unwrap_err().exit, Exit::Unpublished);
    // The fake writes such names into its own answers as they are.
    assert!(place.fake.violations().iter().all(|line| line.contains("the fake's own answer")));
}

#[test]
fn what_a_person_put_there_is_passed_over_and_a_list_that_is_cut_short_is_walked() {
    let place = Place::new();
    let torn = format!("history/2026-11/{}.json.gz", entry(3).run_id);
    place.append(&entry(1)).unwrap();
    place.by_hand(
        BRANCH,
        &[("history/notes.txt", b"mine"), ("history/2026-11/x.json", b"{}"), (torn.as_str(), b"by hand")],
    );
    place.append(&entry(2)).unwrap();
    place.fake.truncate_trees(2);
    assert_eq!(place.runs(), [1, 2, 3].map(|number| entry(number).run_id.to_string()));
    let client = place.client();
    let (seen, warnings) = recent(&open(&client, BRANCH), 9);
    assert_eq!(seen, [2, 1].map(entry));
    assert!(warnings.len() == 1 && warnings[0].contains("cannot be unpacked"), "{warnings:?}");
}

#[test]
fn a_branch_of_code_and_one_that_is_not_there_are_no_history() {
    let place = Place::new();
    place.by_hand("main", &[("code.txt", b"one")]);
    place.append(&entry(1)).unwrap();
    let client = place.client();
    open(&client, BRANCH).need().unwrap();
    for (branch, words) in [("nowhere", "there is no such branch"), ("main", "the branch has no history")] {
        let fault = open(&client, branch).need().unwrap_err();
        assert!(fault.what.contains(words), "{branch}: {fault}");
        assert_eq!(fault.exit, Exit::Usage);
    }
}

#[test]
fn a_full_month_goes_on_in_a_second_folder() {
    let place = Place::new();
    let names: Vec<_> =
        (0..1_000).map(|number| format!("history/2026-11/{}.json.gz", entry(number).run_id)).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), b"x".as_slice())).collect();
    place.by_hand(BRANCH, &files);
    assert!(place.append(&entry(2_000)).unwrap().path.starts_with("history/2026-11.2/"));
    assert!(place.append(&entry(2_000)).unwrap().already);
}

/// B3.
#[test]
fn eight_writers_at_once_lose_nothing_though_every_tenth_request_goes_wrong() {
    const WRITERS: u32 = 8;
    const COMMITS: u32 = 10;
    let place = Place::new();
    place.fake.rate_limit(1_000_000, Duration::from_secs(3_600));
    let conflict = |status, words: &str| FaultKind::Status(status, words.into());
    let faults = [
        ("POST", "/git/", conflict(409, "Conflict"), 0.02),
        ("PATCH", "/git/", conflict(409, "Reference cannot be updated"), 0.05),
        ("*", "/git/refs", conflict(422, "Update is not a fast forward"), 0.05),
        ("*", "/git/", conflict(502, "Bad Gateway"), 0.03),
        ("*", "/git/", FaultKind::StatusAfter(502, "Bad Gateway".into()), 0.02),
        ("*", "/git/", FaultKind::LostResponse, 0.04),
        ("*", "/git/", FaultKind::TornResponse, 0.01),
    ];
    for ((method, path, kind, odds), seed) in faults.into_iter().zip(1..) {
        place.fake.inject(Injected::new(method, path, kind).odds(odds, seed));
    }
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let place = &place;
            scope.spawn(move || {
                let limits = ClientLimits {
                    pause: Duration::from_millis(2),
                    requests: 10_000,
                    ..ClientLimits::default()
                };
                let client = place.client_with(limits);
                let history = open(&client, BRANCH);
                for commit in 0..COMMITS {
                    let appended = history.append(&entry(writer * COMMITS + commit)).unwrap();
                    assert!(!appended.already);
                }
            });
        }
    });
    let requests = place.fake.requests().len();
    let met = place.fake.mend() as usize;
    assert!(met * 12 > requests, "{met} of {requests} requests went wrong");
    let runs = place.runs();
    assert_eq!(runs.len(), (WRITERS * COMMITS) as usize);
    assert_eq!(runs.iter().collect::<BTreeSet<_>>().len(), runs.len(), "none is there twice");
    assert_eq!(place.fake.commits(BRANCH), runs.len(), "and none was written twice");
    assert_eq!(place.fake.files(BRANCH).len(), 2 * runs.len() + 1, "the runs, their names, and the README");
    let client = place.client_with(ClientLimits { requests: 1_000, ..ClientLimits::default() });
    let history = open(&client, BRANCH);
    for (listed, number) in history.list().unwrap().iter().zip(0..) {
        assert_eq!(history.read(listed).unwrap(), entry(number));
    }
}
