//! Instructions of a harness's cases from a suite file to the verdict, by a real Valgrind where it is installed, and what is
//! said where nothing counts.

use std::collections::BTreeMap;
use std::process::Command;

use gbench_ci::compare::{Row, Verdict, VerdictDocument};
use gbench_ci::model::{CaseRecord, CounterState, ParamValue, RunRecord};
use gbench_ci::store::read_comparison;
use gbench_ci::supervise::instruction_counter;

use crate::support::cli::{newest, ran};
use crate::support::repository::Repository;
use crate::support::{gate, harness};

fn suite(more: &str) -> String {
    let program = harness().to_str().unwrap();
    format!(
        "[suite]\nname = \"s\"\n[gate]\nwatch = false\ncontrols = 0\n[[benchmark]]\nid = \"h\"\n\
         harness = \"google-benchmark\"\ncommand = [\"{program}\"]\niterations = 5\n{more}\n"
    )
}

fn repository(base: &str, head: &str, more: &str) -> Repository {
    let suite = suite(more);
    Repository::new(&[("gbench.toml", &suite), ("harness.conf", base)], &[("harness.conf", head)])
}

fn folder(conf: &str, more: &str) -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    std::fs::write(folder.path().join("gbench.toml"), suite(more)).unwrap();
    std::fs::write(folder.path().join("harness.conf"), conf).unwrap();
    folder
}

/// Says so where it is not there.
fn has_valgrind() -> bool {
    let found =
        Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        println!("SKIPPED: valgrind is not installed");
    }
    found
}

fn of_metric<'a>(document: &'a VerdictDocument, metric: &str) -> BTreeMap<String, &'a Row> {
    let rows = document.rows.iter().filter(|row| row.metric == metric);
    let name = |row: &Row| match &row.case.params["case"] {
        ParamValue::Text(name) => name.clone(),
        other => panic!("{other:?}"),
    };
    rows.map(|row| (name(row), row)).collect()
}

fn sides(repository: &Repository) -> [RunRecord; 2] {
    let (base, head, _) = read_comparison(&repository.latest()).unwrap();
    [base, head]
}

fn counts(case: &CaseRecord) -> Vec<f64> {
    let metric = case.metrics.iter().find(|metric| metric.name == "instructions");
    metric.map_or_else(Vec::new, |metric| metric.processes.iter().map(|process| process.values[0]).collect())
}

#[test]
fn f7_three_per_cent_more_work_is_found_by_its_instructions_whatever_the_time_says() {
    if !has_valgrind() {
        return;
    }
    let conf = "cases 2\n";
    let repository = repository(conf, &format!("{conf}work case_1 103\n"), "count = \"valgrind\"");
    repository.compare("HEAD~1..HEAD --rounds 10").exits(1).says("more instructions");
    let document = repository.verdict();
    let (counted, times) = (of_metric(&document, "instructions"), of_metric(&document, "time"));
    let row = counted["case_1"];
    assert_eq!(row.verdict, Verdict::Regressed, "{}", row.reason);
    let slowdown = row.change.as_ref().unwrap().slowdown;
    assert!((0.025..0.035).contains(&slowdown), "{slowdown}");
    assert_eq!(times["case_1"].verdict, Verdict::Unchanged, "{}", times["case_1"].reason);
    assert_eq!(row.time_verdict, Some(Verdict::Unchanged));
    assert!(row.reason.ends_with("; time is unchanged"), "{}", row.reason);
    assert_eq!((counted["case_0"].verdict, counted["case_0"].time_verdict), (Verdict::Unchanged, None));
    for side in sides(&repository) {
        let case = &side.cases[1];
        // Counts that are all alike are known after the screen, others from six processes on. The time may take more.
        let (counted, processes) = (counts(case).len(), case.processes.len());
        assert!(
            (3..=6).contains(&counted) && counted <= processes && processes <= 10,
            "{counted} {processes}"
        );
        assert_eq!(case.config["count"].value, "valgrind");
    }
    ran(repository.root(), "replay").exits(1).says("more instructions");
}

#[test]
fn a_counting_process_that_crashes_leaves_the_time_a_warning_and_its_log() {
    if !has_valgrind() {
        return;
    }
    let folder = folder("cases 1\ncount crash\n", "count = \"valgrind\"");
    ran(folder.path(), "run --quiet --processes 2").exits(0);
    let record = newest(folder.path());
    let case = &record.cases[0];
    assert!(case.outcome.is_measured() && counts(case).is_empty());
    let warning =
        "its instructions are not counted: a counting process was ended by SIGABRT; its log ends in `.count`";
    assert_eq!(case.warnings, [warning]);
    let logs = walk(folder.path());
    assert_eq!(logs.iter().filter(|name| name.ends_with(".count.stderr.log")).count(), 2, "{logs:?}");
}

#[test]
fn a_harness_that_runs_no_more_for_more_time_gives_no_count() {
    if !has_valgrind() {
        return;
    }
    let folder = folder("cases 1\ncount same\n", "count = \"valgrind\"");
    ran(folder.path(), "run --quiet --processes 1").exits(0);
    let case = newest(folder.path()).cases.remove(0);
    assert!(counts(&case).is_empty() && case.warnings[0].contains("no more often for more time"), "{case:?}");
}

/// The names of all files below.
fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            names.extend(walk(&entry.path()));
        } else {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names
}

#[test]
fn where_nothing_counts_the_record_says_so_and_the_time_is_judged() {
    let nowhere = "count = \"valgrind\"\nenv = { PATH = \"/nowhere\" }";
    let repository = repository("cases 2\n", "cases 2\nslow case_9 1\n", nowhere);
    repository.compare("HEAD~1..HEAD").exits(0).says("valgrind is not on the PATH");
    let document = repository.verdict();
    assert!(of_metric(&document, "instructions").is_empty());
    assert!(of_metric(&document, "time").values().all(|row| row.verdict == Verdict::Unchanged));
    for counting in ["perf", "auto"] {
        let folder = folder("cases 1\n", &format!("count = \"{counting}\""));
        ran(folder.path(), "run --quiet --processes 1").exits(0);
        let case = newest(folder.path()).cases.remove(0);
        match instruction_counter() {
            CounterState::Works => assert_eq!(counts(&case).len(), 1),
            CounterState::Unsupported => assert!(case.warnings[0].contains("has no counters"), "{case:?}"),
            CounterState::Refused => assert!(case.warnings[0].contains("the kernel refuses"), "{case:?}"),
        }
    }
}

#[test]
fn what_cannot_be_counted_is_refused_and_in_defaults_it_means_what_can() {
    let refused = |text: &str, words: &str| {
        let folder = crate::support::tempdir().unwrap();
        std::fs::write(folder.path().join("gbench.toml"), text).unwrap();
        ran(folder.path(), "list").exits(2).says(words);
    };
    refused(
        "[[benchmark]]\nid = \"x\"\ncommand = [\"true\"]\ncount = \"perf\"",
        "`count` is for the cases of a harness",
    );
    refused(&suite("count = \"valgrin\""), "`count` cannot be `valgrin`");
    let hyperfine =
        "[[benchmark]]\nid = \"x\"\nharness = \"hyperfine\"\ncommand = [\"hyperfine\", \"true\"]\n";
    refused(&format!("{hyperfine}count = \"valgrind\""), "`count` does not work with hyperfine");
    let benchmark = |harness: &str, command: &str| {
        format!(
            "[[benchmark]]\nid = \"x\"\nharness = \"{harness}\"\ncommand = [{command}]\ncount = \"valgrind\"\n"
        )
    };
    refused(&benchmark("go-test", "\"./a.test\""), "`count` does not work with go test -bench");
    let folder = crate::support::tempdir().unwrap();
    let text =
        format!("[defaults]\ncount = \"auto\"\n[[benchmark]]\nid = \"y\"\ncommand = [\"true\"]\n{hyperfine}");
    std::fs::write(folder.path().join("gbench.toml"), text).unwrap();
    ran(folder.path(), "list").exits(0);
    // asv has words for commands of its own alone.
    std::fs::write(folder.path().join("gbench.toml"), benchmark("asv", "\"asv\", \"run\"")).unwrap();
    ran(folder.path(), "list").exits(0);
}

/// The hidden program that counts for its child, by an event that every kernel has.
#[test]
fn the_counting_process_ends_as_its_target_does_and_leaves_what_it_counted() {
    let folder = crate::support::tempdir().unwrap();
    let run = |events: &str, script: &str| {
        let mut command = gate();
        command.args(["__count"]).arg(folder.path()).args([events, "sh", "-c", script]);
        command.status().unwrap()
    };
    if run("page-faults,task-clock", "exit 7").code() == Some(127) {
        println!("SKIPPED: the kernel counts nothing here");
        return;
    }
    assert_eq!(run("page-faults", "exit 7").code(), Some(7));
    let killed = run("page-faults", "kill -TERM $$");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&killed), Some(15));
    assert_eq!(run("no-such-event", ":").code(), Some(64));
    let files = walk(folder.path());
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(text.contains("\"event\":\"page-faults\"") && text.starts_with("{\"counted\":"), "{text}");
    }
}
