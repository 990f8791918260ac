//! How numbers come into a record: whole processes, words on stdout, the protocol; with which settings, from where.

use gbench_ci::model::{Better, Metric, Origin, Outcome, ParamValue, RunRecord, Stage, Timing};
use serde_json::Value;

use crate::support::cli::{newest, ran, stdout_of};
use crate::support::{case, folder_with};

/// Runs a suite of shell lines with `run ARGS` and gives its record.
fn measured(suite: &str, line: &str) -> (tempfile::TempDir, RunRecord) {
    let folder = folder_with(&format!("[suite]\nname = 's'\n[defaults]\nprocesses = 2\n{suite}"));
    ran(folder.path(), &format!("run --quiet {line}"));
    let record = newest(folder.path());
    (folder, record)
}

fn metric<'a>(record: &'a RunRecord, case_name: &str, name: &str) -> &'a Metric {
    let case = case(record, case_name);
    let found = case.metrics.iter().find(|metric| metric.name == name);
    found.unwrap_or_else(|| panic!("{case_name} has no {name}: {:?}", case.outcome))
}

fn values(metric: &Metric) -> Vec<Vec<f64>> {
    metric.processes.iter().map(|process| process.values.clone()).collect()
}

#[test]
fn numbers_are_found_in_json_in_text_and_in_csv_on_stdout() {
    let (_folder, record) = measured(
        r#"
[[benchmark]]
id = "json"
shell = '''echo '{"runs": [{"time": 1.5}, {"time": 2.5}], "rate": 7}' '''
[[benchmark.extract]]
metric = "time"
unit = "ms"
json = "$.runs[*].time"
[[benchmark.extract]]
metric = "rate"
unit = "GB/s"
json = "$.rate"
[[benchmark]]
id = "text"
shell = "echo warming up; echo 'time: 12.5 ms'; echo 'time: 1.25e1 ms'"
[[benchmark.extract]]
metric = "time"
unit = "ms"
regex = 'time: ([0-9.e]+) ms'
[[benchmark]]
id = "table"
shell = "printf 'epoch,val loss\n1,0.5\n2,0.25\n'"
[[benchmark.extract]]
metric = "loss"
better = "lower"
csv = "val loss"
[[benchmark]]
id = "nothing"
shell = "echo no number"
[[benchmark.extract]]
metric = "time"
regex = 'time: ([0-9.]+)'
"#,
        "",
    );
    assert_eq!(values(metric(&record, "s/json", "time")), [[1.5, 2.5], [1.5, 2.5]]);
    assert_eq!(metric(&record, "s/json", "rate").unit, "GB/s");
    assert_eq!(values(metric(&record, "s/text", "time")), [[12.5, 12.5], [12.5, 12.5]]);
    let loss = metric(&record, "s/table", "loss");
    assert_eq!((values(loss), loss.better), (vec![vec![0.5, 0.25]; 2], Some(Better::Lower)));
    assert_eq!(case(&record, "s/table").id.timing, Timing::Stdout);
    let nothing = &case(&record, "s/nothing").outcome;
    assert!(nothing.is_failure() && nothing.cause().contains("nothing in stdout matches"), "{nothing:?}");
}

#[test]
fn a_program_that_says_nothing_is_timed_as_a_whole() {
    let (_folder, record) = measured("[[benchmark]]\nid = 'a'\ncommand = ['sleep', '0.05']\n", "");
    let time = metric(&record, "s/a", "wall_time");
    assert_eq!((time.unit.as_str(), time.better), ("s", Some(Better::Lower)));
    assert!(time.processes.iter().all(|process| process.values.len() == 1 && process.values[0] >= 0.05));
}

/// A benchmark that sends these protocol lines.
fn speaking(id: &str, lines: &[&str]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| format!("'{line}'")).collect();
    let shell = format!("printf '%s\\n' {} >>\"$GBENCH_EVENTS\"", lines.join(" "));
    format!("[[benchmark]]\nid = '{id}'\ntiming = 'protocol'\nshell = '''{shell}'''\n")
}

const SAMPLE: &str = r#"{"event": "sample", "value": 0.5}"#;

#[test]
fn what_the_benchmark_says_of_itself_stands_above_the_file_and_below_the_command_line() {
    let config = r#"{"event": "config", "iterations": 50, "warmup": 5, "deadlines": {"setup": 120}, "threshold": 0.02}"#;
    let suite = speaking("a", &[config, SAMPLE]) + "iterations = 40\nwarmup = 4\nthreshold = 0.07\n";
    let (_folder, record) = measured(&suite, "--warmup 3");
    let config = &case(&record, "s/a").config;
    assert_eq!((&config["iterations"].value, &config["iterations"].origin), (&50.into(), &Origin::Benchmark));
    assert_eq!((&config["threshold"].value, &config["threshold"].origin), (&0.02.into(), &Origin::Benchmark));
    assert_eq!(config["warmup"].value, 3);
    assert_eq!(config["warmup"].origin, Origin::Cli("--warmup".into()));
    assert!(matches!(&config["processes"].origin, Origin::File(place) if place == "gbench.toml:4"));
    assert_eq!(config["seed"].origin, Origin::Default);
    assert_eq!(config["deadlines.setup"].origin, Origin::Benchmark);
    let warnings = &case(&record, "s/a").warnings;
    let expected = "the benchmark sets its own `warmup`; --warmup stays in force";
    assert!(warnings.iter().any(|warning| warning == expected), "{warnings:?}");
}

#[test]
fn the_request_carries_the_settings_and_names_what_the_user_pinned() {
    let suite = "[[benchmark]]\nid = 'a'\nshell = 'echo $GBENCH_REQUEST'\nmatrix = { n = [4] }\n";
    let (folder, _) = measured(suite, "--iterations 7 --seed 9");
    let request: Value = serde_json::from_str(&stdout_of(folder.path(), 0, 1)).unwrap();
    assert_eq!((&request["benchmark"], &request["process"]), (&"s/a".into(), &1.into()));
    assert_eq!((&request["iterations"], &request["seed"]), (&7.into(), &9.into()));
    assert_eq!((&request["params"]["n"], &request["pinned"][1]), (&4.into(), &"seed".into()));
}

#[test]
fn work_per_iteration_gives_a_rate_that_is_shown_and_not_judged() {
    let lines = [r#"{"event": "metadata", "items": 100, "notes": {"library": "2.9"}}"#, SAMPLE];
    let (_folder, record) = measured(&speaking("a", &lines), "");
    let rate = metric(&record, "s/a", "items_rate");
    assert_eq!((rate.unit.as_str(), values(rate)), ("items/s", vec![vec![200.0]; 2]));
    let case = case(&record, "s/a");
    assert_eq!(case.declared["items_rate"].gate, Some(false));
    assert_eq!(case.metadata["library"], "2.9");
}

#[test]
fn a_skip_a_wrong_answer_and_a_strange_unit_are_three_different_things() {
    let suite = speaking("skip", &[r#"{"event": "skip", "reason": "needs two GPUs"}"#])
        + &speaking("wrong", &[SAMPLE, r#"{"event": "validation", "passed": false, "message": "row 3"}"#])
        + &speaking("unit", &[r#"{"event": "sample", "value": 1, "unit": "ms"}"#])
        + "[benchmark.metrics.time]\nunit = 's'\n";
    let (_folder, record) = measured(&suite, "");
    let outcome = |name: &str| case(&record, name).outcome.clone();
    assert!(matches!(outcome("s/skip"), Outcome::Skipped { cause, .. } if cause == "needs two GPUs"));
    assert!(matches!(outcome("s/wrong"), Outcome::Invalid { cause, .. } if cause.contains("row 3")));
    let unit = outcome("s/unit");
    assert!(unit.is_failure() && unit.cause().contains("came in `ms`"), "{unit:?}");
    assert!(unit.cause().contains("the suite file declares `s`"), "{unit:?}");
}

#[test]
fn parameters_reach_the_command_the_environment_and_the_selection() {
    let suite = "[[benchmark]]\nid = 'a'\ncommand = ['sh', '-c', 'echo $0 $GBENCH_PARAM_N', '{n}x']\n\
                 matrix = { n = [1, 2, 3], kind = ['u', 'v'] }\n";
    let (folder, record) = measured(suite, "--param n=2,3 --param kind=v");
    let params: Vec<_> = record.cases.iter().map(|case| case.id.params["n"].clone()).collect();
    assert_eq!(params, [ParamValue::Int(2), ParamValue::Int(3)]);
    assert_eq!(stdout_of(folder.path(), 0, 0), "2x 2\n");
    assert_eq!(stdout_of(folder.path(), 1, 1), "3x 3\n");
    assert!(record.command.ends_with(&["--param".into(), "kind=v".into()]), "{:?}", record.command);
}

#[test]
fn what_a_program_prints_does_not_reach_the_readers_terminal() {
    let suite = "[[benchmark]]\nid = 'a'\nshell = '''printf '\\033]0;owned\\007\\033[31mbad\\033[0m\\n' >&2; exit 3'''\n";
    let folder = folder_with(&format!("[suite]\nname = 's'\n{suite}"));
    let run = ran(folder.path(), "run").exits(4).says("exit code 3; stderr ends: bad");
    assert!(!(run.out + &run.err).contains('\u{1b}'));
    let summary = crate::support::cli::runs(folder.path()).pop().unwrap().join("reports/summary.md");
    assert!(!std::fs::read_to_string(summary).unwrap().contains('\u{1b}'));
}

#[test]
fn a_long_name_breaks_no_report() {
    let name = "x".repeat(198);
    let suite = format!("[[benchmark]]\nid = '{name}'\ncommand = ['true']\nmatrix = {{ p = ['{name}'] }}\n");
    let (folder, record) = measured(&suite, "");
    assert_eq!(record.cases[0].outcome, Outcome::Measured);
    assert_eq!(record.cases[0].processes[0].stages[0].stage, Stage::Measure);
    for line in ["list", "describe", "run --dry-run", "run", "baseline save main --busy"] {
        let ran = ran(folder.path(), line).exits(0);
        let widest = ran.out.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80 || line == "describe", "{line}: {widest} columns");
    }
    ran(folder.path(), "compare main --threshold 900%").says("1 row");
}
