//! `gbench-ci calibrate` from a real folder to the kept file and its use. The processes are real; their times are made up
//! from how many of their case there were before, so that the machine does not matter.

use std::path::Path;

use gbench_ci::compare::{Calibration, Readiness};
use tempfile::TempDir;

use crate::support::cli::{Ran, ran};
use crate::support::git::Sandbox;

/// `$1` is the case, `$2` how much its processes differ. The count of its processes is kept in the temporary folder that
/// the suite's file `state` names.
const BENCH: &str = r#"
set -eu
read -r state < state
echo >> "$state/$1"
nth=0
while read -r _; do nth=$((nth + 1)); done < "$state/$1"
exec awk -v nth="$nth" -v noise="$2" 'BEGIN {
    srand(nth * 7919); for (i = 0; i < 20; i++) rand()
    time = 0.001 * (1 + noise * (rand() + rand() + rand() - 1.5))
    for (i = 0; i < 12; i++) printf "time: %.12f\n", time * (1 + 0.001 * rand())
}'
"#;

fn case(name: &str, noise: &str) -> String {
    format!(
        "[[benchmark]]\nid = \"{name}\"\ncommand = [\"sh\", \"bench.sh\", \"{name}\", \"{noise}\"]\n\
         extract = [{{ metric = \"time\", unit = \"s\", regex = 'time: ([0-9.]+)' }}]\n"
    )
}

fn failing(name: &str) -> String {
    format!("[[benchmark]]\nid = \"{name}\"\ncommand = [\"sh\", \"-c\", \"exit 7\"]\n")
}

fn write(folder: &Path, state: &Path, cases: &[String]) {
    std::fs::write(folder.join("bench.sh"), BENCH).unwrap();
    std::fs::write(folder.join("state"), format!("{}\n", state.display())).unwrap();
    std::fs::write(folder.join("gbench.toml"), format!("[suite]\nname = \"s\"\n{}", cases.concat())).unwrap();
}

/// A folder with a suite and one for its counts.
fn folder(cases: &[String]) -> (TempDir, TempDir) {
    let (folder, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(folder.path(), state.path(), cases);
    (folder, state)
}

fn calibrate(folder: &Path, line: &str) -> Ran {
    ran(folder, &format!("calibrate --no-planted --order-seed 5 {line}"))
}

fn kept(folder: &Path) -> Calibration {
    let text = std::fs::read_to_string(folder.join(".gbench/calibration.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_suite_is_calibrated_kept_and_its_records_stay() {
    let (folder, _state) = folder(&[case("quiet", "0.004"), case("wild", "0.5")]);
    let ran = calibrate(folder.path(), "--quiet").exits(0);
    let ran = ran
        .says("2 rows: 1 ready, 1 hopeless")
        .says("lies between processes")
        .says("keep it out of the gate");
    assert!(ran.err.is_empty(), "{}", ran.err);
    let it = kept(folder.path());
    let readiness: Vec<_> = it.rows.iter().map(|row| row.readiness).collect();
    assert_eq!(readiness, [Readiness::Ready, Readiness::Hopeless]);
    assert!(it.rows.iter().all(|row| row.rounds == 12 && row.seconds_per_round > 0.0));
    assert!(it.rows[1].noise.as_ref().unwrap().parts.as_ref().unwrap().between > 0.9);
    assert!(it.machine.contains_key("cpu_model"), "{:?}", it.machine);
    assert_eq!((it.false_alarms.flipped.suites, it.false_alarms.drawn.suites), (1000, 1000));
    let records = folder.path().join("artifacts/calibrations").join(it.comparison.as_str());
    crate::support::cli::ran(folder.path(), &format!("replay {}", records.display())).exits(0);
    // What was calibrated is no comparison that one would go on with.
    crate::support::cli::ran(folder.path(), "replay").exits(2);
}

#[test]
fn json_goes_to_standard_output_alone_and_to_a_file() {
    let (folder, _state) = folder(&[case("quiet", "0.004")]);
    let ran = calibrate(folder.path(), "--rounds 4 --format json --json copy.json").exits(0);
    let printed: Calibration = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(printed, kept(folder.path()));
    assert_eq!(printed.rounds, 4);
    assert_eq!(std::fs::read_to_string(folder.path().join("copy.json")).unwrap(), ran.out);
}

#[test]
fn what_fails_is_never_green() {
    let (all, _state) = folder(&[failing("one"), failing("two")]);
    calibrate(all.path(), "").exits(4).says("NOTHING MEASURED").says("exit code 7");
    assert!(!all.path().join(".gbench/calibration.json").exists());
    let (some, _state) = folder(&[failing("one"), case("quiet", "0.004")]);
    calibrate(some.path(), "").exits(4).says("IN PART").says("s/one: failed");
    assert_eq!(kept(some.path()).rows.len(), 1);
    assert_eq!(kept(some.path()).unmeasured.len(), 1);
}

#[test]
fn a_budget_that_is_over_leaves_no_figures_and_says_so() {
    let (folder, _state) = folder(&[case("quiet", "0.004"), case("other", "0.004")]);
    let ran = calibrate(folder.path(), "--budget 1ms").exits(4).says("NOTHING MEASURED");
    let ran = ran.says("not tried, for no row has the rounds");
    // The budget is over after the first round, or before it.
    let words = ["give more rounds", "the rounds were over before its first"];
    assert!(words.iter().any(|words| ran.out.contains(words)), "{}", ran.out);
    assert!(!folder.path().join(".gbench/calibration.json").exists());
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let (folder, _state) = folder(&[case("quiet", "0.004")]);
    for (line, says) in [
        ("--rounds 3", "4..=1000"),
        ("--budget soon", "--budget"),
        ("--benchmark nothing", "nothing"),
        ("--store s3:x", "is not an address of a store"),
        ("--json /nowhere/x.json", "its folder is not there"),
        ("--format pdf", "pdf"),
    ] {
        calibrate(folder.path(), line).exits(2).says(says);
    }
    assert!(!folder.path().join("artifacts").exists());
}

/// Whether it is found is the machine's word; that it is tried, and what follows, is not.
#[test]
fn the_planted_slowdown_is_measured_for_real() {
    let (folder, _state) = folder(&[case("quiet", "0.004")]);
    let ran = ran(folder.path(), "calibrate --rounds 4 --coin 5 --quiet");
    let control = kept(folder.path()).control.expect("a control");
    assert_eq!(ran.code, i32::from(control.is_missed()), "{}", ran.out);
    assert!(control.rounds >= 4 && (control.planted - 0.05).abs() < 1e-12, "{control:?}");
    ran.says("for real: a built-in workload with 5 % more work");
}

#[test]
fn a_comparison_reads_what_it_will_cost_and_which_cases_are_hopeless() {
    let sandbox = Sandbox::new();
    let state = TempDir::new().unwrap();
    let cases = [case("quiet", "0.004"), case("wild", "0.5")];
    write(&sandbox.root(), state.path(), &cases);
    sandbox.commit(&[("note", "one")]);
    sandbox.commit(&[("note", "two")]);
    calibrate(&sandbox.root(), "").exits(0);
    let compare = || ran(&sandbox.root(), "compare HEAD~1..HEAD --rounds 5 --controls 0 --order-seed 1");
    let compared =
        compare().says("by the calibration of 2").says("to screen, about").says("hopeless here: s/wild time");
    assert!(!compared.err.contains("the time is known after the first"), "{}", compared.err);

    let path = sandbox.root().join(".gbench/calibration.json");
    let mut it = kept(&sandbox.root());
    // Earlier versions did not record the host.
    it.machine.remove("host");
    it.unknown.retain(|field| field != "host");
    std::fs::write(&path, serde_json::to_string(&it).unwrap()).unwrap();
    compare().says("hopeless here: s/wild time");
    it.machine.insert("cpu_model".into(), "another one".into());
    std::fs::write(&path, serde_json::to_string(&it).unwrap()).unwrap();
    let other = compare().says("is ignored: it is of another machine (cpu_model: another one there");
    assert!(!other.err.contains("hopeless here"), "{}", other.err);

    std::fs::write(&path, "{}").unwrap();
    compare().says("is ignored: it cannot be read").says("the time is known after the first");
}
