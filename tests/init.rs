//! `init` in projects of several languages: what it writes, what it says, and that it starts nothing.

use std::path::Path;

use gbench_ci::suite::Suite;

use crate::support::act::ACTION_SHA;
use crate::support::cli::ran;
use crate::support::folder;

const MANIFEST: &str = "[package]\nname = \"a\"\n[[bench]]\nname = \"sort\"\nharness = false\n";
const CRITERION: &str =
    "use criterion::*;\nfn b(c: &mut Criterion) {}\ncriterion_group!(g, b);\ncriterion_main!(g);\n";
const GOOGLE: &str = "#include <benchmark/benchmark.h>\nstatic void BM_x(benchmark::State& s) {}\nBENCHMARK(BM_x);\nBENCHMARK_MAIN();\n";
const CMAKE: &str = "project(x)\nadd_executable(bench_sort sort.cpp)\ntarget_link_libraries(bench_sort benchmark::benchmark)\n";
const GO: &str = "package x\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) {}\n";
const PYTEST: &str = "def test_sort(benchmark):\n    benchmark(sorted, [3])\n";

/// A project with four languages, of which one file is not understood.
const MIXED: [(&str, &str); 10] = [
    ("rust/Cargo.toml", MANIFEST),
    ("rust/benches/sort.rs", CRITERION),
    ("cpp/CMakeLists.txt", CMAKE),
    ("cpp/sort.cpp", GOOGLE),
    ("go/go.mod", "module example.com/x\n"),
    ("go/x_test.go", GO),
    ("py/requirements.txt", "pytest-benchmark\n"),
    ("py/test_sort.py", PYTEST),
    ("bench_io.py", "open('x').read()\n"),
    ("net/X.csproj", "<PackageReference Include=\"BenchmarkDotNet\" />\n"),
];

fn read(folder: &Path, path: &str) -> String {
    std::fs::read_to_string(folder.join(path)).unwrap()
}

#[test]
fn each_language_of_a_project_gets_an_entry_that_loads() {
    let folder = folder(&MIXED);
    let ran = ran(folder.path(), "init").exits(0).says("with 5 benchmarks:").says("/sort (criterion)");
    let ran = ran.says("seen and left out, as noted at its end: - net/X.csproj uses BenchmarkDotNet");
    let ran = ran.says("next: read it, then run `gbench-ci list --cases` and `gbench-ci run`");
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    let suite = Suite::load(&folder.path().join("gbench.toml"), &[]).unwrap();
    let entries: Vec<_> = suite
        .benchmarks
        .iter()
        .map(|it| (it.id.name(), it.harness.as_ref().map(|entry| entry.name()), it.build.is_some()))
        .collect();
    assert_eq!(
        entries,
        [
            ("sort", Some("criterion"), true),
            ("go", Some("go-test"), true),
            ("bench_sort", Some("google-benchmark"), true),
            ("py", Some("pytest-benchmark"), true),
            ("bench_io", None, false),
        ]
    );
    let text = read(folder.path(), "gbench.toml");
    assert_eq!(text.matches("the whole process is timed").count(), 1, "{text}");
    for part in [
        "harness = \"criterion\"\ncommand = [\"cargo\", \"bench\", \"--offline\", \"--bench\", \"sort\"]\ndir = \"rust\"\n",
        "build = { shell = \"cd rust && cargo bench --no-run --bench sort\" }\n",
        "requires = { binary = [\"cmake\", \"c++\"] }\n",
        "# - net/X.csproj uses BenchmarkDotNet",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn the_workflows_install_what_the_entries_require() {
    let folder = folder(&MIXED);
    let line = format!("init --github --runner gpu --action acme/gbench-ci@{ACTION_SHA}");
    ran(folder.path(), &line).exits(0);
    for file in ["gbench-pull-request.yml", "gbench-nightly.yml"] {
        let text = read(folder.path(), &format!(".github/workflows/{file}"));
        assert_eq!(
            text.matches("- name: Dependencies of the benchmarks\n        run: |\n").count(),
            1,
            "{text}"
        );
        for part in [
            "          command -v cargo >/dev/null || { get rustup && rustup default stable; } # Rust\n",
            "          command -v cmake >/dev/null || get cmake\n",
            "          command -v go >/dev/null || get golang-go\n",
            "          python3 -c 'import ensurepip' 2>/dev/null || get python3-venv\n",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
    assert!(!read(folder.path(), ".github/workflows/gbench-report.yml").contains("Dependencies"));
    // With a suite file that is there already the step follows it, and not what lies around.
    std::fs::write(folder.path().join("gbench.toml"), "[[benchmark]]\nid = \"x\"\ncommand = [\"./x\"]\n")
        .unwrap();
    ran(folder.path(), &format!("{line} --force")).exits(0).says("it is there already");
    assert!(!read(folder.path(), ".github/workflows/gbench-pull-request.yml").contains("Dependencies"));
}

#[test]
fn what_was_seen_and_not_understood_is_no_empty_folder() {
    let folder = folder(&MIXED[9..]);
    let ran = ran(folder.path(), "init").exits(0).says("seen and left out, as noted at its end:");
    let ran = ran.says("None of these was understood well enough to be measured.");
    assert!(!ran.out.contains("Nothing here looks like"), "{}", ran.out);
    assert!(read(folder.path(), "gbench.toml").contains("# - net/X.csproj uses BenchmarkDotNet"));
}

#[test]
fn what_git_ignores_is_not_proposed() {
    let folder = folder(&MIXED);
    std::fs::write(folder.path().join(".gitignore"), "/rust/\n*_test.go\ncpp\npy/*.py\n").unwrap();
    let status = std::process::Command::new("git")
        .args(["init", "-q", "."])
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(status.success());
    ran(folder.path(), "init").exits(0).says("with 1 benchmark:").says("/bench_io");
}

#[test]
fn a_file_of_any_name_cannot_break_out_of_the_suite_file() {
    let folder = folder(&[
        ("a \"b\" ]/go.mod", "module example.com/x\n"),
        ("a \"b\" ]/x_test.go", GO),
        ("c'd/{n}/CMakeLists.txt", CMAKE),
        ("c'd/{n}/sort.cpp", GOOGLE),
        ("é.csproj", "<PackageReference Include=\"BenchmarkDotNet\" />\n"),
    ]);
    ran(folder.path(), "init").exits(0).says("with 2 benchmarks:");
    let suite = Suite::load(&folder.path().join("gbench.toml"), &[]).unwrap();
    let commands: Vec<Vec<String>> =
        suite.benchmarks.iter().map(|it| it.action.argv(&Default::default(), &[])).collect();
    assert_eq!(
        commands,
        [["./a \"b\" ].test"], ["./c'd/{n}/build/bench_sort"]].map(|words| words.map(str::to_owned).to_vec())
    );
}

#[test]
fn hpl_is_taken_by_the_row_that_it_prints() {
    let input: String = [
        "title",
        "institute",
        "HPL.out",
        "6 device out",
        "1 # of problems sizes (N)",
        "1000 Ns",
        "1 # of NBs",
        "192 NBs",
        "0 PMAP",
        "1 # of process grids",
        "1 Ps",
        "1 Qs",
        "16.0 threshold",
        "1 # of panel fact",
        "2",
        "1",
        "4",
        "1",
        "2",
        "1",
        "1",
        "1",
        "1",
        "1",
        "1",
    ]
    .join("\n");
    let table = "T/V                N    NB     P     Q               Time                 Gflops\n\
                 WR11C2R4        1000   192     1     1               0.05             1.3370e+01\n";
    let folder = folder(&[("HPL.dat", &input), ("table", table)]);
    // Another process writes it: where a test of another thread forks while it is open here, it is "text file busy".
    let script = "printf '#!/bin/sh\\ncat table\\n' >xhpl && chmod +x xhpl";
    let made = std::process::Command::new("sh").args(["-c", script]).current_dir(folder.path()).status();
    assert!(made.unwrap().success());
    ran(folder.path(), "init").exits(0).says("/hpl");
    assert!(read(folder.path(), "gbench.toml").contains("metric = \"gflops\", unit = \"GFLOP/s\""));
    ran(folder.path(), "run --quiet --processes 2").exits(0).says("13.37");
}

const KERNEL: &str = "__global__ void k(float *x) { x[0] = 1; }\n";

#[test]
fn kernels_of_an_extension_are_measured_by_what_runs_them() {
    let folder = folder(&[
        ("src/kit/__init__.py", ""),
        ("src/kit/k.cu", &format!("#include <torch/extension.h>\n{KERNEL}")),
        ("setup.py", "setup(name='kit', ext_modules=[CUDAExtension('kit._C', ['src/kit/k.cu'])])\n"),
        ("bench/bench_kit.py", "import torch\nfrom kit import scale\nscale()\n"),
        (
            "hip/scale.hip",
            &format!("#include <hip/hip_runtime.h>\n{KERNEL}int main() {{ k<<<1, 1>>>(nullptr); }}\n"),
        ),
    ]);
    ran(folder.path(), "init").exits(0).says("with 2 benchmarks:").says("/bench_kit (kernels)");
    let text = read(folder.path(), "gbench.toml");
    for part in [
        "command = [\"python3\", \"bench/bench_kit.py\"]\nbuild = [\"python3\", \"setup.py\", \"build_ext\", \"--inplace\"]\n\
         env = { PYTHONPATH = \"src\" }\nrequires = { binary = [\"python3\"] }\n",
        "build = [\"hipcc\", \"-O3\", \"-o\", \"hip/scale\", \"hip/scale.hip\"]\nrequires = { binary = [\"hipcc\"] }\n",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let suite = Suite::load(&folder.path().join("gbench.toml"), &[]).unwrap();
    assert_eq!(suite.benchmarks[0].env["PYTHONPATH"], "src");
    ran(folder.path(), "list").exits(0).says("bench_kit");
}

#[test]
fn a_kept_suite_of_built_in_benchmarks_is_told_with_its_workflows() {
    let folder = folder(&[("readme.md", "")]);
    ran(folder.path(), "init").exits(0).says("Nothing here looks like a benchmark.");
    let line = format!("init --github --runner gpu --action acme/gbench-ci@{ACTION_SHA}");
    let told = "No line of the repository is measured by this suite file. The built-in ones in the suite file measure the machine";
    ran(folder.path(), &line).exits(0).says("kept gbench.toml").says(told);
    let own = "[[benchmark]]\nid = \"own\"\ncommand = [\"true\"]\n";
    std::fs::write(folder.path().join("gbench.toml"), format!("[suite]\nname = \"s\"\n{own}")).unwrap();
    let again = ran(folder.path(), &format!("{line} --force")).exits(0);
    assert!(!again.out.contains("No line of the repository"), "{}", again.out);
}
