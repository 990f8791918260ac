//! Numbers from a program's output: what one rule finds is one metric, or the process has failed with the rule to write.

use gbench_ci::model::{FailureKind, Outcome, RunRecord};

use crate::support::cli::{Ran, newest, ran};

/// Runs one benchmark that prints `output`, of which `rule` is extracted.
fn run(output: &str, rule: &str) -> (Ran, RunRecord) {
    let folder = crate::support::tempdir().unwrap();
    std::fs::write(folder.path().join("output"), output).unwrap();
    let suite = format!(
        "[[benchmark]]\nid = \"x\"\nshell = \"cat output\"\nprocesses = 2\n\
         [[benchmark.extract]]\nmetric = \"time\"\nunit = \"s\"\n{rule}\n"
    );
    std::fs::write(folder.path().join("gbench.toml"), suite).unwrap();
    let ran = ran(folder.path(), "run --quiet");
    let record = newest(folder.path());
    (ran, record)
}

/// As hyperfine writes two commands.
const TWO: &str = r#"{"results": [
    {"command": "./old", "mean": 2.0, "stddev": 0.1, "times": [1.9, 2.1], "exit_codes": [0, 0]},
    {"command": "./new", "mean": 1.0, "stddev": 0.1, "times": [0.9, 1.1], "exit_codes": [0, 0]}]}"#;

#[test]
fn n28_a_path_over_a_whole_list_fails_with_the_path_to_write() {
    let (ran, record) = run(TWO, "json = \"$.results[*].times[*]\"");
    let ran = ran.exits(4).says("matches entries with different values of `command`: `./old` and `./new`");
    ran.says("$.results[?@.command == './old'].times[*]");
    let kind = |outcome: &Outcome| match outcome {
        Outcome::Failed { kind, .. } => Some(*kind),
        _ => None,
    };
    assert_eq!(kind(&record.cases[0].outcome), Some(FailureKind::Extraction));
    let (ran, record) = run(TWO, "json = \"$.results[?@.command == './old'].times[*]\"");
    ran.exits(0);
    assert_eq!(record.cases[0].metrics[0].processes[0].values, [1.9, 2.1]);
}

#[test]
fn n28_a_command_that_failed_is_not_measured_in_no_time() {
    let failing =
        r#"{"results": [{"command": "false", "mean": 0.0, "times": [0.0, 0.0], "exit_codes": [1, 1]}]}"#;
    run(failing, "json = \"$.results[0].mean\"").0.exits(4).says("ended with exit code 1");
    // Without the codes the time itself gives it away.
    let bare = r#"{"results": [{"command": "false", "mean": 0.0}]}"#;
    let (ran, record) = run(bare, "json = \"$.results[0].mean\"");
    ran.exits(4).says("metric `time` is 0 s: nothing takes that time");
    assert!(matches!(record.cases[0].outcome, Outcome::Invalid { .. }));
    // One zero among others is a coarse clock's.
    run("time 0\ntime 0.001\n", "regex = 'time ([0-9.]+)'").0.exits(0);
    run("time 0.002\ntime -0.001\n", "regex = 'time ([0-9.-]+)'")
        .0
        .exits(4)
        .says("metric `time` is -0.001 s");
}

#[test]
fn n28_a_threshold_of_five_is_asked_about_wherever_it_stands() {
    let folder = crate::support::tempdir().unwrap();
    let with = |line: &str, value: &str| {
        let text = format!("{line}{value}\n[[benchmark]]\nid = \"x\"\nshell = \"true\"\n");
        std::fs::write(folder.path().join("gbench.toml"), text).unwrap();
        ran(folder.path(), "list")
    };
    let lines = [
        "[gate]\nthreshold = ",
        "[defaults]\ntarget = ",
        "[defaults]\nmin_effect = ",
        "[metrics.time]\nthreshold = ",
    ];
    for line in lines {
        for value in ["5", "\"5\"", "5.0"] {
            with(line, value).exits(2).says("5 is 500%; for 5 % write \"5%\"");
        }
        for value in ["0.05", "\"0.05\"", "\"5%\"", "\"500%\""] {
            with(line, value).exits(0);
        }
    }
    ran(folder.path(), "run --threshold 5").exits(2).says("--threshold 5").says("for 5 % write \"5%\"");
    // A program that says so of itself breaks the protocol.
    let program = "echo '{\"event\": \"config\", \"threshold\": 5}' >> \"$GBENCH_EVENTS\"";
    let text =
        format!("[[benchmark]]\nid = \"x\"\ntiming = \"protocol\"\nprocesses = 1\nshell = '''{program}'''\n");
    std::fs::write(folder.path().join("gbench.toml"), text).unwrap();
    ran(folder.path(), "run --quiet").exits(4).says("a relative change below 1, such as 0.05 for 5 %");
}
