//! Every record under `fixtures/errors_records` is refused with where, what and what next, by each command that
//! reads records. The snapshots hold what a user sees.

use std::path::Path;

use crate::support::cli::{Ran, ran};
use crate::support::{fixture, gbench};

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots/records");
    settings.set_omit_expression(true);
    settings
}

/// What must hold of every refusal.
fn check(name: &str, ran: &Ran) {
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{name}: {}", ran.err);
    assert!(ran.err.contains("error: ") && ran.err.contains("next: "), "{name}: {}", ran.err);
    for line in ran.err.lines() {
        assert!(line.chars().count() <= 80, "{name} is wider than 80 columns: {line}");
    }
}

#[test]
fn every_bad_record_is_refused_by_compare_and_by_report() {
    let folder = fixture("errors_records");
    let good = "../comparisons/same/base.json";
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    names.sort();
    assert!(names.len() >= 20, "{names:?}");

    let _bound = settings().bind_to_scope();
    for name in names {
        let compared = ran(&folder, &format!("compare {name} {good}"));
        let reported = ran(&folder, &format!("report {name}"));
        check(&name, &compared);
        check(&name, &reported);
        // The other place is checked as well, before anything is compared.
        assert_eq!(ran(&folder, &format!("compare {good} {name}")).err, compared.err, "{name}");
        let stem = name.trim_end_matches(".json");
        insta::assert_snapshot!(
            stem,
            format!("$ compare {name} GOOD\n{}\n$ report {name}\n{}", compared.err, reported.err)
        );
    }
}

/// A folder with one of everything that is no record.
fn confusion() -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("hollow")).unwrap();
    write("gbench.toml", "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"a\"\ncommand = [\"true\"]\n");
    write("empty.jsonl", "");
    write("damaged.jsonl", "{\"header\": 1}\n{}\n");
    let record = fixture("comparisons/same/base.json");
    std::fs::copy(record, folder.path().join("record.json")).unwrap();
    let verdict = ran(folder.path(), "compare record.json record.json --json verdict.json");
    assert_eq!(verdict.code, 0, "{}", verdict.err);
    folder
}

#[test]
fn what_is_confused_with_a_record_is_told_apart() {
    let folder = confusion();
    let _bound = settings().bind_to_scope();
    for (name, line) in [
        ("a_suite_file_for_a_record", "compare ./gbench.toml record.json"),
        ("a_verdict_for_a_record", "compare verdict.json record.json"),
        ("a_folder_without_a_run", "compare ./hollow record.json"),
        ("a_report_of_a_folder_without_a_run", "report hollow"),
        ("a_file_that_is_not_there", "compare ./nothing.json record.json"),
        ("a_report_of_a_suite_file", "report gbench.toml"),
        ("a_report_of_nothing", "report nothing.json"),
        ("a_journal_without_a_line", "report empty.jsonl"),
        ("a_journal_that_is_damaged", "compare damaged.jsonl record.json"),
        ("a_journal_that_is_not_there", "report nothing.jsonl"),
        ("a_record_for_a_suite_file", "list --config record.json"),
        ("a_saved_verdict", "baseline save main verdict.json"),
        ("a_manifest_of_nothing", "manifest diff hollow record.json"),
    ] {
        let ran = ran(folder.path(), line);
        check(line, &ran);
        insta::assert_snapshot!(name, format!("$ {line}\n{}", ran.err));
    }
}

#[test]
fn a_record_can_be_shown_by_the_folder_of_its_run() {
    let folder = crate::support::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("results")).unwrap();
    let record = fixture("comparisons/same/base.json");
    std::fs::copy(&record, folder.path().join("results/record.json")).unwrap();
    let by_folder = ran(folder.path(), "report .").exits(0);
    let by_file = ran(folder.path(), "report results/record.json").exits(0);
    assert_eq!(by_folder.out, by_file.out);
    ran(folder.path(), "compare . results/record.json").exits(0);
}

#[test]
fn a_reader_who_leaves_early_is_no_error() {
    let line = format!("{} report --all same/base.json | head -n 1", gbench().display());
    let folder = fixture("comparisons");
    let output = shell(&folder, &format!("set -o pipefail; {line}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
    let output = shell(&folder, &format!("{} schema record > /dev/full", gbench().display()));
    assert_eq!(output.status.code(), Some(5), "a full disk is the machine's");
}

fn shell(folder: &Path, line: &str) -> std::process::Output {
    std::process::Command::new("bash").args(["-c", line]).current_dir(folder).output().unwrap()
}
