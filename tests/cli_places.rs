//! `report` and `explain` take the same things, and every command that prints lets its reader leave.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use gbench_ci::compare::{Merged, VerdictDocument};

use crate::support::cli::{command, newest, ran, runs, write};
use crate::support::{fixture, folder_with, stories};

const SUITE: &str = "[suite]\nname = 's'\n[defaults]\nprocesses = 2\n\
                     [[benchmark]]\nid = 'sort'\ncommand = ['true']\n";

#[test]
fn n22_report_and_explain_take_the_same_things() {
    let folder = folder_with(SUITE);
    ran(folder.path(), "run --quiet").exits(0);
    let (run, record) = (runs(folder.path()).pop().unwrap(), newest(folder.path()));
    write(folder.path(), "record.json", &record);
    ran(folder.path(), "report").exits(0).says("MEASURED: 1 case measured");
    ran(folder.path(), "explain sort").exits(0).says("One run by itself has no verdict");
    let story = stories::red();
    let comparison = story.write(&folder.path().join("artifacts"));
    let verdict: VerdictDocument = story.verdict();
    std::fs::write(folder.path().join("verdict.json"), serde_json::to_string(&verdict).unwrap()).unwrap();
    std::fs::create_dir(folder.path().join("merged")).unwrap();
    let merged = serde_json::to_string(&Merged::single("", verdict)).unwrap();
    std::fs::write(folder.path().join("merged/merged.json"), merged).unwrap();

    let id = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let (run, run_id) = (run.display().to_string(), record.run_id.to_string());
    let (kept, kept_id) = (comparison.display().to_string(), id(&comparison));
    for of_run in [run.as_str(), &run_id, "record.json"] {
        ran(folder.path(), &format!("report {of_run}")).exits(0).says("MEASURED: 1 case measured");
        ran(folder.path(), &format!("explain sort {of_run}"))
            .exits(0)
            .says("s/sort wall_time")
            .says("One run by itself has no verdict");
    }
    for of_rounds in ["", kept.as_str(), &kept_id, "verdict.json", "merged"] {
        ran(folder.path(), &format!("report {of_rounds}")).exits(0).says("REGRESSED");
        let told = ran(folder.path(), &format!("explain kernels/gemm {of_rounds}")).exits(0);
        told.says("REGRESSED: kernels/gemm time").says("Why this verdict");
    }
    for line in ["report", "explain sort"] {
        let absent = "20260101T000000.000Z-000000";
        ran(folder.path(), &format!("{line} {absent}"))
            .exits(2)
            .says("neither a run nor a comparison of this id lies in artifacts");
        ran(folder.path(), &format!("{line} nothing.json")).exits(2).says("cannot be read");
    }
    let json = ran(folder.path(), "explain sort record.json --format json").exits(0).out;
    let told: gbench_ci::model::RunRecord = serde_json::from_str(&json).unwrap();
    assert_eq!(told.cases, record.cases);
    ran(folder.path(), "explain sort record.json --metric nothing").exits(2).says("use one of `wall_time`");
    ran(folder.path(), "explain nobody record.json").exits(2).says("no case is called so");
}

#[test]
fn n22_a_reader_who_leaves_early_ends_no_command_badly() {
    let folder = folder_with(SUITE);
    ran(folder.path(), "run --quiet").exits(0);
    write(folder.path(), "record.json", &newest(folder.path()));
    let story = stories::red();
    let verdict = serde_json::to_string(&story.verdict()).unwrap();
    std::fs::write(folder.path().join("verdict.json"), verdict).unwrap();
    story.write(&folder.path().join("artifacts"));
    let without_reader = |line: &str| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = command(folder.path(), line);
        let ended = command.stdout(Stdio::from(OwnedFd::from(writer))).output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    };
    for file in ["record.json", "verdict.json"] {
        for format in ["terminal", "markdown", "json", "jsonl", "csv", "junit"] {
            let line = format!("report {file} --format {format}");
            assert_eq!(without_reader(&line), (Some(0), String::new()), "{line}");
        }
    }
    for line in [
        "list",
        "list --json",
        "describe sort",
        "config show",
        "config show --json",
        "run --dry-run",
        "run --quiet",
        "manifest show",
        "explain kernels/gemm",
        "explain kernels/gemm --format json",
        "schema verdict",
        "completions bash",
        "man",
        "--help",
    ] {
        assert_eq!(without_reader(line).0, Some(0), "{line}: {}", without_reader(line).1);
    }
    // What a command has found out stays its answer.
    assert_eq!(without_reader("replay").0, Some(1));
}

#[test]
fn n22_requires_names_everything_that_is_missing_and_what_to_do_about_each() {
    let folder = folder_with(
        "[suite]\nname = 's'\n[[benchmark]]\nid = 'x'\ncommand = ['true']\n[benchmark.requires]\n\
         binary = ['no-such-tool', 'nor-this']\nfile = ['weights.bin']\nenv = ['NO_SUCH_HOME']\ngpus = 64\n\
         compute_capability = '99.0'\n",
    );
    let ran = ran(folder.path(), "run --quiet").exits(5);
    let ran = ["`no-such-tool` is not on PATH", "`nor-this` is not on PATH", "weights.bin is not there"]
        .into_iter()
        .chain(["`NO_SUCH_HOME` is not set", "GPU", "install `no-such-tool`", "install `nor-this`"])
        .chain(["set `NO_SUCH_HOME`", "run on a machine"])
        .fold(ran, |ran, words| ran.says(words));
    assert!(ran.out.contains("weights.bin"), "{}", ran.out);
}

#[test]
fn n22_a_suites_name_given_to_benchmark_is_told_the_right_flag() {
    let folder = folder_with(SUITE);
    ran(folder.path(), "list --benchmark s").exits(2).says("`s` is a suite: write `--suite s`");
    ran(folder.path(), "list --suite s").exits(0);
}

#[test]
fn n22_what_differs_is_pointed_at_only_where_it_stands() {
    let compare = |head: &str| {
        let [base, head] = ["same/base.json", head].map(|name| fixture(&format!("comparisons/{name}")));
        let line = format!("compare {} {} --sessions 0 --format json", base.display(), head.display());
        let document = ran(&fixture("comparisons"), &line).out;
        serde_json::from_str::<VerdictDocument>(&document).unwrap()
    };
    let mut seen = [false; 2];
    for folder in std::fs::read_dir(fixture("comparisons")).unwrap().flatten() {
        let name = format!("{}/head.json", folder.file_name().to_string_lossy());
        if !folder.path().join("head.json").is_file() {
            continue;
        }
        let document = compare(&name);
        for row in &document.rows {
            let points = row.next.contains("below stands what differs");
            assert!(!points || !document.differences.is_empty(), "{name}: {}", row.next);
            seen[usize::from(points)] |= row.next.contains("look for what changed");
        }
    }
    assert!(seen[0], "no comparison without differences regressed");
}
