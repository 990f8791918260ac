//! `compare` on records of real runs: the same program measured by the ordinary path, its samples then set to
//! values that leave no doubt, so that the verdict can be told beforehand.

use std::path::Path;

use gbench_ci::model::{Exit, Probe, RunRecord};
use serde_json::Value;

use crate::support::cli::{Ran, newest, ran, runs, write};
use crate::support::{folder_with, records};

const SUITE: &str = r#"
[suite]
name = "s"
[defaults]
processes = 5
timing = "protocol"
[[benchmark]]
id = "parse"
command = ["./child", "ok", "0.1"]
[[benchmark]]
id = "sort"
command = ["./child", "ok", "0.1"]
"#;

/// A folder with the record of a real run as `base.json`, and that record.
fn measured() -> (tempfile::TempDir, RunRecord) {
    let folder = folder_with(SUITE);
    ran(folder.path(), "run --quiet").exits(0);
    let mut record = newest(folder.path());
    for (index, case) in record.cases.iter_mut().enumerate() {
        for process in &mut case.metrics[0].processes {
            // A tenth of a percent between processes, and as much between samples.
            let centre = (index + 1) as f64 * 1e-3 * (1.0 + 1e-3 * f64::from(process.process % 3));
            process
                .values
                .iter_mut()
                .enumerate()
                .for_each(|(i, value)| *value = centre * (1.0 + 1e-3 * i as f64));
        }
    }
    record.manifest.gpu = records::manifest().gpu;
    write(folder.path(), "base.json", &record);
    (folder, record)
}

/// The record as another run wrote it, with a change, as `head.json`, compared with the base.
fn compared(folder: &Path, record: &RunRecord, change: impl Fn(&mut RunRecord), flags: &str) -> (Ran, Value) {
    let mut head = record.clone();
    head.run_id = "20301121T100100.000Z-00beef".parse().unwrap();
    change(&mut head);
    write(folder, "head.json", &head);
    let ran = ran(folder, &format!("compare base.json head.json --json verdict.json {flags}"));
    let verdict = std::fs::read_to_string(folder.join("verdict.json")).unwrap();
    (ran, serde_json::from_str(&verdict).unwrap())
}

fn scale(record: &mut RunRecord, benchmark: &str, factor: f64) {
    let case = records::case_of(record, benchmark);
    let processes = case.metrics.iter_mut().flat_map(|metric| &mut metric.processes);
    processes.flat_map(|process| &mut process.values).for_each(|value| *value *= factor);
}

fn verdict_of<'a>(verdict: &'a Value, benchmark: &str) -> &'a str {
    let rows = verdict["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["case"]["benchmark"] == benchmark);
    row.unwrap_or_else(|| panic!("no row of {benchmark}: {verdict}"))["verdict"].as_str().unwrap()
}

#[test]
fn a_record_compared_with_itself_is_unchanged_in_every_row() {
    let (folder, _) = measured();
    let ran = ran(folder.path(), "compare base.json base.json --json verdict.json").exits(0);
    let verdict: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("verdict.json")).unwrap()).unwrap();
    assert_eq!((verdict_of(&verdict, "s/parse"), verdict_of(&verdict, "s/sort")), ("unchanged", "unchanged"));
    ran.says("was compared with itself");
}

#[test]
fn slower_fails_and_is_named_and_faster_passes() {
    let (folder, record) = measured();
    let alone = "--sessions 0";
    let (slower, verdict) = compared(folder.path(), &record, |head| scale(head, "s/sort", 1.2), alone);
    slower.exits(1).says("REGRESSED").says("s/sort");
    assert_eq!((verdict_of(&verdict, "s/parse"), verdict_of(&verdict, "s/sort")), ("unchanged", "regressed"));
    assert_eq!(verdict["exit_code"], 1);

    let (faster, verdict) = compared(folder.path(), &record, |head| scale(head, "s/sort", 0.8), alone);
    faster.exits(0).says("1 improved");
    assert_eq!(verdict_of(&verdict, "s/sort"), "improved");
}

#[test]
fn a_threshold_on_the_command_line_decides_what_matters() {
    let (folder, record) = measured();
    let slower = |head: &mut RunRecord| scale(head, "s/sort", 1.2);
    let (ran, verdict) = compared(folder.path(), &record, slower, "--threshold 50% --sessions 0");
    ran.exits(0).says("--sessions 0 --threshold 0.5");
    assert_eq!(verdict_of(&verdict, "s/sort"), "unchanged");
}

#[test]
fn a_case_that_is_gone_and_a_case_that_came_are_verdicts_of_their_own() {
    let (folder, record) = measured();
    let (ran, verdict) = compared(folder.path(), &record, |head| drop(head.cases.remove(1)), "");
    ran.exits(4).says("s/sort");
    assert_eq!(verdict_of(&verdict, "s/sort"), "missing");
    let rename = |head: &mut RunRecord| head.cases[1].id.benchmark = "s/other".parse().unwrap();
    let (ran, verdict) = compared(folder.path(), &record, rename, "");
    ran.exits(4);
    assert_eq!((verdict_of(&verdict, "s/sort"), verdict_of(&verdict, "s/other")), ("missing", "new"));
}

#[test]
fn another_gpu_is_refused_and_named() {
    let (folder, record) = measured();
    let other = |head: &mut RunRecord| {
        let Probe::Known(gpu) = &mut head.manifest.gpu else { unreachable!("set above") };
        gpu.devices[0].model = Probe::Known("NVIDIA L4".into());
    };
    let (ran, verdict) = compared(folder.path(), &record, other, "");
    ran.exits(5).says("gpu_models").says("NVIDIA L4");
    assert_eq!(verdict["exit_code"], Exit::Machine.code());
    assert_eq!(verdict["rows"], Value::Array(Vec::new()), "nothing is compared across machines");

    let relaxed = format!("{SUITE}[gate.match]\ngpu_models = 'annotate'\n");
    std::fs::write(folder.path().join("gbench.toml"), relaxed).unwrap();
    let (ran, _) = compared(folder.path(), &record, other, "--sessions 0");
    ran.exits(0).says("gpu_models");
}

#[test]
fn b2_another_host_of_the_same_model_is_refused_unless_the_suite_declares_a_pool() {
    let (folder, record) = measured();
    let other = |head: &mut RunRecord| {
        let Probe::Known(gpu) = &mut head.manifest.gpu else { unreachable!("set above") };
        gpu.devices[0].uuid = Probe::Known("GPU-of-another-host".into());
        scale(head, "s/sort", 1.385);
    };
    let (ran, verdict) = compared(folder.path(), &record, other, "--sessions 0");
    ran.exits(5).says("host").says("host = \"annotate\"");
    assert_eq!(verdict["rows"], Value::Array(Vec::new()), "nothing is compared across machines");
    let pool = format!("{SUITE}[gate.match]\nhost = 'annotate'\n");
    std::fs::write(folder.path().join("gbench.toml"), pool).unwrap();
    let (ran, verdict) = compared(folder.path(), &record, other, "");
    ran.exits(3).says("base and head ran on two hosts of a pool, and only 0 of the 4 stored runs");
    assert_eq!(verdict["rows"][0]["why"]["code"], "two-hosts");
    // A record that does not know its host is of an older version.
    std::fs::write(folder.path().join("gbench.toml"), SUITE).unwrap();
    let unknown = |head: &mut RunRecord| {
        let Probe::Known(gpu) = &mut head.manifest.gpu else { unreachable!("set above") };
        gpu.devices[0].uuid = Probe::Failed("not asked for".into());
        head.manifest.host.container = Probe::Known("docker".into());
    };
    let (ran, _) = compared(folder.path(), &record, unknown, "--sessions 0");
    ran.exits(0).says("host");
}

#[test]
fn a_baseline_is_compared_with_a_fresh_run_and_the_reports_lie_beside_its_record() {
    let folder = folder_with(SUITE);
    let path = folder.path();
    ran(path, "run --quiet").exits(0);
    ran(path, "baseline save main --busy").exits(0).says("2 measured cases");
    // A factor of ten is no noise on any machine.
    let fresh =
        ran(path, "compare main --quiet --threshold 900% --sessions 0").exits(0).says("head this run");
    let run = runs(path).pop().unwrap();
    for name in ["verdict.json", "verdict.md", "verdict.csv", "verdict.junit.xml", "summary.md"] {
        assert!(run.join("reports").join(name).exists(), "{name}");
    }
    let (_, again) = fresh.out.split_once("Compare again with\n").unwrap();
    let line = again.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let line = line.replace(" \\ ", " ");
    let (gate, line) = line.trim().split_once(' ').unwrap();
    assert_eq!(gate, "gbench-ci");
    ran(path, line).exits(0);
    assert_eq!(runs(path).len(), 2, "comparing again measures nothing");
}

#[test]
fn a_baseline_that_is_not_there_costs_no_run_and_its_neighbours_are_named() {
    let folder = folder_with(SUITE);
    let path = folder.path();
    ran(path, "compare main").exits(2).says("save one first");
    assert!(!path.join("artifacts").exists());
    ran(path, "run --quiet").exits(0);
    ran(path, "baseline save release-1 --busy").exits(0);
    ran(path, "compare main").exits(2).says("use one of: release-1");
    ran(path, "compare release-1 --json nowhere/v.json").exits(2).says("its folder is not there");
    assert_eq!(runs(path).len(), 1);
}

#[test]
fn a_stray_file_does_not_hide_the_baseline_of_its_name() {
    let folder = folder_with(SUITE);
    let path = folder.path();
    ran(path, "run --quiet").exits(0);
    ran(path, "baseline save main --busy").exits(0);
    std::fs::write(path.join("main"), "int main() {}").unwrap();
    let run = runs(path).pop().unwrap();
    let run = run.strip_prefix(path).unwrap().display().to_string();
    ran(path, &format!("compare main {run}")).exits(0);
    ran(path, &format!("compare ./main {run}")).exits(2).says("not a record");
}

#[test]
fn a_selection_leaves_out_on_both_sides_what_the_suite_still_has() {
    let (folder, record) = measured();
    let path = folder.path();
    write(path, "head.json", &record);
    let picked = ran(path, "compare base.json head.json --benchmark sort --json verdict.json").exits(0);
    let (reproduce, _) = picked.out.split_once("Warnings").unwrap();
    assert!(reproduce.contains("--benchmark sort"), "{}", picked.out);
    picked.says("1 of its 2 cases are outside the selection").says("1 row: 1 unchanged");
    // The newest run, as this machine is.
    ran(path, "baseline save main --busy").exits(0);
    ran(path, "compare main --quiet --benchmark sort --threshold 900%")
        .says("1 of its 2 cases are outside the selection");

    let (gone, _) = SUITE.split_once("[[benchmark]]\nid = \"sort\"").unwrap();
    std::fs::write(path.join("gbench.toml"), gone).unwrap();
    // Two records are narrowed by what stands in them, wherever their suite file is.
    ran(path, "compare base.json head.json --benchmark parse").says("1 row: 1 unchanged");
    ran(path, "compare main --quiet --benchmark parse").exits(4).says("s/sort");
}

#[test]
fn settings_of_a_measurement_are_refused_where_nothing_is_measured() {
    let (folder, _) = measured();
    ran(folder.path(), "compare base.json base.json --processes 9").exits(2).says("measured already");
}

#[test]
fn flags_that_mean_nothing_between_commits_are_refused_rather_than_passed_over() {
    let folder = crate::support::tempdir().unwrap();
    for flag in ["--processes 3", "--sessions 3", "--anchor v1.2", "--embed"] {
        let name = flag.split(' ').next().unwrap();
        let refused = ran(folder.path(), &format!("compare HEAD~1..HEAD {flag}")).exits(2);
        refused.says(&format!("{name}: it has no meaning between commits"));
    }
}
