//! Histories in a bucket: what lands, what is refused, and what eight writers leave that are killed while requests fail.
//!
//! `GBENCH_TEST_KILLS` says how many are killed, and `GBENCH_TEST_BUCKET` which real server has the objects: `.ci/run bucket`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use gbench_ci::history::{Address, Appended, BesideFile, BucketAddress, HistoryBranch, HistoryEntry};
use gbench_ci::model::{Exit, Fault};
use tokio::sync::Notify;

use crate::support::cli::{command, ended};
use crate::support::fake_github::{Fault as Injected, FaultKind};
use crate::support::fake_s3::{BUCKET, FakeS3};
use crate::support::git::Sandbox;
use crate::support::history::{entry, recent};

fn address(text: &str) -> BucketAddress {
    let Ok(Address::Bucket(address)) = text.parse() else { panic!("{text}") };
    address
}

fn open_at(fake: &FakeS3, text: &str) -> HistoryBranch<'static> {
    HistoryBranch::in_bucket(&address(text), fake.variables().into_iter()).unwrap()
}

fn open(fake: &FakeS3) -> HistoryBranch<'static> {
    open_at(fake, &format!("s3://{BUCKET}/nightly"))
}

fn append(fake: &FakeS3, entry: &HistoryEntry) -> Result<Appended, Fault> {
    open(fake).append(entry)
}

fn runs(fake: &FakeS3) -> Vec<String> {
    open(fake).list().unwrap().into_iter().map(|listed| listed.run_id.to_string()).collect()
}

fn status(status: u16) -> FaultKind {
    FaultKind::Status(status, String::new())
}

const RUN: &str = "/history/2026-11/.*gz$";
const MARK: &str = "/history/index/";

#[test]
fn a_run_reads_back_as_it_was_written_and_has_the_path_that_a_branch_has_for_it() {
    let fake = FakeS3::start();
    let first = append(&fake, &entry(1)).unwrap();
    append(&fake, &entry(2)).unwrap();
    assert_eq!(first.path, "history/2026-11/20261121T000001.000Z-000001.json.gz");
    assert!(!first.already && first.version.starts_with('"'), "{first:?}");
    assert_eq!(recent(&open(&fake), 9), (vec![entry(2), entry(1)], vec![]));

    let sandbox = Sandbox::new();
    let here = HistoryBranch::open(&"git:kept".parse().unwrap(), &sandbox.root(), None).unwrap();
    for number in [1, 2] {
        here.append(&entry(number)).unwrap();
    }
    let tree = sandbox.repository.find_reference("refs/heads/kept").unwrap().peel_to_tree().unwrap();
    let keys = fake.keys();
    assert_eq!(keys.len(), 4, "two runs, each with its mark: {keys:?}");
    for key in keys {
        let path = key.strip_prefix("nightly/").unwrap();
        let id = tree.get_path(Path::new(path)).unwrap().id();
        let bytes = fake.object(&key);
        if path.starts_with("history/index/") {
            assert!(bytes.is_empty(), "{path}");
        } else {
            assert_eq!(git2::Oid::hash_object(git2::ObjectType::Blob, &bytes).unwrap(), id, "{path}");
        }
    }
    append(&fake, &entry(1)).unwrap();
    let whole = open_at(&fake, &format!("s3://{BUCKET}"));
    whole.append(&entry(1)).unwrap();
    assert_eq!(
        (whole.list().unwrap().len(), runs(&fake).len()),
        (1, 2),
        "each prefix has a separate history"
    );
}

#[test]
fn one_run_costs_two_requests_and_the_same_run_twice_is_there_once() {
    let fake = FakeS3::start();
    let history = open(&fake);
    history.append(&entry(1)).unwrap();
    assert_eq!(fake.requests().len(), 2);
    let later = HistoryEntry { appended: "2026-12-24T18:00:00Z".into(), ..entry(1) };
    assert!(history.append(&later).unwrap().already);
    assert!(history.append(&entry(1)).unwrap().already, "these very bytes were there before");
    assert_eq!(fake.keys().len(), 2);
    assert_eq!(recent(&history, 9).0, [entry(1)], "the first one stays");

    let mut other = entry(1);
    other.record.cases[0].metrics[0].processes[0].values[0] *= 2.0;
    let fault = history.append(&other).unwrap_err();
    assert!(fault.what.contains("is there with another content"), "{fault}");
    assert_eq!(fault.exit, Exit::Unpublished);
}

#[test]
fn an_answer_that_is_lost_costs_neither_the_run_nor_a_second_one() {
    let kinds = [
        FaultKind::LostResponse,
        FaultKind::StatusAfter(500, String::new()),
        FaultKind::StatusAfter(503, String::new()),
        status(503),
        status(500),
        // Another writer was at work on this key: nothing is there yet.
        status(409),
        status(412),
        FaultKind::Refused,
    ];
    for kind in kinds {
        for path in [RUN, MARK] {
            let fake = FakeS3::start();
            fake.inject(Injected::new("PUT", path, kind.clone()));
            assert!(!append(&fake, &entry(1)).unwrap().already, "{kind:?} {path}");
            assert_eq!(fake.mend(), 1);
            assert_eq!(fake.keys().len(), 2, "{kind:?} {path}");
            assert_eq!(recent(&open(&fake), 9).0, [entry(1)]);
        }
    }
}

#[test]
fn an_answer_that_never_comes_is_not_waited_for_beyond_the_limit() {
    let fake = FakeS3::start();
    fake.inject(Injected::new("PUT", RUN, FaultKind::Held(Arc::new(Notify::new()))));
    let mut variables = fake.variables();
    variables.push(("AWS_TIMEOUT".into(), "1s".into()));
    let bucket = address(&format!("s3://{BUCKET}/nightly"));
    let history = HistoryBranch::in_bucket(&bucket, variables.into_iter()).unwrap();
    assert!(!history.append(&entry(1)).unwrap().already);
    assert_eq!(fake.keys().len(), 2);
}

#[test]
fn a_server_that_never_answers_well_is_an_error_of_publishing() {
    let fake = FakeS3::start();
    fake.inject(Injected::new("PUT", RUN, status(403)).always());
    let fault = append(&fake, &entry(1)).unwrap_err();
    assert!(fault.what.contains("refuses") && fault.exit == Exit::Unpublished, "{fault}");
    assert_eq!(fake.requests().len(), 1, "rights are asked for once");
    fake.mend();
    fake.inject(Injected::new("GET", "", status(401)).always());
    let fault = open(&fake).list().unwrap_err();
    assert!(fault.what.contains("credentials") && fault.next.contains("AWS_SECRET_ACCESS_KEY"), "{fault}");
    fake.mend();
    let elsewhere = open_at(&fake, "s3://elsewhere/nightly");
    for fault in [elsewhere.need().unwrap_err(), elsewhere.append(&entry(1)).unwrap_err()] {
        assert!(fault.what.contains("there is no such bucket"), "{fault}");
        assert_eq!(fault.exit, Exit::Unpublished);
    }
}

#[test]
fn a_writer_that_was_killed_before_the_mark_is_made_good_by_the_next() {
    let fake = FakeS3::start();
    fake.inject(Injected::new("PUT", MARK, status(403)));
    append(&fake, &entry(1)).unwrap_err();
    assert_eq!((fake.mend(), fake.keys().len()), (1, 1));
    assert_eq!(runs(&fake).len(), 1, "the run counts without it");
    let later = HistoryEntry { appended: "2026-12-24T18:00:00Z".into(), ..entry(1) };
    assert!(append(&fake, &later).unwrap().already);
    assert_eq!(fake.keys().len(), 2);
}

/// The colours that a search for the last green commit sees, and the runs that it reads for them.
fn seen(fake: &FakeS3) -> (Vec<bool>, usize) {
    fake.requests();
    let mut greens = Vec::new();
    let look = |summary: &gbench_ci::history::RunSummary| {
        greens.push(summary.is_green);
        ControlFlow::Continue(())
    };
    open(fake).series(Some("main"), "", look).unwrap();
    (greens, fake.requests().iter().filter(|(_, path)| path.ends_with(".json.gz")).count())
}

#[test]
fn a_mark_saves_reading_its_run_unless_the_run_was_replaced_after_it() {
    let fake = FakeS3::start();
    append(&fake, &entry(1)).unwrap();
    append(&fake, &HistoryEntry { conclusion: Some("regressed".into()), ..entry(2) }).unwrap();
    assert_eq!(seen(&fake), (vec![false, true], 0));
    let red = HistoryEntry { conclusion: Some("regressed".into()), ..entry(1) };
    let other = FakeS3::start();
    append(&other, &red).unwrap();
    let key = format!("nightly/history/2026-11/{}.json.gz", entry(1).run_id);
    fake.by_hand(&key, &other.object(&key), SystemTime::now() + Duration::from_secs(60));
    assert_eq!(seen(&fake), (vec![false, false], 1), "the mark would have said green");
}

#[test]
fn a_long_history_comes_in_parts_and_what_is_no_run_is_passed_over() {
    let fake = FakeS3::start();
    fake.page(2);
    for number in 1..=7 {
        append(&fake, &entry(number)).unwrap();
    }
    let now = SystemTime::now();
    for key in [
        "history/notes.txt",
        "history/2026-11/x.json",
        "history/2026-11.2/20261121T000008.000Z-000008.json.gz",
    ] {
        fake.by_hand(&format!("nightly/{key}"), b"by hand", now);
    }
    fake.by_hand("nightly-2/history/2026-11/20261121T000009.000Z-000009.json.gz", b"a neighbour", now);
    assert_eq!(runs(&fake), (1..=8).map(|number| entry(number).run_id.to_string()).collect::<Vec<_>>());
    let (seen, unreadable) = recent(&open(&fake), 9);
    assert_eq!(seen, [7, 6, 5, 4, 3, 2, 1].map(entry));
    assert!(unreadable.len() == 1 && unreadable[0].contains("cannot be unpacked"), "{unreadable:?}");
}

#[test]
fn acceptances_come_before_the_run_that_names_them_and_are_never_changed() {
    let fake = FakeS3::start();
    let beside =
        |bytes: &str| BesideFile { path: "history/accepted/7-3001.json".into(), bytes: bytes.into() };
    fake.inject(Injected::new("PUT", RUN, status(403)));
    open(&fake).append_with(&entry(1), &[beside("one")]).unwrap_err();
    assert_eq!(fake.keys(), ["nightly/history/accepted/7-3001.json"]);
    open(&fake).append_with(&entry(1), &[beside("two")]).unwrap();
    assert_eq!(open(&fake).accepted().unwrap(), [beside("one")]);
    assert_eq!(runs(&fake).len(), 1, "a folder that is not a month has no runs");
}

#[test]
fn a_bucket_without_a_history_is_told_apart_from_one_that_has_one() {
    let fake = FakeS3::start();
    fake.by_hand("nightly/other/file", b"x", SystemTime::now());
    let history = open(&fake);
    let fault = history.need().unwrap_err();
    assert!(fault.what.contains("no history is kept here") && fault.exit == Exit::Usage, "{fault}");
    assert!(!history.is_there().unwrap() && history.list().unwrap().is_empty());
    history.append(&entry(1)).unwrap();
    history.need().unwrap();
}

#[test]
fn v3_a_history_moves_from_a_branch_to_a_bucket_and_back_and_a_write_that_was_none_is_found_out() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("code.txt", "one")]);
    let root = sandbox.root();
    let kept = HistoryBranch::open(&"git:kept".parse().unwrap(), &root, None).unwrap();
    for number in 1..=3 {
        kept.append(&entry(number)).unwrap();
    }
    let accepted = BesideFile { path: "history/accepted/7-3001.json".into(), bytes: b"{}\n".to_vec() };
    kept.append_with(&entry(4), std::slice::from_ref(&accepted)).unwrap();
    let fake = FakeS3::start();
    let copy = |from: &str, to: &str| {
        let mut copy = command(&root, &format!("baseline copy {from} {to}"));
        copy.envs(fake.variables());
        ended(copy)
    };
    // An answer as if it had been written, and it was not.
    fake.inject(Injected::new("PUT", RUN, status(200)).nth(2));
    copy("git:kept", "s3://bench/lost").exits(6).says("is not there as it was written");
    fake.mend();
    copy("git:kept", "s3://bench/lost").exits(0).says("3 of them there before");
    copy("git:kept", "s3://bench/nightly").exits(0).says("copied 4 runs to s3://bench/nightly, 0 of them");
    assert_eq!(open(&fake).accepted().unwrap(), [accepted]);
    copy("s3://bench/nightly", "git:back").exits(0).says("copied 4 runs").says("1 acceptance");
    let tree = |name: &str| {
        let reference = sandbox.repository.find_reference(&format!("refs/heads/{name}")).unwrap();
        reference.peel_to_tree().unwrap().get_name("history").unwrap().id()
    };
    assert_eq!(tree("kept"), tree("back"), "not a byte differs");
    copy("s3://bench/nightly", "dir:saved").exits(0).says("copied 4 runs to dir:saved");
    copy("dir:saved", "s3://bench/from-folder").exits(0).says("copied 4 runs");
    let read = |line: &str| {
        let mut read = command(&root, line);
        read.envs(fake.variables());
        ended(read).exits(0)
    };
    read("baseline list --store s3://bench/from-folder").says(entry(4).run_id.as_str());
    read("history --store s3://bench/nightly").says("kernels/gemm");
}

const WRITERS: u32 = 8;

#[test]
fn v3_eight_writers_at_once_lose_nothing_though_requests_of_every_kind_go_wrong() {
    const RUNS: u32 = 10;
    let fake = FakeS3::start();
    go_wrong(&fake);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let fake = &fake;
            scope.spawn(move || {
                let history = open(fake);
                for run in 0..RUNS {
                    history.append(&entry(writer * RUNS + run)).unwrap();
                }
            });
        }
    });
    let requests = fake.requests().len();
    let met = fake.mend() as usize;
    assert!(met * 12 > requests, "{met} of {requests} requests went wrong");
    let all = (WRITERS * RUNS) as usize;
    assert_eq!(fake.keys().len(), 2 * all, "the runs and their marks");
    let history = open(&fake);
    let listed = history.list().unwrap();
    assert_eq!(listed.len(), all);
    for (listed, number) in listed.iter().zip(0..) {
        assert_eq!(history.read(listed).unwrap(), entry(number));
    }
}

/// Faults of every request, some before it is done and some after.
fn go_wrong(fake: &FakeS3) {
    let faults = [
        ("*", status(503), 0.05),
        ("*", status(500), 0.02),
        ("PUT", status(409), 0.02),
        ("PUT", status(412), 0.02),
        ("*", FaultKind::Refused, 0.03),
        ("*", FaultKind::StatusAfter(503, String::new()), 0.03),
        ("*", FaultKind::LostResponse, 0.04),
        ("GET", FaultKind::TornResponse, 0.02),
        ("PUT", FaultKind::Held(Arc::new(Notify::new())), 0.01),
    ];
    for ((method, kind, odds), seed) in faults.into_iter().zip(1..) {
        fake.inject(Injected::new(method, "", kind).odds(odds, seed));
    }
}

/// Results of a benchmark on three nights, each a run of a separate commit; `number` makes them differ from all others.
fn write_nights(folder: &Path, number: u32) -> usize {
    std::fs::create_dir_all(folder).unwrap();
    for night in 1..=3 {
        let (commit, value) =
            (format!("{:040x}", 0xabc000 + number * 10 + night), f64::from(number * 10 + night));
        let text = format!(
            "{{\"commit_info\": {{\"id\": \"{commit}\", \"dirty\": false}}, \"datetime\": \"2026-02-{night:02}T01:02:03\", \
             \"machine_info\": {{}}, \"version\": \"5.1.0\", \"benchmarks\": [{{\"name\": \"t\", \"fullname\": \"a.py::t\", \
             \"group\": null, \"params\": null, \"options\": {{}}, \"stats\": {{\"data\": [1.0, 1.1, {value}], \"rounds\": 3, \
             \"iterations\": 1, \"mean\": 1.0}}}}]}}"
        );
        std::fs::write(folder.join(format!("2026-02-{night:02}.json")), text).unwrap();
    }
    3
}

/// The same for a real server, if one is named: `.ci/run bucket` starts it.
fn server() -> FakeS3 {
    std::env::var("GBENCH_TEST_BUCKET").map_or_else(|_| FakeS3::start(), |url| FakeS3::in_front_of(&url))
}

/// Two writers each have the same runs, and are killed at spread moments of their lives.
#[test]
fn v3_eight_writers_that_are_killed_while_requests_go_wrong_leave_every_run_once() {
    let kills: u32 = std::env::var("GBENCH_TEST_KILLS").map_or(16, |text| text.parse().expect("a number"));
    let begun = Instant::now();
    let place = crate::support::tempdir().unwrap();
    let fake = server();
    // Each start of this test has a separate history, also in a server that outlives it.
    let prefix = format!("kills-{}", std::process::id());
    let store = format!("s3://{BUCKET}/{prefix}");
    let writer = |folder: &str| {
        let line = format!("ingest {folder} --each --dated-by name --history {store}");
        let mut writer = command(place.path(), &line);
        writer.envs(fake.variables()).env("AWS_TIMEOUT", "1s");
        writer
    };
    let folders = kills.div_ceil(2).max(WRITERS);
    let written: usize =
        (0..folders).map(|number| write_nights(&place.path().join(number.to_string()), number)).sum();
    let undisturbed = Instant::now();
    ended(writer("0")).exits(0);
    let span = undisturbed.elapsed();
    go_wrong(&fake);
    let (next, cut) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                while cut.load(Ordering::Relaxed) < kills {
                    let start = next.fetch_add(1, Ordering::Relaxed);
                    assert!(start < 20 * kills, "most writers are done before they are killed");
                    let mut child = writer(&(start / 2 % folders).to_string());
                    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                    // Spread without a pattern that could hit the same step every time. Eight at once take longer than one.
                    std::thread::sleep(span.mul_f64(f64::from(start * 37_003 % 100_000) / 14_000.0));
                    child.kill().unwrap();
                    cut.fetch_add(u32::from(child.wait().unwrap().code().is_none()), Ordering::Relaxed);
                }
            });
        }
    });
    let (starts, cut) = (next.into_inner(), cut.into_inner());
    let run_files = || -> Vec<String> {
        let files =
            fake.keys().into_iter().filter(|key| key.starts_with(&prefix) && key.ends_with(".json.gz"));
        files.map(|key| key.rsplit('/').next().unwrap().to_owned()).collect()
    };
    let before = run_files().len();
    // What the killed ones lack is written by the next, again two at once, and requests still go wrong.
    let next = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    if turn >= 2 * folders {
                        return;
                    }
                    ended(writer(&(turn / 2).to_string())).exits(0);
                }
            });
        }
    });
    let requests = fake.requests().len();
    let met = fake.mend();
    let runs = run_files();
    assert_eq!(runs.iter().collect::<BTreeSet<_>>().len(), runs.len(), "none is there twice");
    assert_eq!(runs.len(), written, "none is missing");
    let history = HistoryBranch::in_bucket(&address(&store), fake.variables().into_iter()).unwrap();
    let commits: BTreeSet<String> =
        history.list().unwrap().iter().map(|listed| history.read(listed).unwrap().commit).collect();
    assert_eq!(commits.len(), written, "each is whole and of a separate commit");
    println!(
        "{WRITERS} writers at once, {cut} of {starts} killed at work in {:.0} s; {met} of {requests} requests went wrong; {before} of {written} runs were there after the kills, and each once in the end",
        begun.elapsed().as_secs_f64()
    );
}
