//! Python benchmarks held against the rows of the table of features, end to end: the names bear the numbers of the rows. What the driver
//! does by itself is tested in Python, see `tests/python.rs`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gbench_ci::compare::{Verdict, VerdictDocument};
use gbench_ci::model::{
    Better, CaseRecord, Metric, Origin, Outcome, ParamValue, ProcessEnd, ProcessRecord, RunRecord, Stage,
    StageStatus,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::support;
use crate::support::cli::{Ran, command, ended, newest, ran, runs};
use crate::support::folder;

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// One benchmark `s/b`: `keys` of the entry, and `python` of its modules.
fn suite(keys: &str, python: &str) -> String {
    format!(
        "[suite]\nname = \"s\"\n[gate]\nwatch = false\n[defaults]\nprocesses = 1\niterations = 3\nwarmup = 1\n\
         [[benchmark]]\nid = \"b\"\n{keys}\n[benchmark.python]\n{python}\n"
    )
}

const PAIRS: &str = "layout = \"pairs\"";
const SELF_TIMED: &str = "file = \"m.py\"\nway = \"self-timed\"\nfunction = \"bench\"";

/// A suite of one module `m.py`, measured.
fn measured(keys: &str, python: &str, module: &str, line: &str) -> (TempDir, RunRecord) {
    let folder = folder(&[("gbench.toml", &suite(keys, python)), ("m.py", module)]);
    ran(folder.path(), &format!("run --quiet {line}")).exits(0);
    let record = newest(folder.path());
    (folder, record)
}

fn case<'r>(record: &'r RunRecord, words: &str) -> &'r CaseRecord {
    let mut cases = record.cases.iter();
    let found = cases.find(|case| case.id.to_string().contains(words));
    found.unwrap_or_else(|| panic!("no case is called {words}"))
}

fn metric<'r>(case: &'r CaseRecord, name: &str) -> &'r Metric {
    let found = case.metrics.iter().find(|metric| metric.name == name);
    found.unwrap_or_else(|| panic!("{} has no {name}", case.id))
}

/// The samples of all processes.
fn values(case: &CaseRecord, name: &str) -> Vec<f64> {
    metric(case, name).processes.iter().flat_map(|process| process.values.clone()).collect()
}

fn names(record: &RunRecord) -> Vec<String> {
    record.cases.iter().map(|case| case.id.to_string()).collect()
}

/// The last report of a stage.
fn stage(process: &ProcessRecord, stage: Stage) -> Option<(StageStatus, f64, f64)> {
    let found = process.stages.iter().rfind(|report| report.stage == stage)?;
    Some((found.status, found.seconds, found.limit))
}

fn timed_out(case: &CaseRecord) -> (Stage, f64, f64) {
    match &case.outcome {
        Outcome::TimedOut { stage, limit, spent, .. } => (*stage, *limit, *spent),
        other => panic!("{}: {other:?}", case.id),
    }
}

/// Tables of `report` as programs read them.
fn tables(folder: &Path, line: &str) -> Vec<Value> {
    let out = ran(folder, &format!("report {line} --format json")).exits(0).out;
    serde_json::from_str::<Value>(&out).unwrap()["tables"].as_array().unwrap().clone()
}

fn rows(table: &Value) -> &Vec<Value> {
    table["rows"].as_array().unwrap()
}

/// Runs a folder as it is, and once more after a change of one text: the two runs, base first.
fn before_and_after(folder: &Path, file: &str, change: (&str, &str)) -> [PathBuf; 2] {
    ran(folder, "run --quiet");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    assert!(text.contains(change.0), "{file} has no {}", change.0);
    write(folder, file, &text.replace(change.0, change.1));
    ran(folder, "run --quiet");
    let runs = runs(folder);
    [runs[runs.len() - 2].clone(), runs[runs.len() - 1].clone()]
}

fn compared(folder: &Path, base: &Path, head: &Path) -> (Ran, VerdictDocument) {
    let line = format!("compare {} {} --json verdict.json", base.display(), head.display());
    let ran = ran(folder, &line);
    (ran, serde_json::from_str(&std::fs::read_to_string(folder.join("verdict.json")).unwrap()).unwrap())
}

/// The verdicts on one metric.
fn verdicts(document: &VerdictDocument, metric: &str) -> BTreeSet<Verdict> {
    document.rows.iter().filter(|row| row.metric == metric).map(|row| row.verdict).collect()
}

/// Processes that have inherited this mark in their environment.
fn marked(mark: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let has_mark = |process: &std::fs::DirEntry| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    processes.filter(has_mark).map(|process| process.path().display().to_string()).collect()
}

#[test]
fn s0_9_what_ignores_sigterm_and_its_grandchild_are_gone_soon_after_the_limit() {
    let module = r#"
import signal, subprocess, sys, time
IGNORES = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(1000)"
class Bench:
    def benchmark_fn(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", IGNORES], stdout=subprocess.PIPE, start_new_session=True)
        child.stdout.readline()
        open("started", "w").close()
        time.sleep(1000)
"#;
    let folder = folder(&[("baseline_stubborn.py", module)]);
    let mark = folder.path().display().to_string();
    let keys = format!("warmup = 0\ndeadlines = {{ measure = \"10s\" }}\nenv = {{ ROW_MARK = \"{mark}\" }}");
    write(folder.path(), "gbench.toml", &suite(&keys, PAIRS));
    ran(folder.path(), "run --quiet").exits(4);
    let left = marked(&format!("ROW_MARK={mark}"));
    assert!(left.is_empty(), "{left:?}");
    assert!(folder.path().join("started").exists(), "the grandchild had no time to start");
    let record = newest(folder.path());
    let process = &record.cases[0].processes[0];
    assert_eq!(timed_out(&record.cases[0]).0, Stage::Measure);
    // By themselves the two would go on for a quarter of an hour.
    assert_eq!(process.end, Some(ProcessEnd::Signal(9)));
}

const PID: &str = "import os\nclass Bench:\n    def benchmark_fn(self): return 1\n    def get_custom_metrics(self): return {'pid': os.getpid()}\n";

#[test]
fn s0_11_no_mode_runs_a_benchmark_within_the_gate_and_asking_for_threads_is_refused() {
    let threads = suite("isolation = \"thread\"", PAIRS);
    let refused = folder(&[("gbench.toml", &threads), ("baseline_a.py", PID)]);
    let said = ran(refused.path(), "run").exits(2);
    said.says("thread").says("shared-screen");
    let folder = folder(&[("gbench.toml", &suite("processes = 2", PAIRS)), ("baseline_a.py", PID)]);
    ran(folder.path(), "run --quiet").exits(0);
    let record = newest(folder.path());
    assert_eq!(record.cases[0].config["isolation"].value, "shared-screen");
    let pids = values(&record.cases[0], "pid");
    assert_ne!(pids[0], pids[1], "each repetition has an interpreter of its own");
}

#[test]
fn s0_12_s0_13_import_setup_and_warm_up_have_a_limit_each() {
    // All modules have the same limits: long enough for the good ones on a busy machine.
    let keys = "deadlines = { import = \"10s\", setup = \"5s\", warmup = \"5s\" }";
    let sleeps = |where_to: &str| {
        format!(
            "import time\n{}class Bench:\n    def setup(self): {}\n    def benchmark_fn(self): {}\n",
            if where_to == "import" { "time.sleep(1000)\n" } else { "" },
            if where_to == "setup" { "time.sleep(1000)" } else { "pass" },
            if where_to == "warmup" { "time.sleep(1000)" } else { "pass" },
        )
    };
    let slow = format!("import time\ntime.sleep(5.5)\n{}", sleeps(""));
    let folder = folder(&[
        ("gbench.toml", &suite(keys, PAIRS)),
        ("baseline_a_slow_import.py", &slow),
        ("baseline_b_import.py", &sleeps("import")),
        ("baseline_c_setup.py", &sleeps("setup")),
        ("baseline_d_warmup.py", &sleeps("warmup")),
        ("baseline_e_good.py", &sleeps("")),
    ]);
    ran(folder.path(), "run --quiet").exits(4);
    let record = newest(folder.path());
    for (name, at, allowed) in
        [("b_import", Stage::Import, 10.0), ("c_setup", Stage::Setup, 5.0), ("d_warmup", Stage::Warmup, 5.0)]
    {
        let (stage, limit, spent) = timed_out(case(&record, name));
        assert_eq!((stage, limit), (at, allowed), "{name}");
        assert!(spent >= allowed, "{name}: {spent}");
    }
    let slow = case(&record, "a_slow_import");
    assert!(slow.outcome.is_measured(), "an import of 5.5 s is no setup: {:?}", slow.outcome);
    let of = |at: Stage| stage(&slow.processes[0], at).unwrap();
    // A stage begins when the gate hears of it, which on a busy machine is some time after the program said so.
    assert!(of(Stage::Import).1 > 0.0 && of(Stage::Import).2 == 10.0, "{:?}", of(Stage::Import));
    assert_eq!((of(Stage::Start).0, of(Stage::Start).2), (StageStatus::Completed, 60.0));
    assert!(case(&record, "e_good").outcome.is_measured());
}

#[test]
fn s0_14_s0_17_s0_18_s0_19_a_measurement_that_hangs_keeps_its_samples_and_says_where_and_what_to_raise() {
    let module = "import time\nCALLS = []\nclass Bench:\n    def benchmark_fn(self):\n        CALLS.append(1)\n        \
                  time.sleep(0.1 if len(CALLS) < 6 else 1000)\n";
    let keys = "warmup = 0\niterations = 20\ndeadlines = { measure = \"12s\" }";
    let folder = folder(&[("gbench.toml", &suite(keys, PAIRS)), ("baseline_hangs.py", module)]);
    let run = ran(folder.path(), "run").exits(4);
    let run = run.says("timed out: measure took ").says("s of the 12.0 s that it may take");
    run.says("deadlines.measure = \"24s\"");
    let page = ran(folder.path(), "report --format markdown").exits(0);
    page.says("measure took ").says("of the 12.0 s that it may take").says("deadlines.measure");
    let record = newest(folder.path());
    let case = &record.cases[0];
    let outcome = serde_json::to_value(&case.outcome).unwrap();
    assert_eq!((&outcome["status"], &outcome["stage"]), (&"timed_out".into(), &"measure".into()));
    assert_eq!(outcome["limit"], 12.0);
    assert!(outcome["spent"].as_f64().unwrap() >= 12.0, "{outcome}");
    // What was measured until then: kept, and no result.
    let time = metric(case, "time");
    assert_eq!(time.processes[0].values.len(), 5, "{:?}", time.processes);
    assert!(time.processes[0].values.iter().all(|value| *value >= 0.1));
    assert!(time.processes[0].partial);
    assert_eq!(time.summary, None);
    // Each stage has a status and a duration; what was not reached is not there.
    let of = |at: Stage| stage(&case.processes[0], at);
    assert_eq!(of(Stage::Setup).unwrap().0, StageStatus::Completed);
    assert_eq!(of(Stage::Warmup).unwrap().0, StageStatus::Completed);
    let (status, seconds, limit) = of(Stage::Measure).unwrap();
    assert_eq!((status, limit), (StageStatus::TimedOut, 12.0));
    assert!(seconds >= 12.0, "{seconds}");
    assert_eq!((of(Stage::Verify), of(Stage::Profile)), (None, None));
}

#[test]
fn s0_20_after_a_timeout_the_hook_is_called_and_the_next_module_has_a_new_process() {
    let hangs = "import os, time\nclass Bench:\n    def setup(self):\n        open('pid', 'w').write(str(os.getpid()))\n        \
                 time.sleep(1000)\n    def benchmark_fn(self): pass\n";
    let hook = "[run]\nafter_timeout = [\"sh\", \"-c\", \"echo reset >>calls; exit 3\"]\n[gate]\n";
    let text = suite("deadlines = { setup = \"5s\" }", PAIRS).replace("[gate]\n", hook);
    let folder = folder(&[("gbench.toml", &text), ("baseline_a_hangs.py", hangs), ("baseline_b.py", PID)]);
    ran(folder.path(), "run --quiet").exits(4);
    let record = newest(folder.path());
    let (hung, next) = (case(&record, "a_hangs"), case(&record, "case=b"));
    assert_eq!(timed_out(hung).0, Stage::Setup);
    assert_eq!(hung.processes[0].after_timeout, Some(ProcessEnd::Exit(3)));
    assert_eq!(std::fs::read_to_string(folder.path().join("calls")).unwrap(), "reset\n");
    assert!(next.outcome.is_measured(), "{:?}", next.outcome);
    assert_eq!(next.processes[0].after_timeout, None);
    let first = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    assert_ne!(values(next, "pid")[0].to_string(), first);
}

const DRAWS: &str = "import random\nDRAWN = random.random()\nclass Bench:\n    def benchmark_fn(self): return 1\n    \
                     def get_custom_metrics(self): return {'drawn': DRAWN}\n";

#[test]
fn s0_33_s1_41_the_seed_is_in_the_record_with_what_it_seeded_and_two_runs_agree() {
    // `random.Random(SEED).random()`
    const OF_1337: f64 = 0.6177528569514706;
    const OF_5: f64 = 0.6229016948897019;
    const OF_7: f64 = 0.32383276483316237;
    let folder = folder(&[("gbench.toml", &suite("", PAIRS)), ("baseline_a.py", DRAWS)]);
    let drawn = |line: &str| {
        ran(folder.path(), &format!("run --quiet {line}")).exits(0);
        let case = newest(folder.path()).cases.remove(0);
        assert_eq!(case.metadata["seed"], case.config["seed"].value);
        assert_eq!(case.metadata["seeded"], serde_json::json!(["random"]));
        (values(&case, "drawn"), case.config["seed"].value.clone(), case.config["seed"].origin.clone())
    };
    assert_eq!(drawn(""), (vec![OF_1337], 1337.into(), Origin::Default));
    let of_flag = (vec![OF_7], 7.into(), Origin::Cli("--seed".into()));
    assert_eq!(drawn("--seed 7"), of_flag);
    assert_eq!(drawn("--seed 7"), of_flag);
    write(folder.path(), "gbench.toml", &suite("seed = 5", PAIRS));
    let (value, seed, origin) = drawn("");
    assert_eq!((value, seed), (vec![OF_5], 5.into()));
    assert!(matches!(origin, Origin::File(_)), "{origin:?}");
}

const MEMORY: &str = "class Bench:\n    def setup(self): self.held = b'x' * (64 << 20)\n    def benchmark_fn(self): return 1\n";

#[test]
fn s0_37_s1_8_memory_is_measured_where_it_can_be_and_is_absent_elsewhere() {
    let text = suite("isolation = \"process\"", PAIRS);
    let folder = folder(&[("gbench.toml", &text), ("baseline_a.py", MEMORY), ("baseline_b.py", PID)]);
    ran(folder.path(), "run --quiet").exits(0);
    let record = newest(folder.path());
    let large = case(&record, "case=a");
    let peak = values(large, "host_peak_bytes")[0];
    assert!(peak > 64e6 && values(case(&record, "case=b"), "host_peak_bytes")[0] < 64e6, "{peak}");
    assert!(large.processes[0].peak_rss_bytes.unwrap() as f64 >= 64e6);
    assert_eq!(large.metadata["memory_from"], "VmHWM of the process");
    assert_eq!(large.processes[0].device_peak_bytes, None);
    ran(folder.path(), "report --all").exits(0).says("not measured");
    // Not judged where that is not wanted.
    let quiet = text + "[metrics.\"*_peak_bytes\"]\ngate = false\n";
    write(folder.path(), "gbench.toml", &quiet);
    ran(folder.path(), "run --quiet").exits(0);
    let record = newest(folder.path());
    assert_eq!(case(&record, "case=a").declared["host_peak_bytes"].gate, Some(false));
    // A peak of several cases is nobody's, and no case has a metric by the absence of its neighbours.
    write(folder.path(), "gbench.toml", &suite("isolation = \"shared\"", PAIRS));
    ran(folder.path(), "run --quiet").exits(0);
    let record = newest(folder.path());
    assert!(record.cases.iter().all(|case| case.processes[0].peak_rss_bytes.is_none()));
    assert!(
        record.cases.iter().flat_map(|case| &case.metrics).all(|metric| metric.name != "host_peak_bytes")
    );
    ran(folder.path(), "run --quiet --param case=a").exits(0);
    let alone = &newest(folder.path()).cases[0];
    assert!(alone.metrics.iter().all(|metric| metric.name != "host_peak_bytes"), "{:?}", alone.metrics);
    assert!(alone.processes[0].peak_rss_bytes.unwrap() as f64 >= 64e6);
}

/// With a stand-in for NVML, because the gate holds a device's name against the machine.
#[test]
fn s0_37_s1_8_memory_of_a_gpu_is_torchs() {
    let fakes = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/python/fakes/gpu");
    let module = include_str!("../fixtures/python/timing/on_cuda.py");
    let python = format!("file = \"m.py\"\nway = \"class\"\npath = [\"{}\"]", fakes.display());
    let text = suite("matrix = { milliseconds = [2.0] }", &python);
    let folder = folder(&[("gbench.toml", &text), ("m.py", module)]);
    let mut run = command(folder.path(), "run --quiet");
    run.env("GBENCH_NVML_LIBRARY", crate::fake_nvml::library("")).env_remove("CUDA_VISIBLE_DEVICES");
    ended(run).exits(0);
    let record = newest(folder.path());
    let case = &record.cases[0];
    assert_eq!(case.id.device, "cuda:Scripted GPU");
    assert_eq!(values(case, "device_peak_bytes"), [1024.0]);
    assert_eq!(case.processes[0].device_peak_bytes, Some(1024));
    for note in ["device_allocated_bytes", "device_reserved_bytes"] {
        assert_eq!(case.metadata[note], 1024, "{note}");
    }
    assert_eq!(case.metadata["memory_from"], "torch.cuda.max_memory_allocated");
}

#[test]
fn s0_59_a_long_trace_is_cut_in_reports_and_whole_in_the_record() {
    let calls = (0..300).map(|n| format!("def step_{n}():\n    return step_{}()  # one of many\n", n + 1));
    let module = calls.collect::<String>()
        + "def step_300():\n    raise ValueError('the floor')\nclass Bench:\n    def benchmark_fn(self): step_0()\n";
    let folder = folder(&[
        ("gbench.toml", &suite("", PAIRS)),
        ("baseline_a_deep.py", &module),
        ("baseline_b.py", PID),
        ("baseline_c.py", "import nowhere\n"),
    ]);
    ran(folder.path(), "run --quiet").exits(4);
    let record = newest(folder.path());
    let error = case(&record, "a_deep").reported_error().unwrap();
    assert_eq!(
        (error.kind.as_deref(), error.message.as_str()),
        (Some("ValueError"), "ValueError: the floor")
    );
    let trace = error.trace.as_deref().unwrap();
    assert!(trace.len() > 20_000, "{}", trace.len());
    for n in 0..=300 {
        assert!(trace.contains(&format!(", in step_{n}\n")), "step {n} is not in the trace");
    }
    assert!(case(&record, "case=b").outcome.is_measured());
    assert_eq!(case(&record, "case=c").reported_error().unwrap().kind.as_deref(), Some("import"));
    let page = ran(folder.path(), "report --format markdown").exits(0);
    assert!(page.out.len() < 10_000, "{}", page.out.len());
    assert!(page.out.contains("step&#95;300") && !page.out.contains("step&#95;150"), "{}", page.out);
}

/// The number of the call is its time.
const COUNTS: &str = "CALLS = 0\ndef bench():\n    global CALLS\n    CALLS += 1\n    return float(CALLS)\n";

#[test]
fn s1_5_s1_28_s3_17_presets_have_their_counts() {
    let folder = folder(&[("gbench.toml", &suite("", SELF_TIMED)), ("m.py", COUNTS)]);
    for (name, iterations, warmup, seed) in
        [("full", 30, 3, 1337), ("quick", 10, 2, 1337), ("kernel", 500, 200, 42)]
    {
        ran(folder.path(), &format!("run --quiet --preset {name}")).exits(0);
        let record = newest(folder.path());
        let case = &record.cases[0];
        let origin = Origin::Cli(format!("--preset {name}"));
        for (setting, value) in [("iterations", iterations), ("warmup", warmup)] {
            let shown = &case.config[setting];
            assert_eq!((&shown.value, &shown.origin), (&value.into(), &origin), "{name}");
        }
        assert_eq!(case.config["seed"].value, seed, "{name}");
        let times = values(case, "time");
        assert_eq!((times.len(), times[0]), (iterations as usize, f64::from(warmup + 1)), "{name}");
        // What is given by itself stands above a preset.
        ran(folder.path(), &format!("run --quiet --preset {name} --iterations 4")).exits(0);
        assert_eq!(values(&newest(folder.path()).cases[0], "time").len(), 4);
    }
    ran(folder.path(), "run --preset slow").exits(2).says("quick");
}

#[test]
fn s1_5_a_count_that_the_kernel_takes_is_part_of_its_identity() {
    let folder = folder(&[
        ("gbench.toml", &suite("", "layout = \"kernels\"")),
        ("kernels/sum.py", "def sum_kernel(n, iterations):\n    return sum(range(n * iterations))\n"),
        ("kernels/bench.yaml", "problem_size: {n: 100, iterations: 30}\n"),
    ]);
    let [base, head] =
        before_and_after(folder.path(), "kernels/bench.yaml", ("iterations: 30", "iterations: 10"));
    assert!(names(&newest(folder.path()))[0].contains("iterations=10,n=100"));
    let (ran, document) = compared(folder.path(), &base, &head);
    ran.exits(4);
    let found: BTreeSet<Verdict> = document.rows.iter().map(|row| row.verdict).collect();
    assert_eq!(found, [Verdict::Missing, Verdict::New].into(), "10 iterations and 30 are not compared");
}

#[test]
fn s1_7_s2_8_s2_10_s3_9_s3_10_s3_19_rates_are_work_by_time() {
    let keys = "zip = { B = [1, 2], H = [8, 8], S = [128, 256], d = [64, 64] }\n\
                work = { items = \"B * H * S\", flops = \"4 * B * H * S ** 2 * d\", bytes = \"4 * 2 * B * H * S * d\" }";
    let module = "def bench(B, H, S, d):\n    return [2.0 * B, 2.5 * B]\n";
    let (folder, record) = measured(keys, SELF_TIMED, module, "--iterations 2");
    for (batch, sequence) in [(1.0, 128.0), (2.0, 256.0)] {
        let case = case(&record, &format!("B={batch},"));
        let tokens = batch * 8.0 * sequence;
        for (name, unit, work) in [
            ("items_rate", "items/s", tokens),
            ("flops_rate", "FLOP/s", 4.0 * tokens * sequence * 64.0),
            ("bytes_rate", "B/s", 8.0 * tokens * 64.0),
        ] {
            let rate = metric(case, name);
            assert_eq!((rate.unit.as_str(), rate.better), (unit, Some(Better::Higher)));
            for (rate, milliseconds) in values(case, name).iter().zip([2.0 * batch, 2.5 * batch]) {
                let expected = work / (milliseconds / 1000.0);
                assert!((rate / expected - 1.0).abs() < 1e-9, "{name}: {rate}, {expected}");
            }
        }
    }
    // GB/s are 1e9 bytes: 8 * 1024 * 64 bytes in 2.25 ms.
    ran(folder.path(), "report").says("MB/s").says("GFLOP/s");
    // Without a size the work of a call is one call: 1000 / the time in milliseconds.
    let (_folder, record) = measured("work = { items = 1 }", SELF_TIMED, "def bench(): return 4.0\n", "");
    assert_eq!(values(&record.cases[0], "items_rate"), [250.0; 3]);
}

/// Times by the order of the processes: `noisy` ones, one that stands apart, and `quiet` ones.
const NOISE: &str = r#"
import os
TIMES = {"noisy": [10, 13, 9, 12, 11], "lone": [10, 10.01, 20, 10.02, 9.99], "quiet": [10, 10.01, 10.02, 9.99, 10.0]}
with open("starts", "a") as file:
    file.write("x")
START = os.path.getsize("starts") - 1
def bench(kind):
    return TIMES[kind][START % 5]
"#;

#[test]
fn s1_20_s1_21_findings_name_what_varies_and_what_stands_apart_and_say_what_to_do() {
    let keys = "processes = 5\nmatrix = { kind = [\"noisy\", \"lone\", \"quiet\"] }";
    let folder = folder(&[("gbench.toml", &suite(keys, SELF_TIMED)), ("m.py", NOISE)]);
    let run = ran(folder.path(), "run").exits(0);
    let run = run.says("s/b[kind=noisy] time by 14.5 % (5 % matters)").says("raise --processes to about 140");
    let run = run.says("s/b[kind=lone] time: process 3 of 5 measured 20.00 ms, the others agree on 10.01 ms");
    let run = run.says("look for other programs that ran at the same time as it");
    assert!(!run.out.contains("kind=quiet] time by"), "{}", run.out);
    // Without the fact there is no advice.
    let quiet = ran(folder.path(), "run --param kind=quiet").exits(0);
    assert!(
        !quiet.out.contains("raise --processes") && !quiet.out.contains("the others agree"),
        "{}",
        quiet.out
    );
}

/// A sweep whose times are known, but for a spread of 0.2 % between processes.
const SWEEP: &str = r#"
import os, random
SLOW = 1.0
FACTOR = {"pytorch": 2.0, "triton": 1.0}
def bench(operation, implementation, batch_size, sequence_length, tensor_dimension):
    drawn = random.Random("%d %s %s %d %d %d" % (os.getpid(), operation, implementation, batch_size, sequence_length, tensor_dimension))
    factor = FACTOR[implementation] * (SLOW if batch_size == 2 and operation == "GELU" else 1.0)
    return factor * batch_size * sequence_length * tensor_dimension / 1000 * (1 + drawn.gauss(0, SPREAD))
"#;

fn sweep(spread: &str) -> (String, String) {
    let keys = "matrix = { operation = [\"LayerNorm\", \"GELU\"], implementation = [\"pytorch\", \"triton\"], batch_size = [1, 2], \
                sequence_length = [128, 256, 512], tensor_dimension = [4, 8] }";
    (suite(keys, SELF_TIMED), SWEEP.replace("SPREAD", spread))
}

#[test]
fn s2_2_s2_3_each_point_of_a_sweep_is_a_row_of_its_own() {
    let (text, module) = sweep("0");
    let folder = folder(&[("gbench.toml", &text), ("m.py", &module)]);
    ran(folder.path(), "run --quiet").exits(0);
    let record = newest(folder.path());
    let all: BTreeSet<String> = names(&record).into_iter().collect();
    assert_eq!(all.len(), 2 * 2 * 2 * 3 * 2);
    for case in &record.cases {
        let of = |name: &str| case.id.params[name].number().unwrap();
        let factor =
            if case.id.params["implementation"] == ParamValue::Text("triton".into()) { 1.0 } else { 2.0 };
        let expected = factor * of("batch_size") * of("sequence_length") * of("tensor_dimension") / 1000.0;
        assert_eq!(values(case, "time"), [expected; 3], "{}", case.id);
    }
}

#[test]
fn s2_11_a_subset_of_a_parameter_is_measured_and_an_unknown_name_is_an_error() {
    let (text, module) = sweep("0");
    let folder = folder(&[("gbench.toml", &text), ("m.py", &module)]);
    ran(folder.path(), "run --quiet --param sequence_length=128,512 --param implementation=triton").exits(0);
    let record = newest(folder.path());
    assert_eq!(record.cases.len(), 2 * 2 * 2 * 2);
    let lengths: BTreeSet<&ParamValue> =
        record.cases.iter().map(|it| &it.id.params["sequence_length"]).collect();
    assert_eq!(lengths, [&ParamValue::Int(128), &ParamValue::Int(512)].into());
    ran(folder.path(), "run --param sequence_lenght=128").exits(2).says("write `sequence_length`");
    assert_eq!(runs(folder.path()).len(), 1);
}

#[test]
fn s2_25_the_preset_quick_cuts_each_list_and_the_record_says_so() {
    let (text, module) = sweep("0");
    let folder = folder(&[("gbench.toml", &text), ("m.py", &module)]);
    ran(folder.path(), "run --quiet --preset quick").exits(0);
    let record = newest(folder.path());
    assert_eq!(record.cases.len(), 2 * 2 * 2 * 2 * 2);
    assert!(record.cases.iter().all(|case| case.id.params["sequence_length"] != ParamValue::Int(256)));
    assert!(record.command.ends_with(&["--preset".into(), "quick".into()]), "{:?}", record.command);
    assert_eq!(record.cases[0].config["iterations"].origin, Origin::Cli("--preset quick".into()));
}

#[test]
fn s2_30_conditions_leave_points_out_and_count_them() {
    let keys = "matrix = { batch_size = [1, 1000], sequence_length = [100, 1000], tensor_dimension = [100, 1000] }\n\
                where = [\"batch_size * sequence_length * tensor_dimension <= 50_000_000\"]";
    let module = "def bench(batch_size, sequence_length, tensor_dimension): return 1.0\n";
    let (folder, record) = measured(keys, SELF_TIMED, module, "");
    // Of the batch of 1000 only 100 x 100 has at most 50 million elements.
    assert_eq!(record.cases.len(), 5);
    assert!(record.cases.iter().all(|case| {
        case.id.params.values().map(|value| value.number().unwrap()).product::<f64>() <= 50e6
    }));
    ran(folder.path(), "run --dry-run")
        .exits(0)
        .says("5 cases in at least 1 process; 3 combinations left out by `where`");
    let list = ran(folder.path(), "list --json").exits(0).out;
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!((&list["benchmarks"][0]["cases"], &list["benchmarks"][0]["excluded"]), (&5.into(), &3.into()));
}

#[test]
fn s2_13_s2_14_implementations_are_held_against_each_other_for_an_operation() {
    let (text, module) = sweep("0");
    let folder = folder(&[("gbench.toml", &text), ("m.py", &module)]);
    ran(folder.path(), "run --quiet").exits(0);
    let line = "--group-by implementation --where operation=LayerNorm";
    let table = &tables(folder.path(), line)[0];
    let found = rows(table)
        .iter()
        .map(|row| (row["implementation"].as_str().unwrap(), row["mean"].as_f64().unwrap()));
    // (1 + 2) / 2 * (128 + 256 + 512) / 3 * (4 + 8) / 2 / 1000 milliseconds
    let mean = 1.5 * 896.0 / 3.0 * 6.0 / 1000.0;
    for ((name, found), (expected, factor)) in found.zip([("pytorch", 2.0), ("triton", 1.0)]) {
        assert_eq!(name, expected);
        assert!((found - factor * mean).abs() < 1e-9, "{name}: {found}");
    }
    assert!(rows(table).iter().all(|row| row["cases"] == 12));
    let terminal = ran(folder.path(), &format!("report {line}")).exits(0);
    terminal.says("operation=LayerNorm, time by implementation").says("5.376 ms");
    let page = ran(folder.path(), &format!("report {line} --format markdown")).exits(0).out;
    assert!(page.contains("| `pytorch` | 12 | 5.376 ms |"), "{page}");
    // All operations at once.
    let both = "report --by operation --group-by implementation";
    let page = ran(folder.path(), &format!("{both} --format markdown")).exits(0).out;
    assert!(page.contains("| operation | pytorch | triton |"), "{page}");
    ran(folder.path(), both).exits(0).says("time by operation and implementation");
}

#[test]
fn s2_15_s2_16_s2_17_a_row_for_each_value_with_the_median_over_the_others_and_the_change() {
    let (text, module) = sweep("0.002");
    let text = text.replace("processes = 1", "processes = 5");
    let folder = folder(&[("gbench.toml", &text), ("m.py", &module)]);
    let [base, head] = before_and_after(folder.path(), "m.py", ("SLOW = 1.0", "SLOW = 1.25"));
    let base_name = base.display();
    // The times of a parameter's value but for the other's factors: 2 or 1, 1 or 2, ..., and their median by hand.
    let others = [
        ("batch_size", [1.0, 2.0, 0.0], vec![128.0, 256.0, 512.0], vec![4.0, 8.0]),
        ("sequence_length", [128.0, 256.0, 512.0], vec![1.0, 2.0], vec![4.0, 8.0]),
        ("tensor_dimension", [4.0, 8.0, 0.0], vec![1.0, 2.0], vec![128.0, 256.0, 512.0]),
    ];
    for (name, own, first, second) in others {
        let mut times: Vec<f64> = Vec::new();
        for factor in [1.0, 2.0, 1.0, 2.0] {
            times.extend(first.iter().flat_map(|a| second.iter().map(move |b| factor * a * b / 1000.0)));
        }
        times.sort_by(f64::total_cmp);
        let median = (times[times.len() / 2 - 1] + times[times.len() / 2]) / 2.0;
        let table = &tables(folder.path(), &format!("{base_name} --by {name}"))[0];
        let own: Vec<f64> = own.into_iter().filter(|value| *value > 0.0).collect();
        assert_eq!(rows(table).len(), own.len());
        for (row, value) in rows(table).iter().zip(own) {
            assert_eq!(row[name].as_f64(), Some(value));
            let found = row["median"].as_f64().unwrap();
            assert!((found / (value * median) - 1.0).abs() < 0.01, "{name}={value}: {found}");
        }
    }
    let (ran, _) = compared(folder.path(), &base, &head);
    // The most changed are named, and the way it went.
    let ran = ran.exits(3).says("batch_size=2,").says("worst 0.80x").says("operation=GELU");
    ran.says("time by batch_size");
    let speeds = |name: &str| -> Vec<f64> {
        let table = &tables(folder.path(), &format!("verdict.json --by {name}"))[0];
        rows(table).iter().map(|row| row["speed"].as_f64().unwrap()).collect()
    };
    // Half of the rows with a batch of 2 take 1.25 times as long.
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.01, "{found}");
    let by_batch = speeds("batch_size");
    near(by_batch[0], 1.0);
    near(by_batch[1], 0.8f64.sqrt());
    for name in ["sequence_length", "tensor_dimension"] {
        speeds(name).into_iter().for_each(|speed| near(speed, 0.8f64.powf(0.25)));
    }
}

#[test]
fn s1_20_the_most_changed_case_is_named_in_either_direction() {
    let module = "import os, random\nSLOW = 1.0\ndef bench(n):\n    factor = SLOW if n == 3 else 1.0\n    \
                  return factor * (1 + random.Random('%d %d' % (os.getpid(), n)).gauss(0, 0.001))\n";
    let keys = "processes = 5\nmatrix = { n = [1, 2, 3, 4] }";
    let folder = folder(&[("gbench.toml", &suite(keys, SELF_TIMED)), ("m.py", module)]);
    let [base, head] = before_and_after(folder.path(), "m.py", ("SLOW = 1.0", "SLOW = 2.0"));
    let (slower, _) = compared(folder.path(), &base, &head);
    slower.exits(1).says("worst 0.50x s/b[n=3] time");
    let (faster, document) = compared(folder.path(), &head, &base);
    faster.says("best 2.00x s/b[n=3] time");
    let improved = document.rows.iter().filter(|row| row.verdict == Verdict::Improved);
    assert_eq!(improved.map(|row| row.case.to_string()).collect::<Vec<_>>(), ["s/b[n=3]"]);
}

#[test]
fn s1_14_what_the_layouts_found_is_kept_with_the_run() {
    let folder = folder(&[
        ("gbench.toml", &suite("", "layout = \"kernels\"\nroots = [\"mine\"]")),
        ("mine/sum.py", "import json\ndef sum_kernel(n):\n    return sum(range(n))\n"),
        ("mine/bench.yaml", "problem_size: {n: 100}\n"),
        ("mine/test_sum.py", ""),
        ("kernels/other.py", "def other_kernel(): pass\n"),
    ]);
    ran(folder.path(), "run --quiet").exits(0);
    let found = runs(folder.path()).pop().unwrap().join("reports/discovery.json");
    let found: Value = serde_json::from_slice(&std::fs::read(found).unwrap()).unwrap();
    let schema = include_str!("../docs/schema/discovery-v1.json");
    jsonschema::validate(&serde_json::from_str(schema).unwrap(), &found).unwrap();
    let kernels = found["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 1, "the roots are those of the suite file: {found}");
    assert_eq!((&kernels[0]["path"], &kernels[0]["name"]), (&"mine/sum.py".into(), &"sum".into()));
    assert_eq!(kernels[0]["config"]["problem_size"]["n"], 100);
    assert_eq!(found["passed_over"][0]["path"], "mine/test_sum.py");
}

#[test]
fn s1_17_the_report_says_what_was_measured_with() {
    let (folder, record) = measured("", "file = \"m.py\"", "def benchmark(): return 1\n", "");
    let python = record.cases[0].metadata["python"].as_str().unwrap().to_owned();
    let page = ran(folder.path(), "report --all").exits(0);
    let page = page.says("Environment").says(&format!("Python {python}")).says("no git repository");
    page.says("kernel ").says("GPU ");
    support::git::commit_all(&support::git::init(folder.path()));
    ran(folder.path(), "run --quiet").exits(0);
    let summary = runs(folder.path()).pop().unwrap().join("reports/summary.md");
    let summary = std::fs::read_to_string(summary).unwrap();
    let commit = newest(folder.path()).manifest.git.known().unwrap().commit.clone().unwrap();
    assert!(summary.contains(&format!("- **commit**: {commit} on main, with")), "{summary}");
    assert!(summary.contains(&format!("- **Python**: {python},")), "{summary}");
}

#[test]
fn s1_19_memory_and_energy_are_shown_where_they_were_measured() {
    let files = [
        ("gbench.toml", suite("", "file = \"m.py\"\nway = \"class\"")),
        (
            "m.py",
            "class B:\n    def benchmark_fn(self): pass\n    def get_custom_metrics(self): return {\"energy_j\": 2.5}\n".into(),
        ),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = folder(&files);
    ran(folder.path(), "run --quiet").exits(0);
    let page = ran(folder.path(), "report --all --format markdown").exits(0).out;
    let row = page.lines().skip_while(|line| !line.contains("| energy |")).nth(2).unwrap().to_owned();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert!(cells[2].ends_with("iB"), "{row}");
    assert_eq!((cells[3], cells[5]), ("not measured", "2.500 J"), "{row}");
    let (folder, _) = measured("", "file = \"m.py\"", "def benchmark(): return 1\n", "");
    let page = ran(folder.path(), "report --all --format markdown").exits(0).out;
    assert!(page.lines().any(|line| line.ends_with("| not measured |")), "{page}");
}

#[test]
fn code_that_both_sides_import_from_the_checkout_is_no_measurement() {
    let tree = support::git::Sandbox::new();
    let text = suite("", "file = \"bench/m.py\"");
    let module = "from mine import work\ndef benchmark(): return work()\n";
    let mine = "def work(): return sum(range(1000))\n";
    let files = [
        ("gbench.toml", text.as_str()),
        ("bench/m.py", module),
        ("src/mine/__init__.py", mine),
        (".gitignore", "artifacts\n.gbench\n"),
    ];
    tree.commit(&files);
    tree.commit(&[("src/mine/__init__.py", &mine.replace("1000", "9000"))]);
    let compare = || {
        let mut compare = command(&tree.root(), "compare HEAD~1..HEAD --quiet --rounds 4");
        compare.env("PYTHONPATH", tree.root().join("src"));
        ended(compare)
    };
    compare()
        .exits(3)
        .says("is your checkout and not the tree of this side")
        .says("name its folder by `path`");
    // Each side's own sources: the change is seen.
    let own = text.replace("file =", "path = [\"src\"]\nfile =");
    tree.commit(&[("gbench.toml", own.as_str()), ("src/mine/__init__.py", mine)]);
    tree.commit(&[("src/mine/__init__.py", &mine.replace("1000", "9000"))]);
    compare().says("s/b time").says("% worse");
    // Code that is to be the same on both sides.
    tree.commit(&[("gbench.toml", &text.replace("file =", "shared_code = true\nfile ="))]);
    tree.commit(&[("README", "")]);
    assert_ne!(compare().code, 4);
}

#[test]
fn a_case_without_neighbours_has_its_own_processes_from_the_first_round_on() {
    for (cases, own) in [("[1]", true), ("[1, 2]", false)] {
        let tree = support::git::Sandbox::new();
        let text = suite(&format!("matrix = {{ n = {cases} }}"), "file = \"m.py\"");
        let module = "def benchmark(n): return sum(range(1000))\n";
        let ignored = "artifacts\n.gbench\n";
        tree.commit(&[("gbench.toml", &text), ("m.py", module), (".gitignore", ignored)]);
        tree.commit(&[("README", "the same\n")]);
        ran(&tree.root(), "compare HEAD~1..HEAD --quiet --rounds 4 --controls 0");
        let head = runs(&tree.root()).pop().unwrap().join("head/results/record.json");
        let record: RunRecord = serde_json::from_slice(&std::fs::read(head).unwrap()).unwrap();
        assert!(!record.cases[0].processes.is_empty());
        for process in &record.cases[0].processes {
            assert_eq!(process.shared.is_none(), own, "{cases}: {process:?}");
        }
    }
}

#[test]
fn a_file_that_only_the_checkout_has_is_told_as_such() {
    let tree = support::git::Sandbox::new();
    let text = suite("", "file = \"m.py\"");
    let module = "def benchmark():\n    with open('data/in.txt') as file:\n        return len(file.read())\n";
    tree.commit(&[
        ("gbench.toml", text.as_str()),
        ("m.py", module),
        (".gitignore", "artifacts\n.gbench\ndata\n"),
    ]);
    tree.commit(&[("README", "the same\n")]);
    tree.write("data/in.txt", "8");
    ran(&tree.root(), "run --quiet").exits(0);
    let compared = ran(&tree.root(), "compare HEAD~1..HEAD --quiet --rounds 4").exits(3);
    compared.says("data/in.txt is in your checkout and in no commit");
}

#[test]
fn s1_33_tolerances_bound_the_function_of_a_file() {
    let module =
        "def right(n): return [float(n), 1.0]\ndef benchmark(n): return [float(n), 1.0 + 0.5 * (n == 2)]\n";
    let python = "file = \"m.py\"\nreference = \"right\"\ntolerances = { max_error = 0.1 }";
    let folder = folder(&[("gbench.toml", &suite("matrix = { n = [1, 2] }", python)), ("m.py", module)]);
    ran(folder.path(), "run --quiet").exits(4).says("max_error");
    let record = newest(folder.path());
    assert!(case(&record, "n=1").outcome.is_measured());
    assert!(matches!(case(&record, "n=2").outcome, Outcome::Invalid { .. }));
    let described = ran(folder.path(), "describe s/b").exits(0);
    described.says("module m.py").says("tolerances max_error=0.1").says("interpreter /");
    for (python, says) in [
        ("file = \"m.py\"\nway = \"self-timed\"\ntolerances = { rmse = 1 }", "is for a function"),
        ("layout = \"kernels\"\nreference = \"right\"", "is for a single module"),
        ("file = \"m.py\"\ntolerances = { rmse = -1 }", "cannot be -1"),
        ("file = \"m.py\"\ntolerances = { rsme = 1 }", "rmse"),
    ] {
        write(folder.path(), "gbench.toml", &suite("", python));
        ran(folder.path(), "list").exits(2).says(says);
    }
}

#[test]
fn s1_22_a_comparison_without_a_regression_has_its_page() {
    let tree = support::git::Sandbox::new();
    let text = suite("", "file = \"m.py\"\nway = \"self-timed\"");
    let module = "import random\ndef benchmark(): return 1 + random.SystemRandom().gauss(0, 0.0001)\n";
    tree.commit(&[("gbench.toml", &text), ("m.py", module), (".gitignore", "artifacts\n")]);
    tree.commit(&[("README", "the same\n")]);
    ran(&tree.root(), "compare HEAD~1..HEAD --quiet").exits(0);
    let page = runs(&tree.root()).pop().unwrap().join("reports/verdict.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("2 rows: 2 unchanged"), "{page}");
}

/// An implementation by its parameter: one that is wrong and fast, and two that are right.
const IMPLEMENTATIONS: &str = r#"
import gbench
TRITON = True
WORK = {"wrong": 10, "triton": 2000, "pytorch": 6000000}
class Operator:
    def __init__(self, operation, implementation):
        self.implementation = implementation
        if implementation == "triton" and not TRITON:
            gbench.skip("triton is not installed")
    def benchmark_fn(self):
        return sum(range(WORK[self.implementation]))
    def validate_result(self):
        return self.implementation != "wrong" or "row 3 is off by 0.25"
def get_benchmark(operation, implementation):
    return Operator(operation, implementation)
"#;

#[test]
fn s2_27_the_fastest_is_one_of_those_that_are_right() {
    let keys = "matrix = { operation = [\"GELU\", \"Swish\"], implementation = [\"wrong\", \"triton\", \"pytorch\"] }";
    let text = suite(keys, "file = \"m.py\"\nway = \"class\"");
    let folder = folder(&[("gbench.toml", &text), ("m.py", IMPLEMENTATIONS)]);
    ran(folder.path(), "run --quiet").exits(4).says("row 3 is off by 0.25");
    let [groups, best] = tables(folder.path(), "--group-by implementation").try_into().unwrap();
    let implementations: Vec<&str> =
        rows(&groups).iter().map(|row| row["implementation"].as_str().unwrap()).collect();
    assert_eq!(implementations, ["pytorch", "triton"]);
    assert_eq!(rows(&best).len(), 2, "a winner for each operation");
    for row in rows(&best) {
        assert_eq!((&row["best"], &row["next"]), (&"triton".into(), &"pytorch".into()), "{row}");
    }
}

#[test]
fn s2_5_an_implementation_that_is_not_here_is_skipped_and_fails_the_gate_where_the_base_had_it() {
    let keys = "threshold = \"1000%\"\nprocesses = 5\nmatrix = { operation = [\"GELU\"], implementation = [\"pytorch\", \"triton\"] }";
    let text = suite(keys, "file = \"m.py\"\nway = \"class\"");
    let folder = folder(&[("gbench.toml", &text), ("m.py", IMPLEMENTATIONS)]);
    let [base, head] = before_and_after(folder.path(), "m.py", ("TRITON = True", "TRITON = False"));
    let record = newest(folder.path());
    assert!(case(&record, "implementation=pytorch").outcome.is_measured());
    let outcome = &case(&record, "implementation=triton").outcome;
    assert!(
        matches!(outcome, Outcome::Skipped { cause, .. } if cause == "triton is not installed"),
        "{outcome:?}"
    );
    let (ran, document) = compared(folder.path(), &base, &head);
    ran.exits(4).says("triton is not installed");
    let missing = document.rows.iter().filter(|row| row.verdict == Verdict::Missing);
    let missing: Vec<String> = missing.map(|row| row.case.to_string()).collect();
    assert_eq!(missing, ["s/b[implementation=triton,operation=GELU]"]);
    // The other way round it is new, and nothing is amiss.
    let (_, document) = compared(folder.path(), &head, &base);
    let found: BTreeSet<Verdict> = document.rows.iter().map(|row| row.verdict).collect();
    assert!(found.contains(&Verdict::New) && !found.contains(&Verdict::Missing), "{found:?}");
}

#[test]
fn s1_32_what_bench_yaml_says_holds_below_the_command_line() {
    const OF_7: f64 = 0.32383276483316237;
    const OF_9: f64 = 0.46300735781502145;
    let module = "import random\nDRAWN = random.random()\ndef draw_kernel(n, precision, backend):\n    return [DRAWN]\n\
                  def reference_result(n):\n    return [0.0]\n";
    let yaml = "problem_size: {n: 10}\nprecisions: [fp32, fp16]\nbackends: [cpu]\niterations: 4\nwarmup: 1\nseed: 7\n";
    let text = suite("", "layout = \"kernels\"");
    let folder = folder(&[("gbench.toml", &text), ("kernels/draw.py", module), ("kernels/bench.yaml", yaml)]);
    let run = |line: &str| {
        ran(folder.path(), &format!("run --quiet {line}")).exits(0);
        newest(folder.path())
    };
    let record = run("");
    assert_eq!(
        names(&record),
        [
            "s/b[backend=cpu,case=kernels/draw,n=10,precision=fp32]",
            "s/b[backend=cpu,case=kernels/draw,n=10,precision=fp16]",
        ]
    );
    for case in &record.cases {
        assert_eq!((values(case, "time").len(), values(case, "error.max_error")), (4, vec![OF_7]));
        let config = &case.config;
        assert_eq!(
            (&config["iterations"].value, &config["iterations"].origin),
            (&4.into(), &Origin::Benchmark)
        );
        assert_eq!((&config["warmup"].value, &config["warmup"].origin), (&1.into(), &Origin::Benchmark));
        assert_eq!(case.metadata["seed"], 7);
    }
    let record = run("--iterations 6 --seed 9");
    for case in &record.cases {
        assert_eq!((values(case, "time").len(), values(case, "error.max_error")), (6, vec![OF_9]));
        assert_eq!(case.config["iterations"].origin, Origin::Cli("--iterations".into()));
        assert_eq!(case.metadata["seed"], 9);
    }
}

#[test]
fn s1_43_without_optional_packages_bench_yaml_is_read_and_what_is_missing_is_said() {
    // An interpreter without what is installed beside Python: no PyYAML, no torch, no JAX.
    let text = suite("", "layout = \"kernels\"\ninterpreter = [\"python3\", \"-S\", \"-E\"]");
    let folder = folder(&[
        ("gbench.toml", &text),
        ("kernels/a/plain.py", "def plain_kernel(n, backend):\n    return sum(range(n))\n"),
        ("kernels/a/bench.yaml", "problem_size: {n: 10}\nbackends: [cpu, pytorch, jax]\n"),
        ("kernels/b/needs.py", "import torch\ndef needs_kernel(n):\n    return 1\n"),
        ("kernels/b/bench.yaml", "problem_size: {n: 10}\n"),
    ]);
    ran(folder.path(), "run --quiet").exits(4).says("No module named 'torch'");
    let record = newest(folder.path());
    assert!(case(&record, "backend=cpu").outcome.is_measured());
    for (backend, package) in [("pytorch", "torch"), ("jax", "jax")] {
        let outcome = &case(&record, &format!("backend={backend}")).outcome;
        let expected = format!("{package} is not installed");
        assert!(matches!(outcome, Outcome::Skipped { cause, .. } if *cause == expected), "{outcome:?}");
    }
    let needs = &case(&record, "case=kernels/b/needs").outcome;
    assert!(
        matches!(needs, Outcome::Failed { advice, .. } if advice.starts_with("install what it imports")),
        "{needs:?}"
    );
}

#[test]
fn s1_25_s3_31_an_accuracy_that_drifts_by_more_than_a_thousandth_fails_the_gate() {
    let kernel = "DRIFT = 0.0\ndef sum_kernel(n):\n    return [float(sum(range(n))) / n + DRIFT] * 4\n\
                  def reference_result(n):\n    return [float(sum(range(n))) / n] * 4\n";
    let yaml = "problem_size: {n: 100}\ntolerances: {max_error: 0.1}\n";
    let text = suite("processes = 5", "layout = \"kernels\"");
    let folder = folder(&[("gbench.toml", &text), ("kernels/sum.py", kernel), ("kernels/bench.yaml", yaml)]);
    let figures = ["error.rmse", "error.max_error"];
    let [base, near] = before_and_after(folder.path(), "kernels/sum.py", ("DRIFT = 0.0", "DRIFT = 0.0005"));
    let (_, document) = compared(folder.path(), &base, &near);
    figures
        .iter()
        .for_each(|name| assert_eq!(verdicts(&document, name), [Verdict::Unchanged].into(), "{name}"));
    let [_, far] = before_and_after(folder.path(), "kernels/sum.py", ("DRIFT = 0.0005", "DRIFT = 0.01"));
    let (ran_far, document) = compared(folder.path(), &base, &far);
    ran_far.exits(1);
    figures
        .iter()
        .for_each(|name| assert_eq!(verdicts(&document, name), [Verdict::Regressed].into(), "{name}"));
    let (_, document) = compared(folder.path(), &far, &base);
    figures
        .iter()
        .for_each(|name| assert_eq!(verdicts(&document, name), [Verdict::Improved].into(), "{name}"));
    // Beside the time, in the record.
    let record = newest(folder.path());
    assert!((values(&record.cases[0], "error.max_error")[0] - 0.01).abs() < 1e-9);
    assert_eq!(values(&record.cases[0], "time").len(), 5 * 3);
    // Beyond the tolerance it is wrong, however fast it is.
    let [_, wrong] = before_and_after(folder.path(), "kernels/sum.py", ("DRIFT = 0.01", "DRIFT = 0.2"));
    assert!(matches!(newest(folder.path()).cases[0].outcome, Outcome::Invalid { .. }));
    let (ran_wrong, document) = compared(folder.path(), &base, &wrong);
    ran_wrong.exits(4).says("max_error is 0.2, and 0.1 is allowed");
    assert!(document.rows.iter().all(|row| row.verdict == Verdict::Invalid));
}

#[test]
fn s1_46_a_figure_of_a_modules_own_is_in_the_record_and_judged_with_unit_and_direction() {
    let module = "import os, random\nCOPIED = 100\nclass Bench:\n    def benchmark_fn(self): return sum(range(1000))\n    \
                  def get_custom_metrics(self):\n        \
                  return {'copied_gb_s': COPIED + random.Random(os.getpid()).gauss(0, 0.1), 'occupancy': 0.5 * COPIED}\n";
    let folder = folder(&[("gbench.toml", &suite("processes = 5", PAIRS)), ("baseline_a.py", module)]);
    let [base, head] = before_and_after(folder.path(), "baseline_a.py", ("COPIED = 100", "COPIED = 70"));
    let record = newest(folder.path());
    let copied = metric(&record.cases[0], "copied_gb_s");
    assert_eq!((copied.unit.as_str(), copied.better), ("GB/s", Some(Better::Higher)));
    let (less, document) = compared(folder.path(), &base, &head);
    less.exits(1).says("copied_gb_s");
    assert_eq!(verdicts(&document, "copied_gb_s"), [Verdict::Regressed].into());
    assert!(verdicts(&document, "occupancy").is_empty(), "nobody said which way it is better");
    let (_, document) = compared(folder.path(), &head, &base);
    assert_eq!(verdicts(&document, "copied_gb_s"), [Verdict::Improved].into());
}

#[test]
fn s3_15_the_best_is_marked_and_the_factors_are_those_of_the_record() {
    let entry = |name: &str| {
        format!(
            "[[benchmark]]\nid = \"{name}\"\ngroup = \"softmax\"\nmatrix = {{ n = [64] }}\n\
             python = {{ file = \"m.py\", way = \"self-timed\", function = \"{name}\" }}\n"
        )
    };
    let text = "[suite]\nname = \"s\"\n[gate]\nwatch = false\n[defaults]\nprocesses = 5\niterations = 3\nwarmup = 0\n".to_owned()
        + &["online", "fused", "naive"].map(entry).concat();
    let module = "import os, random\nNOISE = 1 + random.Random(os.getpid()).gauss(0, 0.002)\n\
                  def online(n): return 3.0 * NOISE\ndef fused(n): return 2.0 * NOISE\ndef naive(n): return 4.5 * NOISE\n";
    let folder = folder(&[("gbench.toml", &text), ("m.py", module)]);
    ran(folder.path(), "run --quiet").exits(0);
    let record = newest(folder.path());
    let page = ran(folder.path(), "report --format markdown").exits(0).out;
    let ranking = page.split("time, lower is better").nth(1).unwrap();
    let csv = ran(folder.path(), "report --format csv").exits(0).out;
    let mut lines = csv::Reader::from_reader(csv.as_bytes());
    let lines: Vec<std::collections::BTreeMap<String, String>> =
        lines.deserialize().map(Result::unwrap).collect();
    let median = |name: &str| metric(case(&record, name), "time").summary.as_ref().unwrap().median;
    for (name, mark) in [("fused", "**BEST**"), ("online", "1."), ("naive", "2.")] {
        let line = ranking.lines().find(|line| line.contains(&format!("`s/{name}`"))).unwrap();
        assert!(line.contains(&format!("| {mark}")), "{line}");
        let line = lines.iter().find(|line| line["benchmark"] == name && line["metric"] == "time").unwrap();
        let factor: f64 = line["vs_best"].parse().unwrap();
        let expected = median(name) / median("fused");
        assert!((factor / expected - 1.0).abs() < 1e-6, "{name}: {factor}, {expected}");
    }
}

#[test]
fn s3_27_what_setup_does_is_in_no_sample_and_a_benchmark_declares_what_it_includes() {
    let module = r#"
import time
class Copies:
    def __init__(self, transfers):
        self.transfers = transfers
        self.begun, self.in_setup = time.monotonic(), 0
    def setup(self):
        begun = time.monotonic()
        time.sleep(0.3)
        self.in_setup += time.monotonic() - begun
    def benchmark_fn(self):
        if self.transfers:
            time.sleep(0.1)
        return sum(range(1000))
    def get_custom_metrics(self):
        return {'outside': time.monotonic() - self.begun - self.in_setup, 'in_setup': self.in_setup}
def get_benchmark(transfers): return Copies(transfers)
"#;
    let python = "file = \"m.py\"\nway = \"class\"";
    for fresh in ["", "\nfresh_inputs = true"] {
        let keys = "matrix = { transfers = [false, true] }";
        let (_folder, record) = measured(keys, &(python.to_owned() + fresh), module, "");
        for (words, least) in [("transfers=false", 0.0), ("transfers=true", 0.1)] {
            let case = case(&record, words);
            let times = values(case, "time");
            assert!(times.iter().all(|time| *time >= least), "{times:?}");
            // However slow the machine is: the samples and the setups have no moment in common.
            let spent: f64 = times.iter().sum::<f64>() * case.metadata["calls_per_sample"].as_f64().unwrap();
            let outside = values(case, "outside")[0];
            assert!(spent <= outside + 1e-3, "{words}: {spent} of {outside}");
        }
        // How long it was is what the gate heard, on a busy machine some time after it had begun.
        assert!(stage(&record.cases[0].processes[0], Stage::Setup).unwrap().1 > 0.0);
        assert!(record.cases.iter().all(|case| values(case, "in_setup")[0] >= 0.3));
    }
}

#[test]
fn s4_24_s4_25_a_duration_is_kept_to_a_tenth_and_a_burn_in_is_in_no_sample() {
    // Slow for the first half second, which a burn-in of a second covers: then no call that is measured is a slow one.
    let module = r#"
import time
CALLS = []
class Bench:
    def benchmark_fn(self):
        now = time.monotonic()
        if not CALLS:
            self.begun = now
        CALLS.append(now < self.begun + 0.5)
        time.sleep(0.03 if CALLS[-1] else 0.001)
        self.lasted = time.monotonic() - self.begun
    def get_custom_metrics(self):
        return {'calls': len(CALLS), 'slow': sum(CALLS), 'lasted': self.lasted}
"#;
    let folder = folder(&[("gbench.toml", &suite("", PAIRS)), ("baseline_a.py", module)]);
    ran(folder.path(), "run --quiet --duration 2 --burnin-seconds 1").exits(0);
    let record = newest(folder.path());
    let case = &record.cases[0];
    let seconds = |at: Stage| stage(&case.processes[0], at).unwrap().1;
    // The gate hears of each stage, on a busy machine some time after it has begun: how long both lasted, the calls know.
    assert!(seconds(Stage::Measure) > 0.0 && seconds(Stage::Warmup) > 0.0);
    let lasted = values(case, "lasted")[0];
    assert!(lasted >= 0.9 * 3.0, "{lasted}");
    let times = values(case, "time");
    assert!(times.iter().all(|time| *time >= 0.001), "{times:?}");
    let per_sample = case.metadata["calls_per_sample"].as_f64().unwrap();
    let [calls, slow] = ["calls", "slow"].map(|name| values(case, name)[0]);
    assert!(slow > 0.0 && slow <= calls - times.len() as f64 * per_sample, "{slow} of {calls}");
    // The last sample is begun before the time is over: however long that one takes, those before it fit in.
    let but_the_last: f64 = times[..times.len() - 1].iter().sum::<f64>() * per_sample;
    assert!(but_the_last <= 2.0, "{but_the_last}");
}
