//! Files that outlive a run: its fingerprint, its export, and the verdict that carries its own evidence.

use std::path::Path;
use std::process::{Command, Output};

use gbench_ci::compare::{Policy, SideInput, VerdictDocument, compare};
use gbench_ci::model::{Documented, RunRecord};
use serde::de::DeserializeOwned;

use crate::support::{fixture, folder_with};

const SUITE: &str = r#"
suite.name = "kernels"
[defaults]
processes = 1
[[benchmark]]
id = "nothing"
command = ["true"]
"#;

fn gate(folder: &Path, args: &[&str]) -> Output {
    crate::support::gate().current_dir(folder).args(args).output().unwrap()
}

fn document<T: DeserializeOwned>(path: &Path) -> T {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names in a folder, sorted.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_record_has_a_fingerprint_and_its_export_the_runs_name() {
    let folder = folder_with(SUITE);
    let folder = folder.path();
    let output = gate(folder, &["run", "--quiet", "--export", "{suite}-{run_id}.json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");

    let run = &names_in(&folder.join("artifacts"))[1..];
    let [run] = run else { panic!("one run beside .gitignore: {run:?}") };
    let results = folder.join("artifacts").join(run).join("results");
    assert_eq!(names_in(&results), ["SHA256SUMS", "record.json"]);
    let check = |folder: &Path| {
        let sums = Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(folder).output();
        sums.unwrap().status.success()
    };
    assert!(check(&results));
    let exported: RunRecord = document(&folder.join(format!("kernels-{run}.json")));
    assert_eq!(exported, document(&results.join("record.json")));

    std::fs::write(results.join("record.json"), "{}").unwrap();
    assert!(!check(&results));
}

#[test]
fn an_unknown_placeholder_is_refused_before_anything_is_measured() {
    let folder = folder_with(SUITE);
    let output = gate(folder.path(), &["run", "--export", "{date}.json"]);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("`{date}` is not a placeholder") && err.contains("{run_id}"), "{err}");
    assert!(!folder.path().join("artifacts").exists());
}

#[test]
fn an_embedding_verdict_carries_both_records_whole() {
    let folder = crate::support::tempdir().unwrap();
    let [base, head] = ["base.json", "head.json"].map(|name| {
        let from = fixture("comparisons/slower20").join(name);
        std::fs::copy(&from, folder.path().join(name)).unwrap();
        document::<RunRecord>(&from)
    });
    let args = ["compare", "base.json", "head.json", "--json", "verdict.json"];
    let plain = gate(folder.path(), &args);
    let without: VerdictDocument = document(&folder.path().join("verdict.json"));
    let embedding = gate(folder.path(), &[&args[..], &["--embed"]].concat());
    let mut with: VerdictDocument = document(&folder.path().join("verdict.json"));
    assert_eq!((plain.status.code(), embedding.status.code()), (Some(3), Some(3)), "{embedding:?}");
    assert_eq!(plain.stdout, embedding.stdout);

    let schema = jsonschema::validator_for(&VerdictDocument::schema()).unwrap();
    assert!(schema.is_valid(&document(&folder.path().join("verdict.json"))));
    let records = with.records.take().unwrap();
    assert_eq!((&records.base, &records.head), (&base, &head));
    assert_eq!(with, without);
    // The evidence suffices to decide again.
    let side = |record, name: &str| SideInput { record, name: name.into() };
    let again = compare(&side(&records.base, "a"), &side(&records.head, "b"), &Policy::default()).unwrap();
    assert_eq!(again.rows, with.rows);
}

#[test]
fn embedding_into_nothing_is_refused() {
    let output = gate(&fixture("comparisons/slower20"), &["compare", "base.json", "head.json", "--embed"]);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("--embed") && err.contains("--json FILE"), "{err}");
}

/// The journal once held each case whole, again and again.
#[test]
fn a_journal_of_whole_cases_is_read() {
    let whole = crate::support::records::standard(1);
    let mut header = whole.clone();
    header.cases.iter_mut().for_each(|case| (case.processes, case.metrics) = Default::default());
    let mut half = whole.cases[0].clone();
    half.processes.truncate(1);
    let mut lines = vec![serde_json::json!({ "header": header })];
    for (index, case) in [(0, &half), (0, &whole.cases[0]), (1, &whole.cases[1])] {
        lines.push(serde_json::json!({ "case": { "index": index, "case": case } }));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let read = gbench_ci::store::read_record(file.path()).unwrap();
    assert_eq!(read.cases[..2], whole.cases[..2]);
    assert!(read.cases[2].processes.is_empty());
}
