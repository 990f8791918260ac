//! `GBENCH_...` variables: a layer of settings that is never passed over in silence, and that no gate is loosened by.

use std::collections::BTreeSet;
use std::path::Path;

use gbench_ci::model::{Origin, RunRecord};
use gbench_ci::store::read_comparison;
use serde_json::Value;

use crate::support::cli::{Ran, command, ended, newest, stdout_of};
use crate::support::job::{Checkout, work};
use crate::support::{folder_with, stories};

const SUITE: &str = "[suite]\nname = 's'\n[defaults]\nprocesses = 2\niterations = 40\n[[benchmark]]\nid = 'a'\n\
                     shell = 'echo $GBENCH_REQUEST'\n";

fn with(folder: &Path, line: &str, variables: &[(&str, &str)]) -> Ran {
    let mut command = command(folder, line);
    command.envs(variables.iter().copied());
    ended(command)
}

fn origin(record: &RunRecord, setting: &str) -> Origin {
    record.cases[0].config[setting].origin.clone()
}

#[test]
fn n23_the_environment_stands_between_the_file_and_the_command_line_and_is_never_silent() {
    let folder = folder_with(SUITE);
    let artifacts = ("GBENCH_RUN_ARTIFACTS", "artifacts");
    let variables = [("GBENCH_PROCESSES", "3"), ("GBENCH_ITERATIONS", "7"), artifacts];
    with(folder.path(), "run --quiet --processes 1", &variables)
        .exits(0)
        .says("note: GBENCH_ITERATIONS=7 is set in the environment");
    let record = newest(folder.path());
    assert_eq!(record.cases[0].processes.len(), 1, "a flag stands above");
    assert_eq!(origin(&record, "processes"), Origin::Cli("--processes".into()));
    assert_eq!(origin(&record, "iterations"), Origin::Environment("GBENCH_ITERATIONS".into()));
    let request: Value = serde_json::from_str(&stdout_of(folder.path(), 0, 0)).unwrap();
    assert_eq!((&request["iterations"], &request["pinned"]), (&7.into(), &serde_json::json!(["iterations"])));
    with(folder.path(), "run --quiet", &variables).exits(0);
    assert_eq!(newest(folder.path()).cases[0].processes.len(), 3, "the file stands below");
    with(folder.path(), "run --quiet", &[("GBENCH_PROCESSES", "")]).exits(0);
    assert_eq!(newest(folder.path()).cases[0].processes.len(), 2, "nothing is no value");

    let shown = with(folder.path(), "config show --json", &variables).exits(0).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let iterations = &shown["benchmarks"]["s/a"]["iterations"];
    assert_eq!(iterations["value"], 7);
    assert_eq!(iterations["origin"]["environment"], "GBENCH_ITERATIONS");
    assert_eq!(shown["suite"]["run.artifacts"]["origin"]["environment"], "GBENCH_RUN_ARTIFACTS");
    with(folder.path(), "config show", &variables).exits(0).says("GBENCH_PROCESSES");
    with(folder.path(), "run", &[("GBENCH_PROCESSES", "0")])
        .exits(2)
        .says("GBENCH_PROCESSES=0: `processes` cannot be 0");
}

#[test]
fn n23_who_calls_stands_above_what_the_program_says_of_itself() {
    let folder = folder_with(
        "[suite]\nname = 's'\n[[benchmark]]\nid = 'a'\ntiming = 'protocol'\nprocesses = 1\ncommand = ['sh', 'emit.sh']\n",
    );
    let events = "{\"event\": \"config\", \"iterations\": 50}\n{\"event\": \"sample\", \"value\": 1}\n";
    let script = format!("cat >>\"$GBENCH_EVENTS\" <<'END'\n{events}END\n");
    std::fs::write(folder.path().join("emit.sh"), script).unwrap();
    with(folder.path(), "run --quiet", &[("GBENCH_ITERATIONS", "7")])
        .exits(0)
        .says("GBENCH_ITERATIONS stays in force");
    assert_eq!(newest(folder.path()).cases[0].config["iterations"].value, 7);
}

#[test]
fn n23_what_nothing_reads_is_a_warning_and_what_decides_verdicts_is_refused() {
    let folder = folder_with(SUITE);
    let sides = stories::red().write(&folder.path().join("artifacts"));
    let compare = format!("compare {} {}", sides.join("base").display(), sides.join("head").display());
    with(folder.path(), "run --quiet", &[("GBENCH_ITERATION", "7")])
        .exits(0)
        .says("warning: the variable `GBENCH_ITERATION` has no effect: did you mean `GBENCH_ITERATIONS`?");
    for line in ["run", "config show", "describe a", "calibrate", "ci", &compare] {
        with(folder.path(), line, &[("GBENCH_THRESHOLD", "50%")])
            .exits(2)
            .says("GBENCH_THRESHOLD: the environment cannot set `threshold`")
            .says("or give `--threshold`");
        with(folder.path(), line, &[("GBENCH_GATE_INCONCLUSIVE", "pass")]).exits(2).says("in the suite file");
    }
}

#[test]
fn n23_every_setting_that_is_shown_is_either_set_by_its_variable_or_refused() {
    let folder = folder_with(SUITE);
    let shown = with(folder.path(), "config show --json", &[]).exits(0).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let of = |table: &Value| table.as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>();
    let keys: BTreeSet<String> = &of(&shown["suite"]) | &of(&shown["benchmarks"]["s/a"]);
    assert!(keys.len() > 40, "{keys:?}");
    for key in keys {
        let name = format!("GBENCH_{}", key.replace('.', "_").to_uppercase());
        let ran = with(folder.path(), "config show", &[(&name, "qqq")]);
        match key.as_str() {
            // Any text is a value of these.
            "device" | "run.artifacts" => assert!(ran.code == 0 && ran.out.contains(&name), "{}", ran.err),
            _ => assert!(ran.code == 2 && ran.err.contains(&name), "{key}: {}", ran.err),
        }
    }
}

#[test]
fn n23_the_actions_own_variables_are_no_mistakes_within_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = vec![std::fs::read_to_string(root.join("action.yml")).unwrap()];
    for entry in std::fs::read_dir(root.join(".github/action")).unwrap().flatten() {
        texts.push(std::fs::read_to_string(entry.path()).unwrap());
    }
    let pattern = regex::Regex::new("GBENCH_[A-Z0-9_]+[A-Z0-9]").unwrap();
    let names: BTreeSet<&str> =
        texts.iter().flat_map(|text| pattern.find_iter(text)).map(|found| found.as_str()).collect();
    assert!(names.contains("GBENCH_BUDGET") && names.len() > 20, "{names:?}");
    let folder = folder_with(SUITE);
    let mut variables: Vec<(&str, &str)> = names.iter().map(|name| (*name, "qqq")).collect();
    // Elsewhere they are: two of them are called as what the environment may not decide.
    with(folder.path(), "config show", &variables)
        .exits(2)
        .says("cannot set `budget`")
        .says("cannot set `store`");
    with(folder.path(), "config show", &[("GBENCH_LABEL", "h100")])
        .exits(0)
        .says("the variable `GBENCH_LABEL` has no effect");
    variables.push(("GITHUB_ACTION_PATH", "/action"));
    assert_eq!(with(folder.path(), "config show", &variables).exits(0).err, "");
}

#[test]
fn n23_the_environment_of_a_job_loosens_no_gate() {
    let slower = || Checkout::of_pull_request(&[("work", &work(&[1.0, 1.1, 1.0]))]);
    let refused = slower();
    for (name, value) in [
        ("GBENCH_THRESHOLD", "50%"),
        ("GBENCH_TARGET", "50%"),
        ("GBENCH_MIN_EFFECT", "50%"),
        ("GBENCH_FAIL_ON_MISSING", "false"),
        ("GBENCH_GATE_ALPHA", "1e-9"),
        ("GBENCH_GATE_BUDGET", "1ms"),
        ("GBENCH_GATE_ROUNDS", "4"),
        ("GBENCH_GATE_INCONCLUSIVE", "pass"),
        ("GBENCH_GATE_FAILED", "pass"),
    ] {
        let mut step = refused.step("pull_request.synchronize", "ci --quiet");
        step.env(name, value);
        let ran = ended(step).exits(2).says(name);
        assert!(ran.out.contains("::error"), "{}", ran.out);
    }
    // How much is measured it may say; the records tell, and what is red stays red under the same policy.
    let checkout = slower();
    let mut step = checkout.step("pull_request.synchronize", "ci --quiet");
    step.env("GBENCH_ITERATIONS", "11");
    ended(step).exits(1).says("note: GBENCH_ITERATIONS=11 is set in the environment");
    let (base, head, _) = read_comparison(&checkout.comparison()).unwrap();
    for record in [&base, &head] {
        assert_eq!(origin(record, "iterations"), Origin::Environment("GBENCH_ITERATIONS".into()));
    }
    let policy = |record: &RunRecord| record.comparison.as_ref().unwrap().policy.clone();
    let plain = slower();
    ended(plain.step("pull_request.synchronize", "ci --quiet")).exits(1);
    assert_eq!(policy(&head), policy(&read_comparison(&plain.comparison()).unwrap().1));
}

#[test]
fn n23_a_comparison_is_resumed_with_the_variables_that_it_was_begun_with() {
    let checkout = Checkout::of_pull_request(&[("work", &work(&[1.0, 1.1, 1.0]))]);
    let variables = [("GBENCH_ITERATIONS", "11"), ("GBENCH_PROCESSES", "9"), ("GITHUB_ACTIONS", "false")];
    let line = "compare main..topic --budget 50ms";
    let ran = with(&checkout.root(), line, &variables);
    let ran = ran.says("GBENCH_PROCESSES has no meaning between commits");
    let resume =
        ran.out.lines().find(|line| line.starts_with("resume")).unwrap_or_else(|| panic!("{}", ran.out));
    assert!(
        resume.starts_with("resume  GBENCH_ITERATIONS=11 GBENCH_PROCESSES=9 gbench-ci compare --resume "),
        "{resume}"
    );
}
