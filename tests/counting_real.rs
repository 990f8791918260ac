//! Google Benchmark and Criterion.rs themselves, on a machine that two other programs keep busy: a case of less than a microsecond
//! with 3 % more work is found by its instructions within ten rounds, and no other row is red. `just counts`.

use std::fmt::Write as _;
use std::process::{Child, Command};

use gbench_ci::compare::{Row, Verdict, VerdictDocument};
use gbench_ci::model::{INSTRUCTIONS, ParamValue};

use crate::support::repository::Repository;

/// Cases of each harness.
const CASES: u32 = 50;
/// The case with more work.
const PLANTED: u32 = 20;

const SUITE: &str = r#"[suite]
name = "s"
[gate]
controls = 0
watch = false
[defaults]
count = "valgrind"
[[benchmark]]
id = "cpp"
harness = "google-benchmark"
command = ["./bench"]
build = { shell = "g++ -O2 -o bench bench.cpp -lbenchmark -lpthread" }
[[benchmark]]
id = "rust"
harness = "criterion"
command = ["cargo", "bench", "--offline", "--bench", "bench"]
build = ["cargo", "bench", "--no-run", "--bench", "bench"]
"#;

const CPP: &str = r#"#include <benchmark/benchmark.h>
#include "steps.h"
static void BM_work(benchmark::State& state) {
  const unsigned steps = steps_of(state.range(0));
  for (auto _ : state) {
    unsigned long x = 1;
    for (unsigned step = 0; step < steps; ++step) {
      x = x * 6364136223846793005UL + 1442695040888963407UL;
      benchmark::DoNotOptimize(x);
    }
  }
}
BENCHMARK(BM_work)->DenseRange(0, CASES - 1);
BENCHMARK_MAIN();
"#;

const RUST: &str = r#"use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
include!("steps.rs");
fn work(c: &mut Criterion) {
    for case in 0..CASES {
        let steps = black_box(steps_of(case));
        c.bench_function(&format!("work/{case}"), |b| b.iter(|| {
            let mut x = 1u64;
            for _ in 0..steps {
                x = black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
            }
            x
        }));
    }
}
criterion_group!(benches, work);
criterion_main!(benches);
"#;

/// Case `n` takes `100 + 4 n` steps of about 2 ns; the planted one 3 % more on head.
fn steps(planted: bool) -> [(&'static str, String); 2] {
    let (case, more) = (PLANTED, if planted { "103" } else { "100" });
    let cpp = format!(
        "#define CASES {CASES}\nstatic unsigned steps_of(unsigned n) {{ return (100 + 4 * n) * (n == {case} ? {more} : 100) / 100; }}\n"
    );
    let rust = format!(
        "const CASES: u32 = {CASES};\nfn steps_of(n: u32) -> u32 {{ (100 + 4 * n) * if n == {case} {{ {more} }} else {{ 100 }} / 100 }}\n"
    );
    [("steps.h", cpp), ("steps.rs", rust)]
}

/// A program that keeps a core busy until it is dropped.
struct Busy(Child);

impl Busy {
    fn new() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// What is missing for this here.
fn missing() -> Option<&'static str> {
    let works = |program: &str, words: &[&str]| {
        Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
    };
    if !works("valgrind", &["--version"]) {
        return Some("valgrind is not installed");
    }
    let has_library =
        works("sh", &["-c", "echo '#include <benchmark/benchmark.h>' | g++ -E -x c++ - >/dev/null"]);
    (!has_library).then_some("g++ or the library of Google Benchmark (libbenchmark-dev) is not installed")
}

fn name(row: &Row) -> String {
    match &row.case.params["case"] {
        ParamValue::Text(name) => format!("{} {name}", row.case.benchmark.name()),
        other => panic!("{other:?}"),
    }
}

/// A line for each harness and metric: how its rows ended.
fn table(title: &str, document: &VerdictDocument) -> String {
    let mut text = format!("\n{title}\n");
    for benchmark in ["cpp", "rust"] {
        for metric in [INSTRUCTIONS, "time"] {
            let rows: Vec<&Row> = document
                .rows
                .iter()
                .filter(|row| row.case.benchmark.name() == benchmark && row.metric == metric)
                .collect();
            let so = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
            writeln!(
                text,
                "{benchmark:5} {metric:13} {:3} rows: {} regressed, {} improved, {} unchanged, {} inconclusive",
                rows.len(),
                so(Verdict::Regressed),
                so(Verdict::Improved),
                so(Verdict::Unchanged),
                so(Verdict::Inconclusive)
            )
            .unwrap();
        }
    }
    text
}

#[test]
#[ignore = "takes half an hour, and needs Google Benchmark, Criterion.rs and Valgrind: `just counts`"]
fn three_per_cent_more_work_is_found_on_a_busy_machine_and_nothing_else() {
    if let Some(missing) = missing() {
        println!("SKIPPED: {missing}");
        return;
    }
    let manifest = "[package]\nname = \"counted\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
                    [dev-dependencies]\ncriterion = { version = \"0.8\", default-features = false }\n\
                    [[bench]]\nname = \"bench\"\npath = \"bench.rs\"\nharness = false\n";
    let [without, with] = [steps(false), steps(true)];
    let mut first = vec![
        ("gbench.toml", SUITE),
        ("bench.cpp", CPP),
        ("bench.rs", RUST),
        ("Cargo.toml", manifest),
        ("lib.rs", ""),
        (".gitignore", "/target\n/artifacts\n/bench\nCargo.lock\n"),
    ];
    first.extend(without.iter().map(|(name, text)| (*name, text.as_str())));
    let repository = Repository::new(&first, &[("README", "the same")]);
    repository.commit(&with.each_ref().map(|(name, text)| (*name, text.as_str())));

    let _busy = [Busy::new(), Busy::new()];
    let mut report = String::new();
    repository.compare("HEAD~2..HEAD~1 --rounds 10");
    let same = repository.verdict();
    report += &table("Nothing changed:", &same);
    // A tenth of the cases: counting them all again would take as long as before.
    let few = SUITE.replace("harness = ", "cases = [\"*/2?\"]\nharness = ");
    std::fs::write(repository.root().join("few.toml"), few).unwrap();
    repository.compare("HEAD~1..HEAD --rounds 10 --suite-file few.toml");
    let planted = repository.verdict();
    report += &table("3 % more work in one case of each:", &planted);
    println!("{report}");

    let red = |document: &VerdictDocument| -> Vec<String> {
        let rows = document.rows.iter().filter(|row| row.verdict == Verdict::Regressed);
        let mut names: Vec<String> = rows.map(|row| format!("{} {}", name(row), row.metric)).collect();
        names.sort();
        names
    };
    let counted =
        |document: &VerdictDocument| document.rows.iter().filter(|row| row.metric == INSTRUCTIONS).count();
    assert_eq!((counted(&same), red(&same)), (2 * CASES as usize, Vec::new()));
    assert_eq!(counted(&planted), 20);
    assert_eq!(
        red(&planted),
        [format!("cpp BM_work/{PLANTED} {INSTRUCTIONS}"), format!("rust work/{PLANTED} {INSTRUCTIONS}")]
    );
}
