use super::*;

pub fn folder(files: &[(&str, &str, u32)]) -> tempfile::TempDir {
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
    let found = discover(folder.path());
    let commands: Vec<_> =
        found.iter().map(|entry| (entry.name.as_str(), entry.command.join(" "))).collect();
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
    let gpus: Vec<_> = discover(folder.path()).into_iter().map(|entry| (entry.name, entry.gpu)).collect();
    let expected = [("bench_cpu", false), ("bench_gpu", true), ("bench_run", true)];
    assert_eq!(gpus, expected.map(|(name, gpu)| (name.to_owned(), gpu)));
}

#[test]
fn cargo_benches_and_make_targets_are_found() {
    let folder = folder(&[
        ("Cargo.toml", "", 0o644),
        ("benches/sort.rs", "", 0o644),
        ("Makefile", "all:\n\nbench: all\n", 0o644),
    ]);
    let found = discover(folder.path());
    assert_eq!(found[0].command, ["cargo", "bench", "--offline", "--bench", "sort"]);
    assert_eq!(found[1].command, ["make", "bench"]);
}

#[test]
fn an_empty_or_missing_folder_holds_nothing() {
    assert_eq!(discover(folder(&[]).path()), []);
    assert_eq!(discover(Path::new("/nowhere/at/all")), []);
}

#[test]
fn any_name_becomes_a_word() {
    for (text, expected) in
        [("my suite!", "my_suite_"), ("", "suite"), ("..", "suite"), ("größe", "gr__e")]
    {
        assert_eq!(id_word(text), expected);
        assert!(format!("{}/x", id_word(text)).parse::<crate::model::BenchmarkId>().is_ok());
    }
}

const MAIN: &str = "int main(int argc, char **argv) { return 0; }\n";

fn told(files: &[(&str, &str, u32)]) -> Vec<String> {
    let folder = folder(files);
    let line = |entry: Discovered| {
        format!(
            "{}: {} <- {}{}",
            entry.name,
            entry.command.join(" "),
            entry.build.join(" "),
            if entry.gpu { " gpu" } else { "" }
        )
    };
    discover(folder.path()).into_iter().map(line).collect()
}

#[test]
fn sources_with_a_main_are_built_and_run() {
    let told = told(&[
        ("gemm_bench.cu", MAIN, 0o644),
        ("kernels.cu", MAIN, 0o644),
        ("bench/softmax.cu", MAIN, 0o644),
        ("bench/timer.cpp", "void domain() { remain(); }\n", 0o644),
        ("benchmarks/io.c", "int\nmain (void)\n{}\n", 0o644),
        ("benchmarks/map.cpp", "BENCHMARK_MAIN();\n", 0o644),
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
