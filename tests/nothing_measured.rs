//! Programs that are timed from outside, end well and have measured nothing: they are not silently benchmarks.

use std::process::Command;

use gbench_ci::compare::VerdictDocument;
use gbench_ci::model::{NothingMeasured, Outcome, RefusalReason, RunRecord, Side};
use gbench_ci::store::latest_comparison;

use crate::support::cli::{Ran, newest, ran};
use crate::support::git::Sandbox;

const DECLINES: &str = "echo 'no CUDA, nothing to do'\n";
/// An interpreter that takes so long to start that what else the machine does matters little beside it.
const SLOW_SH: &str = "#!/bin/sh\nsleep 2\nexec /bin/sh \"$@\"\n";
/// Long enough to be more than the start of a shell on any machine.
const WORKS: &str = "sleep 0.5\necho 'cuda:0 took 12 ms, GPU usage 80 %'\n";

fn suite(programs: &[&str]) -> String {
    suite_with("sh", programs)
}

fn suite_with(interpreter: &str, programs: &[&str]) -> String {
    let one = |name: &&str| {
        format!(
            "[[benchmark]]\nid = \"{name}\"\ncommand = [\"{interpreter}\", \"{name}.sh\"]\nprocesses = 2\n"
        )
    };
    format!("[suite]\nname = \"s\"\n{}", programs.iter().map(one).collect::<String>())
}

fn run(programs: &[(&str, &str)]) -> (Ran, RunRecord) {
    let folder = crate::support::tempdir().unwrap();
    let names: Vec<&str> = programs.iter().map(|(name, _)| *name).collect();
    std::fs::write(folder.path().join("gbench.toml"), suite_with("./sh", &names)).unwrap();
    // Another process writes it: where a test of another thread forks while it is open here, it is "text file busy".
    let script = ["-c", "printf '%s' \"$0\" >sh && chmod +x sh", SLOW_SH];
    assert!(Command::new("sh").args(script).current_dir(&folder).status().unwrap().success());
    for (name, text) in programs {
        std::fs::write(folder.path().join(format!("{name}.sh")), text).unwrap();
    }
    let ran = ran(folder.path(), "run --quiet");
    let record = newest(folder.path());
    (ran, record)
}

#[test]
fn n19_a_program_that_declines_and_ends_well_is_not_silently_a_benchmark() {
    // As long as the start of its interpreter again.
    let works = format!("sleep 2\n{WORKS}");
    let (ran, record) = run(&[("declines", DECLINES), ("works", &works), ("empty", "")]);
    let signs = |name: &str| {
        let case = record.cases.iter().find(|case| case.id.benchmark.name() == name).unwrap();
        assert_eq!(case.outcome, Outcome::Measured);
        case.nothing_measured.clone()
    };
    let refused = NothingMeasured::Refused { why: RefusalReason::Gpu, line: "no CUDA, nothing to do".into() };
    assert_eq!(signs("declines"), [refused], "said once, whatever the number of processes");
    assert_eq!(signs("works"), []);
    assert!(
        matches!(signs("empty").as_slice(), [NothingMeasured::OnlyStarted { interpreter, .. }] if interpreter == "sh")
    );
    let ran = ran.exits(0).says("printed `no CUDA, nothing to do`: perhaps nothing was measured");
    ran.says("requires = { gpus = 1 }").says("than sh takes to start");
}

/// A shell script with what only Google Benchmark leaves in a program.
const CALIBRATES: &str = "#!/bin/sh\n# benchmark_list_tests benchmark_min_time\nsleep 1\n";

#[test]
fn a_program_that_calibrates_itself_and_is_timed_from_outside_is_said_so() {
    let sandbox = Sandbox::new();
    let suite =
        "[suite]\nname = \"s\"\n[[benchmark]]\nid = \"x\"\ncommand = [\"sh\", \"./x\"]\nprocesses = 2\n";
    sandbox.commit(&[("gbench.toml", suite), ("x", CALIBRATES)]);
    sandbox.commit(&[("x", &format!("{CALIBRATES}true\n"))]);
    let words = "its harness (google-benchmark) measures until a fixed time is over, however slow the code is: a slower function goes unseen";
    let next = "let the harness measure: `harness = \"google-benchmark\"` in its entry";
    ran(&sandbox.root(), "run --quiet").exits(0).says(words).says(next);
    let record = newest(&sandbox.root());
    let sign = NothingMeasured::CalibratesItself { harness: "google-benchmark".into() };
    assert_eq!(record.cases[0].nothing_measured, [sign], "said once, whatever the number of processes");
    ran(&sandbox.root(), "compare HEAD~1..HEAD --rounds 4 --quiet").says(words).says(next);
    let folder = latest_comparison(&sandbox.root().join("artifacts")).unwrap();
    let text = std::fs::read_to_string(folder.join("reports/verdict.json")).unwrap();
    let document: VerdictDocument = serde_json::from_str(&text).unwrap();
    assert_eq!(document.nothing_measured.len(), 2, "{:?}", document.nothing_measured);
    ran(&sandbox.root(), "replay").says("identical to");
}

#[test]
fn n19_a_verdict_over_programs_that_decline_says_so_and_replays_alike() {
    let sandbox = Sandbox::new();
    sandbox.commit(&[("gbench.toml", &suite(&["x"])), ("x.sh", WORKS)]);
    sandbox.commit(&[("x.sh", &format!("sleep 0.3\n{DECLINES}"))]);
    let compared = ran(&sandbox.root(), "compare HEAD~1..HEAD --rounds 4 --quiet");
    compared.says("head: s/x: it ended well and printed `no CUDA, nothing to do`");
    let folder = latest_comparison(&sandbox.root().join("artifacts")).unwrap();
    let text = std::fs::read_to_string(folder.join("reports/verdict.json")).unwrap();
    let document: VerdictDocument = serde_json::from_str(&text).unwrap();
    let [doubtful] = document.nothing_measured.as_slice() else { panic!("{:?}", document.nothing_measured) };
    assert_eq!((doubtful.side, doubtful.case.to_string().as_str()), (Side::Head, "s/x"));
    assert!(matches!(doubtful.sign, NothingMeasured::Refused { why: RefusalReason::Gpu, .. }));
    ran(&sandbox.root(), "replay").says("identical to");
}

#[test]
fn n19_init_writes_what_a_program_needs_and_asks_for_the_rest() {
    let folder = crate::support::tempdir().unwrap();
    std::fs::write(
        folder.path().join("bench_gpu.sh"),
        "python3 -c 'import torch; torch.cuda.init()' || echo no CUDA\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("bench_cpu.sh"), "sleep 0.1\n").unwrap();
    ran(folder.path(), "init").exits(0).says("check `requires` of each");
    let text = std::fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    assert!(text.contains("requires = { binary = [\"sh\"], gpus = 1 }"), "{text}");
    let needs_a_gpu = |line: &&str| line.starts_with("requires") && line.contains("gpus = 1");
    assert_eq!(text.lines().filter(needs_a_gpu).count(), 1, "{text}");
    // Where there is no GPU it is skipped, and nothing is green.
    let ran = ran(folder.path(), "run --quiet --benchmark */bench_gpu");
    if !std::path::Path::new("/dev/nvidiactl").exists() {
        ran.exits(5).says("no GPU can be used here");
    }
}
