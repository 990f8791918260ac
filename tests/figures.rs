//! What stands beside the samples of a program and gates as they do: errors of its answer, and memory.

use gbench_ci::compare::{Row, Verdict};

use crate::support::cli::{newest, ran};
use crate::support::repository::{Repository, row, suite};

const SPEAKING: &str = "extract = [{ metric = \"time\", unit = \"s\", regex = 'time: ([0-9.]+)' }]\n";

/// A comparison of commits of a program that sends these events beside its times. `gate`: of the base's suite file.
fn sending(gate: &str, base: &[&str], head: &[&str]) -> Repository {
    let text =
        suite(&format!("[gate]\nwatch = false\n{gate}"), "timing = \"protocol\"").replace(SPEAKING, "");
    let script = |events: &[&str]| {
        let events: String = events.iter().map(|event| format!(" '{event}'")).collect();
        format!(
            "value=$(awk -v p=\"$process\" -v s=\"$side\" 'BEGIN {{ srand(p * 7919 + (s == \"head\" ? 104729 : 0)); rand(); \
             rand(); printf \"%.12f\", 0.001 * (1 + 0.002 * rand()) }}')\n\
             jitter=$(awk -v v=\"$value\" 'BEGIN {{ printf \"%.9f\", v * 1e-3 }}')\n\
             printf '%s\\n' '{{\"event\":\"stage\",\"stage\":\"measure\"}}' \
             \"{{\\\"event\\\":\\\"samples\\\",\\\"values\\\":[$value,$value]}}\"{events} \
             | sed \"s/BIG/0.9${{jitter#0.}}/; s/JITTER/$jitter/\" >> \"$GBENCH_EVENTS\"\n"
        )
    };
    Repository::new(&[("gbench.toml", &text), ("more.sh", &script(base))], &[("more.sh", &script(head))])
}

fn errors(rmse: &str) -> String {
    format!(r#"{{"event":"validation","passed":true,"errors":{{"rmse":{rmse}}}}}"#)
}

fn memory(device: u64) -> String {
    format!(r#"{{"event":"memory","host_peak_bytes":1000000,"device_peak_bytes":{device}}}"#)
}

fn of<'a>(verdict: &'a gbench_ci::compare::VerdictDocument, metric: &str) -> &'a Row {
    row(verdict, "c0", metric)
}

#[test]
fn n10_an_answer_that_grew_wrong_is_red_and_stands_in_the_report() {
    let it = sending("", &[&errors("1e-6")], &[&errors("0.9")]);
    it.compare("HEAD~1..HEAD").exits(1).says("error.rmse").says("0.9");
    let verdict = it.verdict();
    let rmse = of(&verdict, "error.rmse");
    assert_eq!(rmse.verdict, Verdict::Regressed);
    assert_eq!(rmse.margin, Some(1e-3));
    assert!(rmse.reason.contains("from 1.000e-6 to 9.000e-1"), "{}", rmse.reason);
    assert_ne!(of(&verdict, "time").verdict, Verdict::Regressed);
}

/// A share says nothing of an error: ten times as much may still be exact.
#[test]
fn n10_errors_are_judged_by_their_absolute_difference() {
    let it = sending("", &[&errors("1e-6")], &[&errors("1e-5")]);
    it.compare("HEAD~1..HEAD").exits(0);
    assert_eq!(of(&it.verdict(), "error.rmse").verdict, Verdict::Unchanged);

    let own = "[metrics.\"error.*\"]\nmargin = \"1e-6\"\n";
    let it = sending(own, &[&errors("1e-6")], &[&errors("1e-5")]);
    it.compare("HEAD~1..HEAD").exits(1);
    assert_eq!(of(&it.verdict(), "error.rmse").margin, Some(1e-6));
}

/// One that differs from process to process is judged over rounds, and not by its share either.
#[test]
fn n10_errors_that_vary_are_judged_over_rounds() {
    let it = sending("", &[&errors("JITTER")], &[&errors("BIG")]);
    it.compare("HEAD~1..HEAD").exits(1);
    let verdict = it.verdict();
    assert_eq!(of(&verdict, "error.rmse").verdict, Verdict::Regressed, "{:?}", of(&verdict, "error.rmse"));
    assert!(of(&verdict, "error.rmse").sequence.is_some());
    let it = sending("", &[&errors("JITTER")], &[&errors("JITTER")]);
    it.compare("HEAD~1..HEAD").exits(0);
    assert_eq!(of(&it.verdict(), "error.rmse").verdict, Verdict::Unchanged);
}

#[test]
fn n10_a_peak_of_memory_gates_by_a_threshold_of_its_own() {
    let it = sending("", &[&memory(2_000_000)], &[&memory(10_000_000)]);
    it.compare("HEAD~1..HEAD").exits(1).says("device_peak_bytes");
    let verdict = it.verdict();
    assert_eq!(of(&verdict, "device_peak_bytes").verdict, Verdict::Regressed);
    assert_eq!(of(&verdict, "host_peak_bytes").verdict, Verdict::Unchanged);

    let it = sending("", &[&memory(2_000_000)], &[&memory(2_080_000)]);
    it.compare("HEAD~1..HEAD").exits(0);
    assert_eq!(of(&it.verdict(), "device_peak_bytes").verdict, Verdict::Unchanged, "4 % of memory");
    let own = "[metrics.device_peak_bytes]\ntarget = \"1%\"\n";
    sending(own, &[&memory(2_000_000)], &[&memory(2_080_000)]).compare("HEAD~1..HEAD").exits(1);
}

#[test]
fn n10_a_run_shows_them_and_stored_runs_are_held_to_them() {
    let it = sending("", &[&errors("1e-6"), &memory(2_000_000)], &[&errors("0.9"), &memory(10_000_000)]);
    it.git(&["checkout", "--quiet", "HEAD~1"]);
    ran(it.root(), "run").exits(0).says("error.rmse").says("device_peak_bytes");
    let names: Vec<_> = newest(it.root()).cases[0].metrics.iter().map(|metric| metric.name.clone()).collect();
    assert_eq!(names, ["device_peak_bytes", "error.rmse", "host_peak_bytes", "time"]);
    ran(it.root(), "baseline save before --busy").exits(0);
    it.git(&["checkout", "--quiet", "main"]);
    ran(it.root(), "compare before --sessions 0 --json verdict.json").exits(1).says("error.rmse");
    let text = std::fs::read_to_string(it.root().join("verdict.json")).unwrap();
    let verdict: gbench_ci::compare::VerdictDocument = serde_json::from_str(&text).unwrap();
    assert_eq!(of(&verdict, "error.rmse").verdict, Verdict::Regressed);
    assert_eq!(of(&verdict, "device_peak_bytes").verdict, Verdict::Regressed);
    assert_eq!(of(&verdict, "host_peak_bytes").verdict, Verdict::Unchanged);
}

/// Errors and peaks alone are no measurement.
#[test]
fn n10_a_program_that_sends_nothing_but_its_errors_has_measured_nothing() {
    let folder = crate::support::tempdir().unwrap();
    let text = "[suite]\nname = 's'\n[defaults]\nprocesses = 2\ntiming = 'protocol'\n[[benchmark]]\nid = 'a'\n\
                shell = '''echo '{\"event\":\"validation\",\"passed\":true,\"errors\":{\"rmse\":0.1}}' >> $GBENCH_EVENTS'''\n";
    std::fs::write(folder.path().join("gbench.toml"), text).unwrap();
    ran(folder.path(), "run").exits(4).says("sent no sample");
}
