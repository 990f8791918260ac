//! `compare` across sessions, as a user meets it: too little history, enough of it, and a release as an anchor.

use std::path::Path;

use gbench_ci::model::RunRecord;
use serde_json::Value;

use crate::support::cli::{ran, write};
use crate::support::records::{Planned, build, noise, plan, scale};

const CASES: [Planned; 6] = [
    plan("s/parse", 0, "host", "time", "s", 1e-3, 0.002),
    plan("s/sort", 0, "host", "time", "s", 2e-3, 0.002),
    plan("s/hash", 0, "host", "time", "s", 3e-3, 0.002),
    plan("s/copy", 0, "host", "time", "s", 4e-3, 0.002),
    plan("s/sum", 0, "host", "time", "s", 5e-3, 0.002),
    plan("s/scan", 0, "host", "bandwidth", "GB/s", 20.0, 0.002),
];

/// The run of a session, all of whose figures moved by a third of a percent or so, and `factor` more.
fn session(number: u32, factor: f64) -> RunRecord {
    let mut record = build(number, &CASES);
    for (index, case) in CASES.iter().enumerate() {
        let factor = if case.unit == "s" { factor } else { 1.0 / factor };
        scale(&mut record, case.benchmark, factor * (0.003 * noise([number, index as u32, 5, 5])).exp());
    }
    record
}

/// A folder with the sessions `numbers` stored as `main`, and the next one as `head.json`.
fn stored(numbers: std::ops::RangeInclusive<u32>, factor: f64) -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    let path = folder.path();
    for number in numbers.clone() {
        save(path, "main", &session(number, 1.0));
    }
    write(path, "head.json", &session(numbers.end() + 1, factor));
    folder
}

fn save(folder: &Path, name: &str, record: &RunRecord) {
    write(folder, "saved.json", record);
    ran(folder, &format!("baseline save {name} saved.json")).exits(0);
}

fn verdict(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn too_little_history_is_said_with_what_would_help_and_is_not_green() {
    let folder = stored(1..=2, 1.0);
    let short = ran(folder.path(), "compare main head.json").exits(3);
    let short =
        short.says("there are 2 stored sessions to show how much this benchmark differs between sessions");
    let short = short.says("save 2 more runs: `gbench-ci baseline save NAME`").says("`--sessions 0`");
    short.says("Rule process-session").says("2 stored runs");
    ran(folder.path(), "compare main head.json --sessions 2").exits(0).says("6 unchanged");
    let alone = ran(folder.path(), "compare main head.json --sessions 0").exits(0);
    alone.says("Rule process-welch-holm-4").says("head.json --sessions 0");

    std::fs::write(
        folder.path().join("gbench.toml"),
        "[gate]\nsessions = 2\n[[benchmark]]\nid = 'x'\ncommand = ['true']\n",
    )
    .unwrap();
    ran(folder.path(), "compare main head.json").exits(0);
    ran(folder.path(), "config show").exits(0).says("gate.sessions");
}

#[test]
fn with_enough_history_an_unchanged_head_passes_and_a_slower_one_does_not() {
    let folder = stored(1..=6, 1.0);
    ran(folder.path(), "compare main head.json").exits(0).says("6 unchanged").says("6 stored runs");
    let slower = stored(1..=6, 1.09);
    ran(slower.path(), "compare main head.json").exits(1).says("6 of 6 cases regressed");
    // A verdict that stands alone holds the past that it rests on.
    ran(slower.path(), "compare main head.json --embed --json verdict.json").exits(1);
    let history = &verdict(slower.path(), "verdict.json")["records"]["history"];
    assert_eq!((&history["runs"], history["pasts"].as_array().unwrap().len()), (&6.into(), 6));
    // The history is that of the machine, whichever record is the base.
    write(folder.path(), "base.json", &session(40, 1.0));
    ran(folder.path(), "compare base.json head.json").exits(0);
}

#[test]
fn a_stored_record_that_cannot_be_read_is_named_and_is_no_history() {
    let folder = stored(1..=5, 1.0);
    let broken = folder.path().join(".gbench/baselines/main/20261121T090000.000Z-00beef.json");
    std::fs::write(broken, "{").unwrap();
    ran(folder.path(), "compare main head.json").exits(0).says("is not part of the history");
}

#[test]
fn steps_that_are_each_too_small_to_matter_are_red_against_the_release() {
    let folder = crate::support::tempdir().unwrap();
    let path = folder.path();
    save(path, "v1.2", &session(1, 1.0));
    // Three commits of the branch and the head itself cost 3.5 % each, below the threshold of 5 %.
    for (number, steps) in (2..=9).zip([0, 0, 1, 1, 1, 2, 2, 3]) {
        save(path, "main", &session(number, 1.035_f64.powi(steps)));
    }
    write(path, "head.json", &session(10, 1.035_f64.powi(4)));
    let files = "--json verdict.json --markdown report.md";
    ran(path, &format!("compare main head.json {files}")).says("Nothing could be decided");
    assert_eq!(verdict(path, "verdict.json")["counts"]["regressed"], 0);

    let both = ran(path, &format!("compare main head.json --anchor v1.2 {files}")).exits(1);
    let both = both.says("Against the anchor v1.2").says("6 of 6 cases regressed");
    both.says("exit code 1:").says("1 against the anchor v1.2");
    assert_eq!(verdict(path, "verdict.json")["counts"]["regressed"], 0);
    let anchored = verdict(path, "anchor.verdict.json");
    assert_eq!((&anchored["exit_code"], &anchored["base"]["name"]), (&1.into(), &"v1.2".into()));
    let report = std::fs::read_to_string(path.join("anchor.report.md")).unwrap();
    assert!(report.contains("v1.2"), "{report}");
    // The anchor's own line says how to see it alone again.
    let alone = anchored["reproduce"].as_str().unwrap().strip_prefix("gbench-ci ").unwrap();
    ran(path, alone).exits(1);

    ran(path, "compare main head.json --anchor v9").exits(2).says("no such baseline");
    ran(path, "compare main head.json --anchor v1.2 --format json").exits(2).says("--json FILE");
}

#[test]
fn a_fresh_run_is_judged_against_the_anchor_too_and_both_reports_lie_beside_its_record() {
    let suite = "[suite]\nname = 's'\n[defaults]\ntiming = 'protocol'\n[gate]\nsessions = 0\n\
                 [[benchmark]]\nid = 'parse'\ncommand = ['./child', 'ok', '0.1']\n";
    let folder = crate::support::folder_with(suite);
    let path = folder.path();
    for name in ["v1.2", "main"] {
        ran(path, "run --quiet").exits(0);
        ran(path, &format!("baseline save {name} --busy")).exits(0);
    }
    // A factor of ten is no noise on any machine.
    ran(path, "compare main --quiet --anchor v1.2 --threshold 900%").exits(0).says("anchor.verdict.json");
    let reports = crate::support::cli::runs(path).pop().unwrap().join("reports");
    for name in ["verdict.json", "anchor.verdict.json", "anchor.verdict.md", "anchor.verdict.junit.xml"] {
        assert!(reports.join(name).exists(), "{name}");
    }
}
