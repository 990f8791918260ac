//! `report` through the binary: every format of a document made by a real comparison, and what it says to
//! those who hand it something else.

use std::path::PathBuf;

use assert_cmd::Command;
use gbench_ci::compare::{self, Policy, Reproduce, SideInput};
use gbench_ci::model::{CaseRecord, RunRecord};
use serde_json::json;

use crate::support::{folder_with, gate};

/// A record of two cases measured by five processes each; `factor` stretches the first one's times.
fn record(run_id: &str, factor: f64) -> RunRecord {
    let case = |name: &str, factor: f64| -> CaseRecord {
        let sets: Vec<_> = (0..5)
            .map(|process| {
                let center = 0.01 * factor * (1.0 + f64::from(process) * 1e-3);
                json!({"process": process, "values": [center * 0.999, center, center * 1.001]})
            })
            .collect();
        let processes: Vec<_> = (0..5)
            .map(|index| {
                json!({
                    "index": index, "started": "2026-11-21T10:01:02.345Z", "seconds": 0.5,
                    "outcome": {"status": "measured"}, "stages": [], "output_bytes": 0
                })
            })
            .collect();
        serde_json::from_value(json!({
            "id": {"benchmark": name, "timing": "protocol", "thermal": "warm"},
            "kind": "synthetic", "config": {}, "outcome": {"status": "measured"},
            "processes": processes,
            "metrics": [{"name": "time", "unit": "s", "better": "lower", "processes": sets}]
        }))
        .unwrap()
    };
    let absent = json!({"absent": "not needed here"});
    let host: serde_json::Map<_, _> = [
        "hostname",
        "os",
        "kernel",
        "cpu_model",
        "cores",
        "last_level_cache",
        "governor",
        "memory_total",
        "memory_available",
        "load",
        "container",
        "virtualization",
    ]
    .into_iter()
    .map(|name| (name.to_owned(), absent.clone()))
    .chain([("architecture".to_owned(), json!("x86_64"))])
    .collect();
    serde_json::from_value(json!({
        "schema": "gbench-ci/record/v1", "run_id": run_id,
        "tool": {"name": "gbench-ci", "version": "0.1.0"}, "state": "complete",
        "started": "2026-11-21T10:01:02.345Z", "source": {"suite": "kernels"},
        "command": ["gbench-ci", "run"], "config": {},
        "manifest": {"host": host, "gpu": absent, "git": absent, "tools": {}, "environment": {}},
        "cases": [case("kernels/gemm", factor), case("kernels/scan", 1.0)]
    }))
    .unwrap()
}

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    /// `verdict.json` of a case that became 20 % slower, and `record.json` of its head.
    fn new() -> Self {
        let (base, head) = (record("r-base", 1.0), record("r-head", 1.2));
        let side = |record, name: &str| SideInput { record, name: name.into() };
        let reproduce = Reproduce::Command("gbench-ci compare a.json b.json --sessions 0".into());
        let policy = Policy { reproduce, sessions: 0, ..Policy::default() };
        let verdict = compare::compare(&side(&base, "a.json"), &side(&head, "b.json"), &policy).unwrap();
        let files = Self { folder: crate::support::tempdir().unwrap() };
        std::fs::write(files.path("verdict.json"), serde_json::to_string(&verdict).unwrap()).unwrap();
        std::fs::write(files.path("record.json"), serde_json::to_string(&head).unwrap()).unwrap();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `report` in the folder and gives its exit code, standard output and standard error.
    fn report(&self, args: &[&str]) -> (i32, String, String) {
        let output = Command::cargo_bin("gbench-ci")
            .unwrap()
            .current_dir(&self.folder)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("COLUMNS")
            .arg("report")
            .args(args)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

#[test]
fn a_real_comparison_can_be_shown_in_every_format() {
    let files = Files::new();
    for (format, expected) in [
        ("terminal", "✗ REGRESSED"),
        ("markdown", "## ❌ REGRESSED"),
        ("json", "\"schema\": \"gbench-ci/verdict/v2\""),
        ("jsonl", "{\"name\":\"kernels/gemm\""),
        ("csv", "kernels,gemm,"),
        ("junit", "<failure"),
    ] {
        let (code, out, err) = files.report(&["verdict.json", "--format", format]);
        assert_eq!((code, err.as_str()), (0, ""), "{format}");
        assert!(out.contains(expected) && out.contains("gemm"), "{format}: {out}");
        assert!(!out.contains('\u{1b}'), "{format}");
    }
}

#[test]
fn a_record_can_be_shown_in_every_format() {
    let files = Files::new();
    for (format, expected) in [
        ("terminal", "✓ MEASURED: 2 cases measured."),
        ("markdown", "## ✅ MEASURED"),
        ("json", "\"schema\": \"gbench-ci/record/v1\""),
        ("jsonl", "{\"run_id\":\"r-head\",\"name\":\"kernels/gemm\""),
        ("csv", "r-head,kernels,gemm,"),
        ("junit", "<testcase name=\"kernels/gemm\""),
    ] {
        let (code, out, err) = files.report(&["record.json", "--format", format]);
        assert_eq!((code, err.as_str()), (0, ""), "{format}");
        assert!(out.contains(expected), "{format}: {out}");
    }
}

#[test]
fn the_documents_exit_code_is_given_where_it_is_asked_for() {
    let files = Files::new();
    assert_eq!(files.report(&["verdict.json"]).0, 0);
    assert_eq!(files.report(&["verdict.json", "--exit-code"]).0, 1);
    assert_eq!(files.report(&["record.json", "--exit-code"]).0, 0);
}

#[test]
fn a_report_can_go_to_a_file() {
    let files = Files::new();
    let (code, out, _) = files.report(&["verdict.json", "--format", "markdown", "--output", "report.md"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(std::fs::read_to_string(files.path("report.md")).unwrap().contains("REGRESSED"));
    let (code, _, err) = files.report(&["verdict.json", "--output", "no/such/folder/report.md"]);
    assert_eq!(code, 2);
    assert!(err.contains("no/such/folder/report.md"), "{err}");
}

#[test]
fn what_is_no_document_is_refused_with_a_next_step() {
    let files = Files::new();
    std::fs::write(files.path("half.json"), "{\"schema\": \"gbench-ci/verdict/v2\", ").unwrap();
    std::fs::write(files.path("bytes.json"), [0xff, 0xfe]).unwrap();
    std::fs::write(files.path("other.json"), "{\"schema\": \"other/v1\"}").unwrap();
    for (name, what) in [
        ("absent.json", "cannot be read"),
        ("half.json", "EOF while parsing"),
        ("bytes.json", "not UTF-8"),
        ("other.json", "other/v1"),
    ] {
        let (code, out, err) = files.report(&[name]);
        assert_eq!((code, out.as_str()), (2, ""), "{name}");
        assert!(err.contains(name) && err.contains(what), "{name}: {err}");
    }
}

#[test]
fn a_group_of_the_suite_file_is_ranked_in_every_human_report_and_in_the_table() {
    let folder = folder_with(
        r#"
        [defaults]
        processes = 2
        [[benchmark]]
        id = "waiter"
        group = "waiting"
        command = ["sleep", "0.01"]
        [[benchmark]]
        id = "doer"
        group = "waiting"
        command = ["true"]
        [[benchmark]]
        id = "loner"
        command = ["true"]
        "#,
    );
    let gate = |args: &[&str]| {
        let output = gate().current_dir(&folder).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let out = gate(&["run", "--quiet", "--export", "record.json"]);
    assert_eq!(out.matches("Ranking: waiting").count(), 1, "{out}");
    assert!(out.contains("BEST"), "{out}");
    let markdown = gate(&["report", "record.json", "--format", "markdown"]);
    assert!(markdown.contains("**waiting wall") && markdown.contains("**BEST**"), "{markdown}");
    let csv = gate(&["report", "record.json", "--format", "csv"]);
    let ranked = csv.lines().filter(|line| line.contains(",waiting,1,") || line.contains(",waiting,2,"));
    assert_eq!(ranked.count(), 4, "{csv}");
}
