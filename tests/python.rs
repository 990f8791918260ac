//! Python modules from a suite file to the verdict: what the driver sends is judged like everybody's, a module that misbehaves costs itself
//! only, and an interpreter is started seldom. The driver's own tests, in Python, run here too: their names bear the rows.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use gbench_ci::compare::{Row, Verdict, VerdictDocument};
use gbench_ci::model::{CaseRecord, Origin, Outcome, ParamValue, RunRecord, Stage};

use crate::support::cli::{newest, ran, runs};
use crate::support::folder;
use crate::support::repository::Repository;

/// Runs one file of the driver's tests. A test that needs numpy or torch says that it is skipped; the others never are.
fn driver_tests(file: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/gbench-measure/src/driver/python");
    let words = ["-m", "unittest", &format!("tests.{file}")];
    let output =
        Command::new("python3").args(words).current_dir(folder).output().expect("python3 is on PATH");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

macro_rules! driver_tests {
    ($($file:ident),* $(,)?) => {
        $(#[test]
        fn $file() {
            driver_tests(stringify!($file));
        })*

        #[test]
        fn every_file_of_the_driver_s_tests_is_run() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/gbench-measure/src/driver/python/tests");
            let mut found: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .filter_map(|entry| entry.unwrap().file_name().into_string().unwrap().strip_suffix(".py").map(str::to_owned))
                .filter(|name| name.starts_with("test_"))
                .collect();
            found.sort();
            assert_eq!(found, [$(stringify!($file)),*]);
        }
    };
}

mod driver {
    use super::*;

    driver_tests! {
        test_answers,
        test_class_way,
        test_cuda,
        test_cuda_clocks,
        test_events,
        test_function_way,
        test_handed_over,
        test_loading,
        test_misbehaving,
        test_neighbours,
        test_numpy,
        test_timing,
        test_torch,
        test_warm_up,
        test_watched,
    }
}

fn pairs(more: &str) -> String {
    format!(
        "[suite]\nname = \"s\"\n[gate]\nwatch = false\n[[benchmark]]\nid = \"book\"\nprocesses = 2\niterations = 3\nwarmup = 1\n{more}\n\
         [benchmark.python]\nlayout = \"pairs\"\n"
    )
}

/// A benchmark whose measured work is this expression.
fn class(work: &str) -> String {
    format!("class Bench:\n    def benchmark_fn(self):\n        return {work}\n")
}

fn named<'r>(record: &'r RunRecord, case: &str) -> &'r CaseRecord {
    let is = |it: &&CaseRecord| it.id.params.get("case") == Some(&ParamValue::Text(case.into()));
    record.cases.iter().find(is).unwrap_or_else(|| panic!("no case is called {case}"))
}

#[test]
fn s0_6_one_command_measures_all_pairs_and_one_interpreter_all_of_a_side() {
    let folder = folder(&[
        ("gbench.toml", &pairs("")),
        ("ch1/baseline_sum.py", &class("sum(range(500))")),
        ("ch1/optimized_sum.py", &class("500 * 499 // 2")),
        ("ch1/optimized_sum_table.py", &class("124750")),
        ("ch10/baseline_last.py", &class("1")),
        ("ch2/baseline_next.py", &class("1")),
        ("ch2/optimized_orphan.py", &class("1")),
    ]);
    ran(folder.path(), "run").exits(0).says("ch2/optimized_orphan.py is not measured");
    let record = newest(folder.path());
    let names: Vec<String> = record.cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(
        names,
        [
            "s/book[case=sum,chapter=ch1,variant=baseline]",
            "s/book[case=sum,chapter=ch1,variant=optimized]",
            "s/book[case=sum,chapter=ch1,technique=table,variant=optimized]",
            "s/book[case=next,chapter=ch2,variant=baseline]",
            "s/book[case=last,chapter=ch10,variant=baseline]",
        ]
    );
    for case in &record.cases {
        assert_eq!(
            case.processes.iter().map(|it| it.shared).collect::<Vec<_>>(),
            [Some(5); 2],
            "{}",
            case.id
        );
        let time = case.metrics.iter().find(|metric| metric.name == "time").unwrap();
        assert_eq!((time.unit.as_str(), time.processes[0].values.len()), ("s", 3));
    }
}

#[test]
fn s0_7_isolation_by_process_gives_each_case_and_repetition_an_interpreter() {
    let folder = folder(&[
        ("gbench.toml", &pairs("isolation = \"process\"")),
        ("baseline_a.py", &class("1")),
        ("baseline_b.py", &class("1")),
    ]);
    ran(folder.path(), "run --quiet").exits(0);
    let record = newest(folder.path());
    assert!(record.cases.iter().flat_map(|case| &case.processes).all(|process| process.shared.is_none()));
    assert_eq!(record.cases.iter().map(|case| case.processes.len()).sum::<usize>(), 4);
}

const HANG: &str = "import time\ntime.sleep(1000)\n";
const DIES: &str = "import os, signal\nclass Bench:\n    def benchmark_fn(self):\n        os.kill(os.getpid(), signal.SIGSEGV)\n";
const LEAVES_EARLY: &str =
    "import os\nclass Bench:\n    def benchmark_fn(self): return 1\n    def teardown(self): os._exit(0)\n";
const TEARDOWN: &str = "class Bench:\n    def benchmark_fn(self): return 1\n    def teardown(self): raise RuntimeError('no teardown')\n";
const TTFT: &str = "class Bench:\n    def benchmark_fn(self): return {'ttft_times_ms': [1.0, 2.0], 'tpot_times_ms': [1.0]}\n";
const THREAD: &str = "import threading, time\ndef work():\n    time.sleep(1000)\nclass Bench:\n    def benchmark_fn(self):\n        threading.Thread(target=work, daemon=True).start()\n";
const PATCHES: &str = "import time\ntime.perf_counter = lambda: 0.0\ntime.time = lambda: 0.0\nclass Bench:\n    def benchmark_fn(self): return 1\n";
const PRINTS: &str = "import os, sys\nclass Bench:\n    def benchmark_fn(self):\n        print('{\"event\": \"end\"}')\n        os.write(1, b'\\xff\\xfe')\n        sys.stderr.write('x')\n";

/// The modules of [`C5`], with good ones before, between and behind.
fn misbehaving(folder: &str) -> Vec<(String, String)> {
    let bad = [
        ("b_hang", HANG),
        ("c_dies", DIES),
        ("d_exits", LEAVES_EARLY),
        ("e_teardown", TEARDOWN),
        ("f_ttft", TTFT),
        ("g_thread", THREAD),
        ("h_patches", PATCHES),
        ("i_prints", PRINTS),
    ];
    let good = class("sum(range(200))");
    let mut files = vec![(format!("{folder}baseline_a_good.py"), good.clone())];
    for (name, text) in bad {
        files.push((format!("{folder}baseline_{name}.py"), text.to_owned()));
        files.push((format!("{folder}baseline_{name}_good.py"), good.clone()));
    }
    files
}

#[test]
fn c5_what_misbehaves_is_no_number_and_hurts_no_other() {
    // The good modules have that limit, too: it is long enough for them on a busy machine.
    let suite = pairs("deadlines = { import = \"10s\" }");
    let files = misbehaving("");
    let mut all: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    all.push(("gbench.toml", &suite));
    let folder = folder(&all);
    ran(folder.path(), "run --quiet --processes 1").exits(4);
    let record = newest(folder.path());
    assert_eq!(record.cases.len(), 17);
    for case in &record.cases {
        let ParamValue::Text(name) = &case.id.params["case"] else { panic!("{}", case.id) };
        let good = name.ends_with("_good") || name == "i_prints";
        assert_eq!(case.outcome.is_measured(), good, "{name}: {:?}", case.outcome);
        if !good {
            let partial =
                case.metrics.iter().flat_map(|metric| &metric.processes).all(|process| process.partial);
            assert!(partial, "{name} has a number");
        }
    }
    let said = |case: &str| named(&record, case).outcome.cause();
    assert!(matches!(&named(&record, "b_hang").outcome, Outcome::TimedOut { stage: Stage::Import, .. }));
    assert!(said("c_dies").contains("SIGSEGV"), "{}", said("c_dies"));
    assert!(said("d_exits").contains("os._exit"), "{}", said("d_exits"));
    assert!(said("e_teardown").contains("no teardown"), "{}", said("e_teardown"));
    assert!(said("f_ttft").contains("tpot"), "{}", said("f_ttft"));
    assert!(said("g_thread").contains("thread"), "{}", said("g_thread"));
    assert!(said("h_patches").contains("perf_counter"), "{}", said("h_patches"));
}

#[test]
fn c5_what_misbehaves_on_both_sides_is_never_green() {
    let suite =
        pairs("deadlines = { import = \"10s\" }").replace("[gate]\n", "[gate]\ncontrols = 0\nrounds = 4\n");
    let files = misbehaving("");
    let mut all: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    all.push(("gbench.toml", &suite));
    let repository = Repository::new(&all, &[("note", "nothing\n")]);
    repository.compare("HEAD~1..HEAD").exits(3);
    for row in repository.verdict().rows {
        let name = case_of(&row);
        let good = name.ends_with("_good") || name == "i_prints";
        assert_eq!(row.verdict == Verdict::Broken, !good, "{name}: {:?}", row.verdict);
    }
}

fn case_of(row: &Row) -> String {
    match &row.case.params["case"] {
        ParamValue::Text(name) => name.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_added_to_a_folder_is_measured_and_what_is_gone_is_missing() {
    let suite = pairs("").replace("[gate]\n", "[gate]\ncontrols = 0\nrounds = 4\n");
    let repository = Repository::new(
        &[("gbench.toml", &suite), ("baseline_a.py", &class("1"))],
        &[("baseline_b.py", &class("2"))],
    );
    repository.compare("HEAD~1..HEAD");
    let verdict_of = |name: &str| {
        let rows = repository.verdict().rows;
        rows.into_iter().find(|row| case_of(row) == name).map(|row| row.verdict)
    };
    assert_eq!(verdict_of("b"), Some(Verdict::New));
    repository.compare("HEAD..HEAD~1").exits(4);
    assert_eq!(verdict_of("b"), Some(Verdict::Missing));
}

/// Times of 100 cases, made up from side, process and case: as a module that imports something heavy and times itself. Each start
/// leaves a line in `starts`.
const HEAVY: &str = r#"
import os, random, time
time.sleep(float(os.environ["PAUSE"]))
SIDE = os.path.basename(os.getcwd())
with open(os.environ["STARTS"], "a") as file:
    file.write(SIDE + "\n")
with open(os.environ["STARTS"]) as file:
    PROCESS = file.read().split().count(SIDE)
with open("slow.txt") as file:
    SLOW = int(file.read())

def bench(n):
    drawn = random.Random("%s %d %d" % (SIDE, PROCESS, n))
    machine = random.Random("%s %d" % (SIDE, PROCESS)).gauss(0, 0.002)
    factor = 1.05 if n == SLOW else 1.0
    return [10.0 * factor * (1 + machine + drawn.gauss(0, 0.003)) for _ in range(3)]
"#;

/// Two commits of such a module, the case `slow` 5 % slower in the second, and the folder of the log. `pause`: seconds of the import.
pub fn heavy(slow: &str, isolation: &str, pause: f64) -> (Repository, tempfile::TempDir) {
    let log = crate::support::tempdir().unwrap();
    let starts = log.path().join("starts");
    let numbers: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let suite = format!(
        "[suite]\nname = \"s\"\n[gate]\nwatch = false\ncontrols = 0\n[[benchmark]]\nid = \"h\"\nisolation = \"{isolation}\"\n\
         iterations = 3\nwarmup = 0\nmatrix = {{ n = [{}] }}\nenv = {{ STARTS = \"{}\", PAUSE = \"{pause}\" }}\n\
         [benchmark.python]\nfile = \"heavy.py\"\nfunction = \"bench\"\nway = \"self-timed\"\n",
        numbers.join(", "),
        starts.display(),
    );
    let repository = Repository::new(
        &[("gbench.toml", &suite), ("heavy.py", HEAVY), ("slow.txt", "-1\n")],
        &[("slow.txt", &format!("{slow}\n"))],
    );
    (repository, log)
}

pub fn starts(log: &tempfile::TempDir) -> usize {
    std::fs::read_to_string(log.path().join("starts")).unwrap().lines().count()
}

fn by_verdict(document: &VerdictDocument) -> BTreeMap<Verdict, Vec<i64>> {
    let mut found: BTreeMap<Verdict, Vec<i64>> = BTreeMap::new();
    for row in &document.rows {
        let ParamValue::Int(n) = row.case.params["n"] else { panic!("{:?}", row.case) };
        found.entry(row.verdict).or_default().push(n);
    }
    found
}

#[test]
fn c4_a_hundred_cases_behind_a_heavy_import_take_few_starts() {
    let (repository, log) = heavy("-1", "shared-screen", 0.0);
    repository.compare("HEAD~1..HEAD").exits(0);
    let unchanged = starts(&log);
    assert_eq!(by_verdict(&repository.verdict())[&Verdict::Unchanged].len(), 100);
    assert!(unchanged <= 20, "{unchanged} starts");
    let (repository, log) = heavy("37", "shared-screen", 0.0);
    repository.compare("HEAD~1..HEAD").exits(1);
    assert_eq!(by_verdict(&repository.verdict())[&Verdict::Regressed], [37]);
    assert!(starts(&log) <= unchanged + 60, "{} starts", starts(&log));
}

#[test]
fn s0_16_s0_49_s0_73_flags_reach_the_driver_and_the_identity() {
    let folder = folder(&[("gbench.toml", &pairs("")), ("baseline_a.py", &class("1"))]);
    ran(folder.path(), "run --quiet --reproducible --preset quick").exits(0);
    let record = newest(folder.path());
    assert_eq!(record.cases[0].id.to_string(), "s/book[case=a,driver.deterministic=true,variant=baseline]");
    let settings = &record.cases[0].config;
    assert_eq!(settings["seed"].value, 42);
    assert_eq!(settings["seed"].origin, Origin::Cli("--reproducible".into()));
    assert_eq!(settings["iterations"].value, 10);
    ran(folder.path(), "run --quiet --timing-mode do_bench").says("triton");
    let record = newest(folder.path());
    assert!(matches!(record.cases[0].outcome, Outcome::Skipped { .. }), "{:?}", record.cases[0].outcome);
    ran(folder.path(), "run --timing-mode fast").exits(2).says("there is no `fast`");
}

#[test]
fn s1_34_a_bench_yaml_that_cannot_be_read_fails_its_kernel_and_no_other() {
    let suite = pairs("").replace("\"pairs\"", "\"kernels\"");
    let folder = folder(&[
        ("gbench.toml", &suite),
        (
            "kernels/a/scale.py",
            "def scale_kernel(n, factor=2.0):\n    return [factor * i for i in range(n)]\n",
        ),
        ("kernels/a/bench.yaml", "problem_size:\n  n: 100\n"),
        ("kernels/b/broken.py", "def broken_kernel(n):\n    return n\n"),
        ("kernels/b/bench.yaml", "problem_size: [n: 1\n"),
    ]);
    ran(folder.path(), "run --quiet").exits(4).says("bench.yaml");
    let record = newest(folder.path());
    assert!(named(&record, "kernels/a/scale").outcome.is_measured());
    assert!(!named(&record, "kernels/b/broken").outcome.is_measured());
}

#[test]
fn a_request_for_an_interpreter_that_is_not_there_says_so() {
    let suite = format!("{}interpreter = \"nowhere/python\"\n", pairs(""));
    let folder = folder(&[("gbench.toml", &suite), ("baseline_a.py", &class("1"))]);
    ran(folder.path(), "run --quiet").exits(4).says("nowhere/python");
    assert_eq!(runs(folder.path()).len(), 1);
}
