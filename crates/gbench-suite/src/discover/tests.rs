//! Trees of each language, and what is proposed of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use gbench_formats::adapters::BuildStep;

pub(super) fn folder(files: &[(&str, &str, u32)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text, mode) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
    }
    folder
}

#[test]
fn programs_are_known_by_their_names_and_modes() {
    let folder = folder(&[
        ("bench_gemm.py", "", 0o644),
        ("setup.py", "", 0o644),
        ("benchmarks/softmax.py", "", 0o644),
        ("benchmarks/__init__.py", "", 0o644),
        ("bench_gemm", "", 0o755),
        ("bench_notes", "", 0o644),
        ("scripts/io-bench.sh", "", 0o644),
    ]);
    let found = everything(folder.path()).benchmarks;
    let commands: Vec<_> = found.iter().map(|entry| (entry.name.as_str(), entry.command.join(" "))).collect();
    let expected = [
        ("bench_gemm", "./bench_gemm"),
        ("bench_gemm-2", "python3 bench_gemm.py"),
        ("softmax", "python3 benchmarks/softmax.py"),
        ("io-bench", "sh scripts/io-bench.sh"),
    ];
    assert_eq!(commands, expected.map(|(name, command)| (name, command.to_owned())));
}

#[test]
fn n19_a_program_that_speaks_of_cuda_needs_a_gpu() {
    let folder = folder(&[
        ("bench_gpu.py", "import torch\nx = torch.empty(8).cuda()\n", 0o644),
        ("bench_cpu.py", "import numpy\n", 0o644),
        ("bench_run.sh", "nvidia-smi && ./x\n", 0o644),
    ]);
    let gpus: Vec<_> =
        everything(folder.path()).benchmarks.into_iter().map(|entry| (entry.name, entry.gpu)).collect();
    let expected = [("bench_cpu", false), ("bench_gpu", true), ("bench_run", true)];
    assert_eq!(gpus, expected.map(|(name, gpu)| (name.to_owned(), gpu)));
}

#[test]
fn an_empty_or_missing_folder_holds_nothing() {
    assert_eq!(everything(folder(&[]).path()), Discovery::default());
    assert_eq!(everything(Path::new("/nowhere/at/all")), Discovery::default());
}

#[test]
fn any_name_becomes_a_word() {
    for (text, expected) in [("my suite!", "my_suite_"), ("", "suite"), ("..", "suite"), ("größe", "gr__e")]
    {
        assert_eq!(id_word(text), expected);
        assert!(format!("{}/x", id_word(text)).parse::<gbench_model::BenchmarkId>().is_ok());
    }
}

const MAIN: &str = "int main(int argc, char **argv) { return 0; }\n";

fn everything(folder: &Path) -> Discovery {
    discover(folder, &|_| false)
}

/// `name: command <- build`, with the harness before and the folder behind.
fn line(entry: &Discovered) -> String {
    let harness = entry.harness.map_or_else(String::new, |it| format!("[{}] ", it.0.name()));
    let build = match &entry.build {
        None => String::new(),
        Some(BuildStep::Command(words)) => words.join(" "),
        Some(BuildStep::Shell(line)) => format!("sh: {line}"),
    };
    let dir = if entry.dir.is_empty() { String::new() } else { format!(" in {}", entry.dir) };
    let gpu = if entry.gpu { " gpu" } else { "" };
    format!("{harness}{}: {}{dir} <- {build}{gpu}", entry.name, entry.command.join(" "))
}

fn told(files: &[(&str, &str, u32)]) -> Vec<String> {
    everything(folder(files).path()).benchmarks.iter().map(line).collect()
}

/// What is proposed, and what is said of the rest.
fn found(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let files: Vec<(&str, &str, u32)> = files.iter().map(|(path, text)| (*path, *text, 0o644)).collect();
    let Discovery { benchmarks, unclear, .. } = everything(folder(&files).path());
    (benchmarks.iter().map(line).collect(), unclear)
}

#[test]
fn sources_with_a_main_are_built_and_run() {
    let told = told(&[
        ("gemm_bench.cu", MAIN, 0o644),
        ("kernels.cu", MAIN, 0o644),
        ("bench/softmax.cu", MAIN, 0o644),
        ("bench/timer.cpp", "void domain() { remain(); }\n", 0o644),
        ("benchmarks/io.c", "int\nmain (void)\n{}\n", 0o644),
        ("benchmarks/map.cpp", "TEST_MAIN();\n", 0o644),
    ]);
    assert_eq!(
        told,
        [
            "gemm_bench: ./gemm_bench <- nvcc -O3 -o gemm_bench gemm_bench.cu gpu",
            "softmax: ./bench/softmax <- nvcc -O3 -o bench/softmax bench/softmax.cu gpu",
            "io: ./benchmarks/io <- cc -O2 -o benchmarks/io benchmarks/io.c -lm",
            "map: ./benchmarks/map <- c++ -O2 -o benchmarks/map benchmarks/map.cpp",
        ]
    );
}

#[test]
fn what_was_built_by_hand_gives_way_to_its_source_and_no_two_share_an_output() {
    let told = told(&[("bench_a.c", MAIN, 0o644), ("bench_a.cu", MAIN, 0o644), ("bench_a", "", 0o755)]);
    assert_eq!(
        told,
        [
            "bench_a: ./bench_a <- cc -O2 -o bench_a bench_a.c -lm",
            "bench_a-2: ./bench_a-cu <- nvcc -O3 -o bench_a-cu bench_a.cu gpu",
        ]
    );
}

#[test]
fn a_makefile_that_knows_benchmarks_knows_how_they_are_built() {
    let told = told(&[("bench/gemm.cu", MAIN, 0o644), ("Makefile", "bench:\n\ttrue\n", 0o644)]);
    assert_eq!(told, ["bench: make bench <- "]);
}

const CRITERION: &str =
    "use criterion::*;\nfn b(c: &mut Criterion) {}\ncriterion_group!(g, b);\ncriterion_main!(g);\n";
const MANIFEST: &str = "[package]\nname = \"a\"\n[dev-dependencies]\ncriterion = \"0.5\"\n[[bench]]\nname = \"sort\"\nharness = false\n";
const GOOGLE: &str = "#include <benchmark/benchmark.h>\nstatic void BM_x(benchmark::State& s) {}\nBENCHMARK(BM_x);\nBENCHMARK_MAIN();\n";
const GO: &str = "package x\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) {}\n";
const PYTEST: &str = "def test_sort(benchmark):\n    benchmark(sorted, [3])\n";

#[test]
fn benches_of_cargo_are_entries_of_their_harness_and_built_where_they_run() {
    let (benchmarks, unclear) = found(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
        ("crates/a/Cargo.toml", MANIFEST),
        ("crates/a/benches/sort.rs", CRITERION),
    ]);
    let expected = "[criterion] sort: cargo bench --offline --bench sort in crates/a <- sh: cd crates/a && cargo bench --no-run --bench sort";
    assert_eq!(benchmarks, [expected]);
    assert_eq!(unclear, [""; 0]);
}

#[test]
fn a_bench_of_an_unknown_harness_is_told_and_not_timed() {
    let manifest = "[package]\nname = \"a\"\n[[bench]]\nname = \"own\"\nharness = false\n";
    let (benchmarks, unclear) = found(&[
        ("Cargo.toml", manifest),
        ("benches/own.rs", "fn main() {}\n"),
        ("benches/other.rs", "fn helper() {}\n"),
    ]);
    assert_eq!(benchmarks, [""; 0]);
    let [sentence] = unclear.as_slice() else { panic!("{unclear:?}") };
    assert!(
        sentence.starts_with("the harness of the bench benches/own.rs (and of 1 more there) is not known"),
        "{sentence}"
    );
    assert!(
        sentence.contains("`command = [\"cargo\", \"bench\", \"--offline\", \"--bench\", \"own\"]`"),
        "{sentence}"
    );
}

#[test]
fn a_target_of_cmake_has_its_build_step_and_no_test_times_it_from_outside() {
    let cmake = "project(x)\nadd_executable(bench_sort bench/sort.cpp)\ntarget_link_libraries(bench_sort benchmark::benchmark)\n\
                 add_test(NAME bench_sort COMMAND bench_sort)\nadd_executable(walk bench/walk.cpp)\n\
                 add_test(NAME perf_walk COMMAND $<TARGET_FILE:walk> --once)\nadd_executable(own bench/own.cpp)\n";
    let (benchmarks, unclear) = found(&[
        ("CMakeLists.txt", cmake),
        ("bench/sort.cpp", GOOGLE),
        ("bench/walk.cpp", MAIN),
        ("bench/own.cpp", MAIN),
    ]);
    let built = |target: &str| {
        format!(
            "sh: cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build --target {target} -j $(nproc)"
        )
    };
    let expected = [
        "[ctest] ctest: ctest --test-dir build -R ^(perf_walk)$ <- sh: cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && \
         cmake --build build -j $(nproc)"
            .to_owned(),
        format!("[google-benchmark] bench_sort: ./build/bench_sort <- {}", built("bench_sort")),
        format!("own: ./build/own <- {}", built("own")),
    ];
    assert_eq!(benchmarks, expected);
    assert_eq!(unclear, [""; 0]);
}

#[test]
fn a_monorepo_has_each_of_its_languages_once() {
    let (benchmarks, unclear) = found(&[
        ("rust/Cargo.toml", MANIFEST),
        ("rust/benches/sort.rs", CRITERION),
        ("go/go.mod", "module example.com/x\n"),
        ("go/inner/x_test.go", GO),
        ("py/pyproject.toml", "[project]\nname = \"x\"\ndependencies = [\"pytest-benchmark\"]\n"),
        ("py/benchmarks/bench_sort.py", PYTEST),
        ("Makefile", "bench:\n\tcd rust && cargo bench\n"),
        ("benchmarks/bench_io.py", "open('x').read()\n"),
        ("node_modules/x/y.bench.js", "import { bench } from 'vitest'\n"),
        ("third_party/z/bench.cpp", GOOGLE),
    ]);
    let names: Vec<&str> = benchmarks.iter().map(|line| line.split(" <- ").next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "[criterion] sort: cargo bench --offline --bench sort in rust",
            "[go-test] go-inner: ./go-inner.test in go/inner",
            "[pytest-benchmark] py: .venv/bin/python -m pytest benchmarks/bench_sort.py in py",
            "bench_io: python3 benchmarks/bench_io.py",
        ]
    );
    let [make] = unclear.as_slice() else { panic!("{unclear:?}") };
    assert!(
        make.starts_with("the target `bench` of Makefile starts `cargo bench`, which calibrates itself"),
        "{make}"
    );
}

#[test]
fn what_calibrates_itself_is_never_timed_from_outside() {
    for (path, text, says) in [
        ("bench_torch.py", "t = Timer('x').blocked_autorange()\n", "(torch.utils.benchmark)"),
        ("benchmarks/test_x.py", "def test_a():\n    pass\n", "has tests of pytest"),
        ("bench.sh", "cargo bench\n", "bench.sh:1 starts `cargo bench`"),
        ("bench.sh", "hyperfine './a'\n", "bench.sh:1 calls hyperfine"),
        ("bench/linpack.c", "int main(void) { nreps*=2; }\n", "(Linpack)"),
        ("bench/x.cpp", "#include <celero/Celero.h>\nint main() {}\n", "(Celero)"),
        ("Makefile", "bench: run\nrun:\n\tgo test -bench . ./...\n", "starts `go test -bench . ./...`"),
        ("bench/meson.build", "", ""),
    ] {
        let (benchmarks, unclear) = found(&[(path, text)]);
        assert_eq!(benchmarks, [""; 0], "{path}");
        assert_eq!(unclear.len(), usize::from(!says.is_empty()), "{path}: {unclear:?}");
        assert!(unclear.iter().all(|sentence| sentence.contains(says)), "{path}: {unclear:?}");
    }
}

#[test]
fn a_source_with_a_harness_that_nobody_knows_how_to_build_is_told_once() {
    let (benchmarks, unclear) = found(&[("bench/x.cpp", GOOGLE), ("meson.build", "project('x')\n")]);
    assert_eq!(benchmarks, [""; 0]);
    assert_eq!(unclear.len(), 1, "{unclear:?}");
    assert!(unclear[0].starts_with("`bench/x.cpp` has benchmarks of Google Benchmark"), "{unclear:?}");
}

#[test]
fn a_program_that_was_built_already_is_known_by_what_is_inside() {
    let program = "\x7fELF benchmark_list_tests benchmark_min_time";
    let cmake = "add_executable(bench_a a.cpp)\ntarget_link_libraries(bench_a benchmark::benchmark)\n";
    let folder = folder(&[
        ("CMakeLists.txt", cmake, 0o644),
        ("a.cpp", GOOGLE, 0o644),
        ("build/bench_a", program, 0o755),
        ("bin/bench_a", program, 0o755),
        ("bin/bench_other", program, 0o755),
    ]);
    let Discovery { benchmarks, unclear, .. } = everything(folder.path());
    assert_eq!(benchmarks.len(), 1, "{benchmarks:?}");
    assert_eq!(unclear.len(), 1, "{unclear:?}");
    assert!(
        unclear[0].starts_with("bin/bench_other is a program with Google Benchmark inside"),
        "{unclear:?}"
    );
}

#[test]
fn odd_names_are_words_of_their_own() {
    let (benchmarks, _) = found(&[
        ("a b/go.mod", "module x\n"),
        ("a b/x_test.go", GO),
        ("a{b}/go.mod", "module x\n"),
        ("a{b}/x_test.go", GO),
        ("bench_a_b.py", ""),
    ]);
    let names: Vec<&str> = benchmarks.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(names, ["[go-test] a_b", "[go-test] a_b_", "bench_a_b"]);
    assert!(benchmarks[1].contains("./a{{b}}.test in a{b} <- sh: cd 'a{b}' && "), "{}", benchmarks[1]);
}

#[test]
fn benchmarks_of_javascript_that_nobody_knows_are_told_with_what_to_write() {
    let manifest = r#"{"scripts": {"bench": "node benchmark.js", "test": "node test.js"}, "devDependencies": {"benchmark": "^2"}}"#;
    let own = r#"{"scripts": {"bench:all": "node a.js && node b.js", "bench:b": "node b.js"}}"#;
    let tiny = "import { Bench } from 'tinybench'\n";
    let (benchmarks, unclear) = found(&[
        ("package.json", manifest),
        ("benchmark.js", "const Benchmark = require('benchmark')\n"),
        ("test.js", ""),
        ("own/package.json", own),
        ("own/a.js", ""),
        ("own/b.js", ""),
        ("tiny/package.json", "{}"),
        ("tiny/perf/sort.ts", tiny),
        ("tiny/perf/x.bench.js", ""),
        ("tiny/perf/workbench.js", ""),
    ]);
    assert_eq!(benchmarks, [""; 0]);
    let [first, second, third] = unclear.as_slice() else { panic!("{unclear:?}") };
    assert!(
        first.starts_with(
            "the script `bench` of package.json (`node benchmark.js`) calibrates itself (Benchmark.js)"
        ),
        "{first}"
    );
    assert!(first.contains("`command = [\"node\", \"benchmark.js\"]`, a `build`"), "{first}");
    let starts = "the script `bench:all` of own/package.json (and 1 more there) (`node a.js && node b.js`) is of no harness";
    assert!(second.starts_with(starts), "{second}");
    assert!(
        second.contains("`command = [\"npm\", \"run\", \"--silent\", \"bench:all\"]`, `dir = \"own\"`"),
        "{second}"
    );
    assert!(
        third.starts_with("tiny/perf/sort.ts (and 1 more there) calibrates itself (tinybench)"),
        "{third}"
    );
    assert!(third.contains("[\"npx\", \"tsx\", \"perf/sort.ts\"]`, `dir = \"tiny\"`"), "{third}");
}

#[test]
fn scripts_that_start_what_has_an_entry_are_not_told() {
    let vitest = r#"{"scripts": {"bench": "vitest bench"}, "devDependencies": {"vitest": "^3"}}"#;
    let (benchmarks, unclear) =
        found(&[("package.json", vitest), ("a.bench.ts", "import { bench } from 'vitest'\n"), ("b.js", "")]);
    assert_eq!(benchmarks.len(), 1, "{benchmarks:?}");
    assert_eq!(unclear, [""; 0]);
    let mitata = r#"{"scripts": {"bench": "node ./b"}, "devDependencies": {"mitata": "^1"}}"#;
    let source = "import { run } from 'mitata'\nawait run({ format: 'json' })\n";
    let (benchmarks, unclear) = found(&[("package.json", mitata), ("b.js", source)]);
    assert_eq!((benchmarks.len(), unclear.len()), (1, 0), "{unclear:?}");
}

#[test]
fn a_target_whose_program_lies_nobody_knows_where_is_told_and_no_test_times_it() {
    let cmake = "add_executable(x x.cpp)\ntarget_link_libraries(x benchmark::benchmark)\nadd_test(NAME bench_x COMMAND x)\n\
                 set_target_properties(x PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${OUT})\nadd_executable(y bench_y.cpp)\n\
                 set_target_properties(y PROPERTIES OUTPUT_NAME $<CONFIG>)\n";
    let (benchmarks, unclear) = found(&[("CMakeLists.txt", cmake), ("x.cpp", GOOGLE), ("bench_y.cpp", MAIN)]);
    assert_eq!(benchmarks, [""; 0]);
    let [x, y] = unclear.as_slice() else { panic!("{unclear:?}") };
    assert!(
        x.starts_with("a target of CMake has benchmarks of Google Benchmark: `x` of CMakeLists.txt"),
        "{x}"
    );
    assert!(x.contains("(`${OUT}`)") && y.contains("bench_y.cpp") && y.contains("(`$<CONFIG>`)"), "{x} {y}");
}

/// The entries of layouts: their globs, what they hold, and what is said.
fn layouts(files: &[(&str, &str)]) -> (Vec<String>, Discovery) {
    let owned: Vec<(&str, &str, u32)> = files.iter().map(|(path, text)| (*path, *text, 0o644)).collect();
    let found = everything(folder(&owned).path());
    let of = |entry: &Discovered| {
        let python = entry.python.as_ref()?;
        let ignore = if python.ignore.is_empty() {
            String::new()
        } else {
            format!(" but {}", python.ignore.join(" "))
        };
        Some(format!("{}: {}{ignore}: {}", entry.name, python.roots.join(" "), entry.why))
    };
    (found.benchmarks.iter().filter_map(of).collect(), found)
}

fn empty<'a>(paths: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    paths.iter().map(|path| (*path, "")).collect()
}

#[test]
fn s0_2_pairs_get_one_entry_with_the_narrowest_folders() {
    for (paths, expected) in [
        (
            &[
                "ch1/baseline_a.py",
                "ch1/optimized_a.py",
                "ch2/baseline_b.py",
                "ch2/optimized_b_x.py",
                "labs/m/baseline_c.py",
                "labs/m/optimized_c.py",
                "labs/n/baseline_d.py",
                "labs/n/optimized_d.py",
            ][..],
            "pairs: ch* labs/*: 4 baselines with 4 optimized files in 4 folders",
        ),
        (
            &["baseline_a.py", "optimized_a.py", "x/baseline_b.py"],
            "pairs: .: 2 baselines with 1 optimized file in 2 folders",
        ),
        (
            &[
                "code/ch01/baseline_a.py",
                "code/ch01/optimized_a.py",
                "code/ch10/baseline_a.py",
                "code/ch10/optimized_a.py",
                "code/ch10/sub/baseline_z.py",
                "code/ch10/sub/optimized_z.py",
                "perf[1]/baseline_c.py",
                "perf[1]/optimized_c.py",
            ],
            "pairs: code/ch* perf[[]1[]]: 4 baselines with 4 optimized files in 4 folders",
        ),
    ] {
        assert_eq!(layouts(&empty(paths)).0, [expected]);
    }
    let names: Vec<String> =
        ('a'..='i').flat_map(|c| [format!("{c}/baseline_x.py"), format!("{c}/optimized_x.py")]).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(layouts(&empty(&names)).0, ["pairs: **: 9 baselines with 9 optimized files in 9 folders"]);
}

#[test]
fn s0_5_orphans_are_told_and_a_baseline_alone_is_no_pair() {
    let orphans: Vec<String> = (1..=7).map(|number| format!("x/optimized_o{number}.py")).collect();
    let mut files = empty(&["x/baseline_a.py", "x/optimized_a.py", "y/baseline_model.py"]);
    files.extend(orphans.iter().map(|path| (path.as_str(), "")));
    let (entries, found) = layouts(&files);
    assert_eq!(entries, ["pairs: x: 1 baseline with 1 optimized file in 1 folder"]);
    assert_eq!((found.orphans.len(), found.unclear.len()), (7, 6), "{:?}", found.unclear);
    assert!(found.unclear[0].starts_with("1 baseline_ file has no optimized_ file"), "{:?}", found.unclear);
    assert!(found.more[0].starts_with("2 more optimized_ files have no baseline_ file"), "{:?}", found.more);
    assert_eq!(found.passed_over[0].path, "y/baseline_model.py");
    let (entries, found) = layouts(&empty(&["y/baseline_model.py", "z/optimized_a.py"]));
    assert_eq!((entries.len(), found.unclear.len()), (0, 2));
    assert_eq!(layouts(&empty(&["y/baseline_model.py"])).1.unclear.len(), 1);
}

#[test]
fn s1_1_kernels_get_one_entry_without_the_files_that_are_none() {
    let (entries, found) = layouts(&[
        ("kernels/gelu.py", "import torch\ndef gelu_kernel(n):\n    pass\n"),
        ("kernels/util.py", "def solver():\n    solve()\n"),
        ("kernels/__init__.py", ""),
        ("kernels/sub/bench.yaml", "precisions: [fp32\n"),
        ("kernels/sub/any.py", ""),
        ("src/kernels/a.py", "from .x import solve\n"),
        ("quasim/kernels/b.py", "class C:\n    def solve(self): pass\n"),
        ("Makefile", "bench:\n\tpython tools/bench_all.py\n"),
    ]);
    assert_eq!(
        entries,
        ["kernels: kernels src/kernels but kernels/util.py quasim/kernels/b.py: 3 kernels in 3 folders"]
    );
    let [left_out, broken, make] = found.unclear.as_slice() else { panic!("{:?}", found.unclear) };
    assert!(left_out.starts_with("2 files in folders of kernels without `run_benchmark`"), "{left_out}");
    assert!(broken.starts_with("kernels/sub/bench.yaml:2:1: this is no YAML"), "{broken}");
    assert!(broken.ends_with("; until then 1 kernel beside it will fail"), "{broken}");
    assert!(make.starts_with("the target `bench` of Makefile"), "{make}");
    assert_eq!(found.benchmarks.len(), 1);
    let over: Vec<&str> = found.passed_over.iter().map(|over| over.path.as_str()).collect();
    assert_eq!(over, ["kernels/__init__.py", "kernels/util.py", "quasim/kernels/b.py"]);
    assert_eq!(layouts(&[("kernels/a.py", "x = 1\n")]).0, [""; 0]);
}

/// The keys of a sweep over operators, as a class has them, and a script that writes them.
const SWEEP: &str = "import torch\n@dataclass\nclass Row:\n    operation: str\n    implementation: str\n    batch_size: int\n    time_ms: float\n    \
                     memory_mb: float\n    inference_speed: float\ndef run(output_file: str = 'results.json'):\n    x.cuda()\n    \
                     with open(output_file, 'w') as f:\n        json.dump([asdict(row) for row in rows], f)\n    print('done')\n\
                     if __name__ == '__main__':\n    run(output_file='results.json')\n";
const ATTENTION: &str = "def one():\n    return {'impl': 'x', 'B': 1, 'H': 1, 'S': 1, 'd': 1, 'dtype': 'fp16', 'causal': False, 'ms_mean': 1,\n\
                         'ms_std': 1, 'qps': 2}\nif __name__ == '__main__':\n    print(json.dumps(one()))\n";

#[test]
fn s2_and_s3_scripts_that_write_rows_of_a_format_are_its_programs() {
    let reader = "rows = json.load(open('results.json'))\nprint(rows[0]['operation'], rows[0]['time_ms'])\n";
    let library = "@dataclass\nclass Metrics:\n    mean_time_ms: float\n    median_time_ms: float\n    throughput_gflops: float\n\
                   @dataclass\nclass Result:\n    kernel_name: str\n    metrics: Metrics\n";
    let (benchmarks, unclear) = found(&[
        ("benchmarks/comprehensive_sweep.py", SWEEP),
        ("benchmarks/attention.py", ATTENTION),
        ("benchmarks/benchmark_harness.py", library),
        ("src/sweep_of_results.py", reader),
        ("bench/odd.py", &SWEEP.replace("'results.json'", "os.path.join(here, 'results.json')")),
    ]);
    assert_eq!(
        benchmarks,
        [
            "[attention-jsonl] attention: python3 benchmarks/attention.py <- ",
            "[operator-list] comprehensive_sweep: python3 benchmarks/comprehensive_sweep.py <-  gpu",
        ]
    );
    let [odd, library] = unclear.as_slice() else { panic!("{unclear:?}") };
    assert!(odd.starts_with("bench/odd.py builds every key of the rows of operator-list, and"), "{odd}");
    assert!(
        library.contains(
            "is no program: give the script that uses it an entry with `harness = \"attention-harness\"`"
        ),
        "{library}"
    );
}

#[test]
fn what_a_harness_has_is_no_kernel() {
    let (entries, found) = layouts(&[
        (
            "kernels/bench_a.py",
            "import pyperf\nrunner = pyperf.Runner()\nrunner.timeit('a', 'solve = 1')\nsolve = 3\n",
        ),
        ("kernels/b.py", "def solve(): pass\n"),
    ]);
    assert_eq!(entries, ["kernels: kernels but kernels/bench_a.py: 1 kernel in 1 folder"]);
    assert_eq!(found.benchmarks.len(), 2, "{:?}", found.benchmarks);
}

#[test]
fn kernels_that_belong_to_nothing_are_proposed_and_of_others_it_is_said_why() {
    let kernel = |name: &str| format!("__global__ void {name}(float* x, int n) {{}}\n");
    let many: String = (0..60).map(|at| kernel(&format!("k{at}"))).collect();
    let files = [
        ("a.cu", format!("{}{}", kernel("one"), kernel("two")), 0o644),
        ("b/one.cuh", kernel("one"), 0o644),
        ("baseline_pair.cu", kernel("of_a_pair"), 0o644),
        ("optimized_pair.cu", kernel("of_a_pair"), 0o644),
        ("build/generated.cu", kernel("built"), 0o644),
        ("host.cu", format!("#include <cstdio>\n{}", kernel("beside")), 0o644),
        ("none.cu", "__device__ int x; // __global__ void no() {}\n".to_owned(), 0o644),
        ("program.cu", format!("{}{MAIN}", kernel("of_a_program")), 0o644),
    ];
    let files: Vec<(&str, &str, u32)> =
        files.iter().map(|(path, text, mode)| (*path, text.as_str(), *mode)).collect();
    let found = everything(folder(&files).path());
    let of = |entry: &Discovered| {
        entry.cuda.as_ref().map(|kernel| format!("{}: {} of {}", entry.name, kernel.entry, kernel.file))
    };
    let kernels: Vec<String> = found.benchmarks.iter().filter_map(of).collect();
    assert_eq!(kernels, ["one: one of a.cu", "two: two of a.cu", "one-2: one of b/one.cuh"]);
    assert!(
        found
            .unclear
            .iter()
            .any(|it| it.contains("host.cu is not proposed (`beside`): it includes <cstdio>"))
    );
    let found = everything(folder(&[("many.cu", many.as_str(), 0o644)]).path());
    assert_eq!(found.benchmarks.len(), 50);
    assert_eq!(found.more, ["10 more kernels in many.cu: 50 are proposed, write further ones like them"]);
}
