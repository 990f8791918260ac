//! A baseline of everything against a run of a part: what was not asked for is not missing, what is gone is.

use std::path::Path;
use std::process::Output;

/// Two benchmarks that print a constant, which is declared to be counted, so that every verdict is exact.
const SUITE: &str = "[suite]\nname = \"s\"\n[defaults]\nprocesses = 4\n\
                     [metrics.time]\nexact = true\n\
                     [[benchmark]]\nid = \"a\"\nshell = \"echo 5 ms\"\nmatrix.n = [1, 2]\n\
                     [[benchmark.extract]]\nmetric = \"time\"\nunit = \"ms\"\nregex = '([0-9]+) ms'\n";
const SECOND: &str = "[[benchmark]]\nid = \"b\"\nshell = \"echo 7 ms\"\n\
                      [[benchmark.extract]]\nmetric = \"time\"\nunit = \"ms\"\nregex = '([0-9]+) ms'\n";

fn gate(folder: &Path, line: &str) -> Output {
    crate::support::gate().args(line.split_whitespace()).current_dir(folder).output().unwrap()
}

#[test]
fn a_narrower_run_is_compared_on_what_it_selects_and_a_benchmark_that_is_gone_is_missing() {
    let folder = crate::support::tempdir().unwrap();
    std::fs::write(folder.path().join("gbench.toml"), format!("{SUITE}{SECOND}")).unwrap();
    assert_eq!(gate(folder.path(), "run -q").status.code(), Some(0));
    assert_eq!(gate(folder.path(), "baseline save main --busy").status.code(), Some(0));

    let narrow = gate(folder.path(), "compare main -q --param n=2");
    let text = String::from_utf8_lossy(&narrow.stdout);
    assert_eq!(narrow.status.code(), Some(0), "{text}");
    assert!(text.contains("1 unchanged"), "{text}");
    assert!(text.contains("2 of its 3 cases are outside the selection"), "{text}");

    std::fs::write(folder.path().join("gbench.toml"), SUITE).unwrap();
    let gone = gate(folder.path(), "compare main -q");
    let text = String::from_utf8_lossy(&gone.stdout);
    assert_eq!(gone.status.code(), Some(4), "{text}");
    assert!(text.contains("s/b"), "{text}");
}

#[test]
fn the_command_that_is_said_to_repeat_a_comparison_repeats_it_after_the_baseline_has_moved_on() {
    let folder = crate::support::tempdir().unwrap();
    std::fs::write(folder.path().join("gbench.toml"), SUITE).unwrap();
    gate(folder.path(), "run -q");
    gate(folder.path(), "baseline save main --busy");
    let slower = SUITE.replace("echo 5", "echo 6");
    std::fs::write(folder.path().join("gbench.toml"), slower).unwrap();
    let first = gate(folder.path(), "compare main -q --format json");
    assert_eq!(first.status.code(), Some(1));
    let verdict: serde_json::Value = serde_json::from_slice(&first.stdout).unwrap();
    // The slower run becomes the baseline: its name now means something else.
    gate(folder.path(), "baseline save main --busy");
    let command = verdict["reproduce"].as_str().unwrap().strip_prefix("gbench-ci ").unwrap();
    let again = gate(folder.path(), &format!("{command} --format json"));
    assert_eq!(again.status.code(), Some(1), "{}", String::from_utf8_lossy(&again.stderr));
    let again: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["rows"], verdict["rows"]);
}
