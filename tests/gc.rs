//! `gbench-ci gc`: what is beyond `keep` goes, what is needed and what is not the gate's stays.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use gbench_ci::model::{RecordState, RunId};
use gbench_ci::store::{ArtifactsFolder, ArtifactsKind, hold};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::cli::{Ran, command, ended, ran};
use crate::support::nightly;
use crate::support::repository::{Repository, UNWATCHED, copy, edit, suite};
use crate::support::wait::{wait_for, wait_until};

const DAY: u64 = 86_400;

/// The id of a run that started so many seconds ago.
fn id(ago: u64, salt: u32) -> String {
    RunId::new(SystemTime::now() - Duration::from_secs(ago), salt).to_string()
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Every path below a folder.
fn tree(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for name in names(folder) {
        let path = folder.join(name);
        all.push(path.clone());
        if path.symlink_metadata().unwrap().is_dir() {
            all.extend(tree(&path));
        }
    }
    all
}

fn backdate(path: &Path) {
    File::open(path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
}

fn loose(root: &Path) -> usize {
    let folders = names(&root.join(".git/objects")).into_iter().filter(|name| name.len() == 2);
    folders.map(|name| names(&root.join(".git/objects").join(name)).len()).sum()
}

fn bytes(path: &Path) -> u64 {
    let output = Command::new("du").args(["-s", "-B1"]).arg(path).output().unwrap().stdout;
    String::from_utf8(output).unwrap().split_whitespace().next().unwrap().parse().unwrap()
}

/// A repository with one run, which is copied.
struct Kept {
    repository: Repository,
    run: PathBuf,
}

impl Kept {
    fn new() -> Self {
        let repository = Repository::new(&[("gbench.toml", &suite(UNWATCHED, ""))], &[]);
        ran(repository.root(), "run --quiet --processes 1").exits(0);
        let artifacts = repository.root().join("artifacts");
        let run = names(&artifacts).into_iter().find(|name| name.starts_with("20")).unwrap();
        let away = repository.root().join("run");
        fs::rename(artifacts.join(run), &away).unwrap();
        Self { repository, run: away }
    }

    fn root(&self) -> &Path {
        self.repository.root()
    }

    fn artifacts(&self) -> PathBuf {
        self.root().join("artifacts")
    }

    /// The run once more, as the one that was started as the `number`th, so many seconds ago. Gives its id.
    fn add(&self, number: u32, ago: u64) -> String {
        let id = id(ago, number);
        copy(&self.run, &self.artifacts().join(&id));
        fs::write(self.artifacts().join(&id).join(".started"), format!("{number}\n")).unwrap();
        id
    }

    /// So many runs, a minute apart. Gives their ids, the oldest first.
    fn runs(&self, runs: u32) -> Vec<String> {
        (1..=runs).map(|number| self.add(number, u64::from(runs - number) * 60)).collect()
    }

    fn gc(&self, line: &str) -> Ran {
        ran(self.root(), &format!("gc {line}"))
    }

    fn history(&self) -> String {
        // A history is read anew, and not from what was read of it before.
        let _ = fs::remove_dir_all(self.root().join(".gbench"));
        ran(self.root(), "history --store git:gbench-history --format json --runs 0").exits(0).out
    }

    fn start(&self, line: &str) -> std::process::Child {
        let mut command = command(self.root(), line);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

/// K5: what was published reads the same, and the folder is back within `keep`. Gives what it took before and after.
fn cut(runs: u32, nights: u32, keep: u32) -> String {
    let kept = Kept::new();
    let ids = kept.runs(runs);
    nightly::append(kept.root(), (1..=nights).map(|night| nightly::night(night, &[])));
    // The user's own object, which no commit reaches.
    let repository = git2::Repository::open(kept.root()).unwrap();
    let stray = repository.blob(b"not in any commit").unwrap();
    let scratch = kept.root().join(".git/objects/tmp_objdir-gbench-ci/pack");
    fs::create_dir_all(&scratch).unwrap();
    fs::write(scratch.join("half"), "of a process that was killed").unwrap();
    let figures = kept.history();
    let (loose_before, folder_before) = (loose(kept.root()), bytes(&kept.artifacts()));
    let git_before = bytes(&kept.root().join(".git"));

    let would = kept.gc(&format!("--keep {keep} --dry-run")).exits(0).out;
    assert!(would.starts_with("would remove ") && would.contains("would pack"), "{would}");
    assert_eq!((loose(kept.root()), bytes(&kept.artifacts())), (loose_before, folder_before));

    let said = kept.gc(&format!("--keep {keep}")).exits(0).out;
    let as_done = would.replace("would remove", "removed").replace("would keep", "kept");
    assert_eq!(said.lines().next(), as_done.lines().next(), "{said}");
    let mut expected: BTreeSet<String> = ids[ids.len() - keep as usize..].iter().cloned().collect();
    expected.insert(".gitignore".into());
    assert_eq!(names(&kept.artifacts()), expected);

    assert_eq!(kept.history(), figures);
    let loose_after = loose(kept.root());
    assert!(loose_after < 20 && loose_before > 100, "{loose_before} -> {loose_after}");
    assert!(git2::Repository::open(kept.root()).unwrap().find_blob(stray).is_ok());
    kept.repository.git(&["fsck", "--full", "--strict"]);
    assert!(!names(&kept.root().join(".git/objects")).iter().any(|name| name.starts_with("tmp_")));
    // The branch goes on, and what is few stays loose.
    nightly::append(kept.root(), [nightly::night(nights + 1, &[])].into_iter());
    let again = kept.gc(&format!("--keep {keep}")).exits(0).out;
    assert_eq!(again, format!("removed nothing; kept {keep}\n"));
    let (folder_after, git_after) = (bytes(&kept.artifacts()), bytes(&kept.root().join(".git")));
    format!(
        "{said}artifacts {folder_before} B -> {folder_after} B, .git {git_before} B -> {git_after} B, \
         loose objects {loose_before} -> {loose_after}"
    )
}

#[test]
fn k5_sixty_runs_and_twenty_nights_come_back_within_ten_and_the_history_reads_the_same() {
    let said = cut(60, 20, 10);
    assert!(said.starts_with("removed 50 runs, "), "{said}");
}

#[test]
#[ignore = "a minute: 2,000 runs and 500 nights"]
fn k5_2000_runs_and_500_nights_come_back_within_200_and_the_history_reads_the_same() {
    println!("{}", cut(2000, 500, 200));
}

#[test]
fn without_a_number_nothing_is_removed_and_the_suite_file_may_hold_it() {
    let kept = Kept::new();
    let ids = kept.runs(4);
    kept.gc("").exits(2).says("`keep_runs = 200` in [run]").says("gbench-ci gc --keep 200");
    for (keep, words) in
        [("0", "keeps no runs"), ("0s", "keeps no runs"), ("1.5", "not a number of runs"), ("-1d", "--keep")]
    {
        kept.gc(&format!("--keep {keep}")).exits(2).says(words);
    }
    kept.gc("--keep 1 --history github:acme/kernels@x")
        .exits(2)
        .says("GitHub packs the objects there by itself");
    kept.gc("--keep 1 --history git:none").exits(2).says("there is no such branch");
    assert_eq!(names(&kept.artifacts()).len(), 5);
    for (value, left) in [("\"1d\"", 4), ("3", 3)] {
        let text = suite(&format!("[run]\nkeep_runs = {value}\n{UNWATCHED}"), "");
        fs::write(kept.root().join("gbench.toml"), text).unwrap();
        kept.gc("").exits(0);
        assert_eq!(names(&kept.artifacts()).len(), left + 1, "{value}");
    }
    ran(kept.root(), "config show").exits(0).says("run.keep_runs 3");
    fs::write(kept.root().join("gbench.toml"), suite("[run]\nkeep_runs = 0", "")).unwrap();
    kept.gc("--keep 1").exits(2).says("`keep_runs`: `0` keeps no runs").says("an age such as 30d");
    assert!(kept.artifacts().join(&ids[1]).exists());
}

#[test]
fn an_age_counts_from_the_start_of_a_run_and_a_number_in_the_order_of_the_starts() {
    let kept = Kept::new();
    // Started first, under a clock that was a year ahead.
    let ahead = RunId::new(SystemTime::now() + Duration::from_secs(365 * DAY), 1).to_string();
    copy(&kept.run, &kept.artifacts().join(&ahead));
    fs::write(kept.artifacts().join(&ahead).join(".started"), "1\n").unwrap();
    let (old, new) = (kept.add(2, 31 * DAY), kept.add(3, 29 * DAY));
    kept.gc("--keep 30d").exits(0).says("removed 1 run, ").says("kept 2");
    assert!(!kept.artifacts().join(old).exists());
    kept.gc("--keep 1").exits(0);
    assert_eq!(names(&kept.artifacts()), BTreeSet::from([".gitignore".into(), new]));
}

#[test]
fn what_a_baseline_or_an_open_comparison_needs_and_what_is_not_the_gates_stays() {
    let kept = Kept::new();
    let artifacts = kept.artifacts();
    kept.repository.compare("main~1..main --rounds 4");
    let latest = kept.repository.latest();
    let (open, done) = (artifacts.join(id(5000, 1)), artifacts.join(id(4000, 2)));
    fs::rename(&latest, &open).unwrap();
    copy(&open, &done);
    edit(&open, "head", |record| record.state = RecordState::Interrupted);
    let ids = kept.runs(9);
    for path in [&open, &done] {
        fs::write(path.join(".started"), "0\n").unwrap();
    }
    ran(kept.root(), &format!("baseline save main --busy artifacts/{}", ids[0])).exits(0);
    // A baseline is named by its run's own id.
    let saved = names(&kept.root().join(".gbench/baselines/main")).pop_first().unwrap();
    let saved = saved.trim_end_matches(".json").to_owned();
    fs::rename(artifacts.join(&ids[0]), artifacts.join(&saved)).unwrap();

    let elsewhere = tempfile::tempdir().unwrap();
    copy(&kept.run, &elsewhere.path().join("run"));
    let link = artifacts.join(id(6000, 3));
    std::os::unix::fs::symlink(elsewhere.path().join("run"), &link).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), artifacts.join(&ids[1]).join("logs/link")).unwrap();
    copy(&kept.run, &artifacts.join("before-the-fix"));
    fs::create_dir(artifacts.join(".gc-notes")).unwrap();
    fs::write(artifacts.join("notes.txt"), "mine").unwrap();
    let unknown = artifacts.join(id(7000, 4));
    fs::create_dir(&unknown).unwrap();
    fs::write(unknown.join("mine"), "mine").unwrap();
    let busy = artifacts.join(&ids[2]);
    hold(&busy);

    let before = (tree(kept.root()), bytes(kept.root()));
    let would = kept.gc("--keep 2 --dry-run").exits(0).out;
    assert_eq!((tree(kept.root()), bytes(kept.root())), before, "{would}");
    let said = kept.gc("--keep 2").exits(0).out;
    for words in [
        "removed 5 runs, 1 comparison, ",
        &format!("kept {saved}: baseline main"),
        &format!("kept {}: it is open: `gbench-ci compare --resume", open.file_name().unwrap().display()),
        &format!("kept {}: a process works in it", ids[2]),
        "5 items were not made by gbench-ci and stay: ",
        "before-the-fix",
        "notes.txt",
    ] {
        assert!(said.contains(words), "`{words}` in {said}");
    }
    assert_eq!(would.replace("would remove", "removed").replace("would keep", "kept"), said);
    assert!(open.exists() && !done.exists() && busy.exists() && link.is_symlink());
    assert!(elsewhere.path().join("run/results/record.json").exists(), "a link is not followed");
    assert!(unknown.join("mine").exists());
    assert!(ids[7..].iter().all(|id| artifacts.join(id).exists()));
    ran(kept.root(), "report").exits(0);
}

#[test]
fn a_comparison_killed_before_its_first_round_goes_and_never_while_it_runs() {
    let block = "until [ -e \"$0.go\" ]; do sleep 0.02; done\n";
    let repository = Repository::new(&[("gbench.toml", &suite(UNWATCHED, "")), ("bench.sh", block)], &[]);
    let artifacts = repository.root().join("artifacts");
    let mut gate = command(repository.root(), "compare main~1..main --quiet");
    let mut gate = gate.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = || {
        fs::read_dir(&artifacts)
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.join("head/results/journal.jsonl").exists())
    };
    wait_until("both sides are begun", || begun().is_some());
    let folder = begun().unwrap();
    let gc = || ran(repository.root(), "gc --keep 1").exits(0);
    gc().says("a process may be working in it");
    backdate(&folder);
    gc().says("removed nothing; kept 1").says("a process works in it");
    gate.kill().unwrap();
    gate.wait().unwrap();
    // What `ingest` and an interrupted write leave.
    let (ingest, temporary) = (artifacts.join(".ingest-Ab3xYz"), artifacts.join(".tmpAb3xYz"));
    fs::create_dir_all(ingest.join("run/results")).unwrap();
    fs::write(&temporary, "half").unwrap();
    let stored = repository.root().join(".gbench/.tmpAb3xYz");
    fs::copy(&temporary, &stored).unwrap();
    // The supervisors of its processes hold the folder until they have ended, too.
    let removed = wait_for(|| Some(gc()).filter(|_| !folder.exists()).ok_or("it is gone"));
    removed.says("removed 1 leftover").says("a process may be working in it");
    assert!(ingest.exists() && temporary.exists());
    [&ingest, &temporary, &stored].into_iter().for_each(|path| backdate(path));
    gc().says("removed 3 leftovers");
    assert_eq!(names(&artifacts), BTreeSet::from([".gitignore".into()]));
    assert!(!stored.exists());
}

#[test]
fn a_gc_that_is_killed_leaves_no_half_run_and_the_next_one_goes_on() {
    let kept = Kept::new();
    let ids = kept.runs(300);
    let first = kept.artifacts().join(&ids[0]);
    for signal in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGINT] {
        if !first.exists() {
            copy(&kept.run, &first);
        }
        let mut gc = kept.start("gc --keep 10");
        wait_until("it removes", || !first.exists());
        let _ = kill(Pid::from_raw(gc.id() as i32), signal);
        let code = gc.wait().unwrap().code();
        let ends: [Option<i32>; 2] = match signal {
            Signal::SIGTERM => [Some(143), Some(0)],
            Signal::SIGINT => [Some(130), Some(0)],
            _ => [None, Some(0)],
        };
        assert!(ends.contains(&code), "{signal}: {code:?}");
        for name in names(&kept.artifacts()) {
            let is_hidden = name == ".gitignore" || (signal == Signal::SIGKILL && name.starts_with(".gc-"));
            let record = kept.artifacts().join(&name).join("results/record.json");
            assert!(is_hidden || record.exists(), "{signal}: {name}");
        }
    }
    // Half of one, as a kill between two files leaves it.
    fs::create_dir_all(kept.artifacts().join(format!(".gc-{}/results", ids[5]))).unwrap();
    // And perhaps one more, of the killed ones.
    kept.gc("--keep 10").exits(0).says(" leftover");
    let expected: BTreeSet<String> = ids[290..].iter().cloned().chain([".gitignore".to_owned()]).collect();
    assert_eq!(names(&kept.artifacts()), expected);
}

#[test]
fn what_cannot_be_removed_is_named_and_the_exit_code_says_so() {
    let kept = Kept::new();
    let ids = kept.runs(3);
    // Deeper than folders are followed.
    let deep: PathBuf = std::iter::repeat_n("d", 230).collect();
    fs::create_dir_all(kept.artifacts().join(&ids[0]).join("logs").join(deep)).unwrap();
    let name = format!(".gc-{}", ids[0]);
    kept.gc("--keep 1").exits(5).says("removed 1 run, ").says("cannot be removed").says(&name);
    kept.gc("--keep 1").exits(5).says("removed nothing; kept 1").says(&name);
    fs::remove_dir_all(kept.artifacts().join(name)).unwrap();
    kept.gc("--keep 1").exits(0);
    let mut nowhere = command(kept.root(), "gc --keep 1 --artifacts gbench.toml");
    nowhere.env("NO_COLOR", "1");
    ended(nowhere).exits(2).says("gbench.toml").says("cannot be read");
    kept.gc("--keep 1 --artifacts none").exits(0).says("removed nothing; kept 0");
}

#[test]
fn bisections_profiles_and_calibrations_are_known() {
    let kept = Kept::new();
    let artifacts = kept.artifacts();
    let bisection = |ago: u64, answer: &str| {
        let folder = artifacts.join(id(ago, 1));
        fs::create_dir_all(folder.join("runs")).unwrap();
        fs::write(folder.join("bisect.jsonl"), "{}\n{}\n").unwrap();
        fs::write(folder.join("bisect.json"), format!("{{\"answer\":\"{answer}\"}}")).unwrap();
        folder
    };
    let (found, open) = (bisection(900, "commit"), bisection(800, "interrupted"));
    copy(&kept.run, &artifacts.join(format!("profile-{}", id(700, 2))));
    let calibration = artifacts.join("calibrations").join(id(600, 3));
    for side in ["base", "head"] {
        copy(&kept.run, &calibration.join(side));
    }
    edit(&calibration, "base", |record| record.state = RecordState::Interrupted);
    let newer = artifacts.join("calibrations").join(id(500, 4));
    copy(&calibration, &newer);
    kept.runs(1);
    let folder = ArtifactsFolder::open(&artifacts).unwrap();
    let kinds: Vec<ArtifactsKind> = folder.entries().unwrap().iter().map(|entry| entry.kind).collect();
    assert!(!kinds.contains(&ArtifactsKind::Foreign), "{kinds:?}");
    let said = kept.gc("--keep 1").exits(0).out;
    assert!(said.starts_with("removed 1 run, 1 comparison, 1 bisection, "), "{said}");
    assert!(said.contains("`gbench-ci bisect --resume"), "{said}");
    assert!(!found.exists() && open.exists() && !calibration.exists() && newer.exists());
}

#[test]
fn a_link_in_the_place_of_a_folder_of_the_gate_leads_gc_nowhere() {
    let kept = Kept::new();
    kept.runs(2);
    let elsewhere = tempfile::tempdir().unwrap();
    for number in 1..=3 {
        copy(&kept.run, &elsewhere.path().join(id(8000, number)));
    }
    let temporary = elsewhere.path().join(".tmpAbCd12");
    fs::write(&temporary, "").unwrap();
    fs::File::open(&temporary).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let link = |place: &str| {
        let place = kept.root().join(place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), place).unwrap();
    };
    link("artifacts/calibrations");
    link(".gbench/baselines/main");
    kept.gc("--keep 1").exits(0);
    assert_eq!(names(elsewhere.path()).len(), 4);
}
