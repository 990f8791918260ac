//! `gbench-ci history` of long histories: how time and memory grow with the runs. Figures are simulated; the branch and the cache are real,
//! and made through the library. The last lines show the cost of stores of whole files. `million` as an argument: these alone.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/support/records.rs"]
mod records;
mod support;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use gbench_ci::history::{HistoryBranch, HistoryEntry};
use gbench_ci::model::{Better, CaseId, RunRecord, sha256_hex};
use gbench_ci::store::FrameFile;
use gbench_ci::trend::{
    CACHE_VERSION, Dictionary, MetricPoint, RunPoints, SeriesFilter, TableBuilder, TrendRun,
};
use records::{build_sized, noise, plan};
use support::{Ended, Goals, gbench, megabytes, milliseconds, run, this_bench};

/// Runs and cases of each table row.
const SIZES: [(u32, u32); 4] = [(1_000, 1_000), (10_000, 1_000), (100_000, 100), (100_000, 1_000)];
/// The size that the goals are about.
const GOAL: (u32, u32) = (10_000, 1_000);
const WALL_GOAL: Duration = Duration::from_secs(5);
const MEMORY_GOAL: u64 = 500_000_000;
/// Runs whose files are read, for what a missing cache costs, of so many cases, processes and samples.
const COLD: (u32, u32, u32, u32) = (200, 100, 10, 20);

/// Runs and cases of the million points, each of so many processes and samples, in files of a branch and of a folder.
const MILLION: (u32, u32, u32, u32) = (10_000, 100, 3, 3);
const APPEND_GOAL: Duration = Duration::from_secs(1);
const CASE_GOAL: Duration = Duration::from_secs(1);
const ALL_GOAL: Duration = Duration::from_secs(20);
const ALL_MEMORY_GOAL: u64 = 1_000_000_000;

const BRANCH: &str = "gbench-history";

/// First arguments of the roles of this program.
const WRITE: &str = "write";
const WRITE_COLD: &str = "write-cold";
const READ: &str = "read";
const WRITE_MILLION: &str = "write-million";
const APPEND: &str = "append";
/// The argument that asks for the million points alone.
const ONLY_MILLION: &str = "million";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [WRITE, folder, runs, cases] => write(Path::new(folder), number(runs), number(cases)),
        [WRITE_COLD, folder] => write_cold(Path::new(folder)),
        [READ, cache, runs] => read(Path::new(cache), number(runs)),
        [WRITE_MILLION, folder] => write_million(Path::new(folder)),
        [APPEND, folder] => append(Path::new(folder), MILLION.0, 1),
        [ONLY_MILLION, ..] => {
            let mut goals = Goals::default();
            million(&mut goals);
            return goals.conclude();
        }
        _ => return tables(),
    }
    ExitCode::SUCCESS
}

fn number(text: &str) -> u32 {
    text.parse().expect("a number")
}

fn tables() -> ExitCode {
    let mut goals = Goals::default();
    println!("runs x cases, one metric each; the cache is there\n");
    println!("{:<18} {:<34} {:>12} {:>12} {:>12}", "size", "what", "time", "memory", "cache");
    for (runs, cases) in SIZES {
        let folder = tempfile::tempdir().expect("a temporary folder");
        role(&[WRITE, &text(folder.path()), &runs.to_string(), &cases.to_string()]);
        let cache = cache_of(folder.path());
        let size = std::fs::metadata(&cache).expect("a cache").len();
        let line = |what: &str, ended: &Ended| {
            let wall = milliseconds(ended.wall);
            let memory = megabytes(ended.peak_bytes);
            println!(
                "{:<18} {what:<34} {wall:>12} {memory:>12} {:>12}",
                format!("{runs} x {cases}"),
                megabytes(size)
            );
        };
        let whole = run(Command::new(this_bench()).args([READ, &text(&cache), &runs.to_string()]));
        assert!(whole.status.success());
        line("every figure into columns", &whole);
        let newest = history(folder.path(), &["--all"]);
        line("gbench-ci history", &newest);
        let one = history(folder.path(), &["case/c7", "--runs", "0"]);
        line("gbench-ci history CASE --runs 0", &one);
        if (runs, cases) == GOAL {
            for (what, ended) in [("every figure", &whole), ("gbench-ci history", &newest)] {
                goals.check(
                    &format!("{what}, time"),
                    milliseconds(ended.wall),
                    "< 5000 ms",
                    ended.wall < WALL_GOAL,
                );
                let met = ended.peak_bytes < MEMORY_GOAL;
                goals.check(&format!("{what}, memory"), megabytes(ended.peak_bytes), "< 500 MB", met);
            }
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    role(&[WRITE_COLD, &text(folder.path())]);
    let (runs, cases, processes, samples) = COLD;
    println!("\n{runs} runs x {cases} cases of {processes} x {samples} samples, as files of a branch\n");
    for what in ["without a cache", "with the cache"] {
        let ended = history(folder.path(), &[]);
        println!("{what:<53} {:>12} {:>12}", milliseconds(ended.wall), megabytes(ended.peak_bytes));
    }
    million(&mut goals);
    goals.conclude()
}

/// A million points as files, in both kinds of stores.
fn million(goals: &mut Goals) {
    let (runs, cases, processes, samples) = MILLION;
    println!("\n{runs} runs x {cases} cases of {processes} x {samples} samples, as files\n");
    println!("{:<10} {:<42} {:>12} {:>12} {:>12}", "store", "step", "time", "processor", "memory");
    let there = tempfile::tempdir().expect("a temporary folder");
    let folder = there.path();
    role(&[WRITE_MILLION, &text(folder)]);
    for (store, address) in [("branch", format!("git:{BRANCH}")), ("folder", "dir:kept".to_owned())] {
        let mut line = |what: &str, ended: Ended, most: Option<Duration>| {
            assert!(ended.status.success(), "{store}: {what}");
            let (wall, cpu) = (milliseconds(ended.wall), milliseconds(ended.cpu));
            let peak = megabytes(ended.peak_bytes);
            println!("{store:<10} {what:<42} {wall:>12} {cpu:>12} {peak:>12}");
            let Some(most) = most else { return };
            // Other work on the machine makes the wall time longer. None of these steps has a second thread.
            goals.check(
                &format!("{store}: {what}, time"),
                cpu,
                &format!("< {} s", most.as_secs()),
                ended.cpu < most,
            );
            let met = ended.peak_bytes < ALL_MEMORY_GOAL;
            goals.check(&format!("{store}: {what}, memory"), peak, &megabytes(ALL_MEMORY_GOAL), met);
        };
        let gate = |arguments: &[&str]| {
            let report = File::create(folder.join("report")).expect("a file for the report");
            let mut command = gbench();
            command.args(arguments).args(["--store", &address]).current_dir(folder);
            run(command.stdin(Stdio::null()).stdout(report).stderr(Stdio::inherit()))
        };
        let appended = match store {
            "branch" => run(Command::new(this_bench()).args([APPEND, &text(folder)])),
            _ => gate(&["baseline", "save", "nightly", "next.json"]),
        };
        line("a run is added", appended, Some(APPEND_GOAL));
        let one = ["history", "case/c7", "--runs", "0"];
        line("one case, the first time", gate(&one), Some(ALL_GOAL));
        line("one case", gate(&one), Some(CASE_GOAL));
        let all = ["history", "--all", "--runs", "0"];
        line("all cases", gate(&all), Some(ALL_GOAL));
        std::fs::remove_dir_all(folder.join(".gbench/cache")).expect("a cache");
        line("all cases, the first time", gate(&all), Some(ALL_GOAL));
        let openmetrics = ["history", "--runs", "0", "--format", "openmetrics", "--output", "figures.txt"];
        line("all cases as OpenMetrics", gate(&openmetrics), None);
        if cfg!(feature = "parquet") {
            let parquet = ["history", "--format", "parquet", "--output", "figures/"];
            line("all cases as Parquet, by month", gate(&parquet), None);
            line("the same again", gate(&parquet), None);
        }
        line("site, 400 runs", gate(&["site", &format!("site-of-{store}")]), None);
        line("what `bisect CASE` reads", gate(&["history", "case/c7", "--format", "json"]), Some(CASE_GOAL));
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// This program in another role, in a process of its own: see `support::run`.
fn role(arguments: &[&str]) {
    let ended = Command::new(this_bench()).args(arguments).status().expect("the bench starts");
    assert!(ended.success(), "{arguments:?}");
}

fn history(folder: &Path, arguments: &[&str]) -> Ended {
    let report = File::create(folder.join("report")).expect("a file for the report");
    let mut command = gbench();
    command.arg("history").args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(report);
    let ended = run(&mut command);
    assert!(ended.status.success());
    ended
}

fn cache_of(folder: &Path) -> PathBuf {
    let digest = sha256_hex(format!("git:{BRANCH}").as_bytes());
    folder.join(".gbench/cache").join(format!("trends-{}.bin", &digest[..16]))
}

/// The run that begins `hour` hours after 2020.
fn trend_run(hour: u32) -> TrendRun {
    let started = UNIX_EPOCH + Duration::from_secs(1_577_836_800 + u64::from(hour) * 3_600);
    let started = humantime::format_rfc3339_millis(started).to_string();
    let compact: String = started.chars().filter(|c| !"-:".contains(*c)).collect();
    TrendRun {
        run_id: format!("{compact}-{hour:06x}").parse().expect("an id"),
        started,
        commit: format!("{:040x}", hour + 1),
        branch: "main".into(),
        label: String::new(),
        event: "schedule".into(),
        conclusion: Some("pass".into()),
    }
}

fn points(run: TrendRun, number: u32, cases: &[CaseId]) -> RunPoints {
    let point = |(index, case): (usize, &CaseId)| MetricPoint {
        case: case.clone(),
        metric: "time".into(),
        unit: "s".into(),
        better: Some(Better::Lower),
        judged: true,
        settings: "iterations=30 warmup=10".into(),
        value: 1e-3 * (0.01 * noise([number, index as u32, 1, 1])).exp(),
        half_width: 0.004,
    };
    RunPoints {
        run,
        facts: BTreeMap::from([("driver".into(), "570.86.15".into())]),
        points: cases.iter().enumerate().map(point).collect(),
        unmeasured: Vec::new(),
    }
}

/// A branch whose files all hold the same bytes, and a cache that knows the figures of each.
fn write(folder: &Path, runs: u32, cases: u32) {
    let case = |index: u32| {
        let text = format!(r#"{{"benchmark":"case/c{index}","timing":"protocol","thermal":"warm"}}"#);
        serde_json::from_str(&text).expect("a case")
    };
    let cases: Vec<CaseId> = (0..cases).map(case).collect();
    let repository = git2::Repository::init(folder).expect("a repository");
    let blob = repository.blob(b"not read: the cache knows it").expect("a blob");
    let mut months: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut dictionary = Dictionary::default();
    let cache = FrameFile::new(cache_of(folder), CACHE_VERSION);
    let frames = (0..runs).map(|number| {
        let run = trend_run(number);
        let (id, month) = (run.run_id.to_string(), run.started[..7].to_owned());
        let (bytes, _) = dictionary.encode(&points(run, number, &cases)).expect("a form");
        let key = format!("{id} {blob}");
        months.entry(month).or_default().push(id);
        (key, bytes)
    });
    let nothing = cache.read(|_, _| true).expect("a cache");
    cache.append(nothing, frames).expect("a cache that takes all");
    let tree = |entries: Vec<(String, git2::Oid, i32)>| {
        let mut builder = repository.treebuilder(None).expect("a tree");
        for (name, id, mode) in entries {
            builder.insert(name, id, mode).expect("an entry");
        }
        builder.write().expect("a tree")
    };
    let folders = months.into_iter().map(|(month, ids)| {
        let files = ids.into_iter().map(|id| (format!("{id}.json.gz"), blob, 0o100_644)).collect();
        (month, tree(files), 0o040_000)
    });
    let history = tree(folders.collect());
    let root = repository.find_tree(tree(vec![("history".into(), history, 0o040_000)])).expect("a tree");
    let who = git2::Signature::now("bench", "bench@localhost").expect("a name");
    repository
        .commit(Some(&format!("refs/heads/{BRANCH}")), &who, &who, "runs", &root, &[])
        .expect("a commit");
}

/// A branch of whole runs.
fn write_cold(folder: &Path) {
    git2::Repository::init(folder).expect("a repository");
    let (runs, cases, processes, samples) = COLD;
    let plans: Vec<_> =
        (0..cases).map(|n| plan("case/c", n.into(), "host", "time", "s", 1e-3, 0.004)).collect();
    append_runs(folder, 0..runs, |number| build_sized(number, &plans, processes, samples), |_| {});
}

/// A branch and a folder with the same runs, and the record of the next one.
fn write_million(folder: &Path) {
    git2::Repository::init(folder).expect("a repository");
    std::fs::write(
        folder.join("gbench.toml"),
        "[run]\nkeep = 20000\n[[benchmark]]\nid = 'case/c7'\ncommand = ['true']\n",
    )
    .expect("a suite file");
    let kept = folder.join("kept/baselines/nightly");
    std::fs::create_dir_all(&kept).expect("a folder");
    append(folder, 0, MILLION.0);
}

fn append(folder: &Path, from: u32, runs: u32) {
    let (_, cases, processes, samples) = MILLION;
    let names: Vec<&'static str> = (0..cases).map(|n| &*format!("case/c{n}").leak()).collect();
    let plans: Vec<_> = names.iter().map(|name| plan(name, 64, "host", "time", "s", 1e-3, 0.004)).collect();
    let build = |number| build_sized(number, &plans, processes, samples);
    let keep = |record: &RunRecord| {
        let text = serde_json::to_vec(record).expect("JSON");
        let kept = folder.join(format!("kept/baselines/nightly/{}.json", record.run_id));
        std::fs::write(kept, text).expect("a file");
    };
    if runs == 1 {
        append_runs(folder, from..from + 1, build, |_| {});
        return;
    }
    append_runs(folder, from..from + runs, build, keep);
    let mut next = build(from + runs);
    let TrendRun { run_id, started, .. } = trend_run(from + runs);
    (next.run_id, next.started) = (run_id, started);
    std::fs::write(folder.join("next.json"), serde_json::to_vec(&next).expect("JSON")).expect("a file");
}

fn append_runs(
    folder: &Path,
    runs: std::ops::Range<u32>,
    build: impl Fn(u32) -> RunRecord,
    keep: impl Fn(&RunRecord),
) {
    let address = format!("git:{BRANCH}").parse().expect("an address");
    let history = HistoryBranch::open(&address, folder, None).expect("a history");
    for number in runs {
        let TrendRun { run_id, started, commit, branch, label, event, conclusion } = trend_run(number);
        let mut record = build(number);
        (record.run_id, record.started) = (run_id, started.clone());
        keep(&record);
        let entry = HistoryEntry {
            appended: started,
            label,
            conclusion,
            exit_code: Some(0),
            ..HistoryEntry::of_record(record, &branch, commit, &event)
        };
        history.append(&entry).expect("a branch that takes it");
    }
}

/// Every figure of a cache, as columns.
fn read(cache: &Path, runs: u32) {
    let filter = SeriesFilter { run: &|_| true, series: &|_, _| true, renamed: &BTreeMap::new() };
    let mut builder = TableBuilder::new(filter, runs as usize);
    let read = FrameFile::new(cache.to_owned(), CACHE_VERSION).read(|_, bytes| {
        let run = builder.dictionary().decode(bytes).expect("a run");
        builder.push(run);
        true
    });
    read.expect("a cache");
    let (table, _) = builder.finish(true);
    assert!(table.series.iter().all(|series| series.points.len() == runs as usize));
}
