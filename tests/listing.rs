//! `list`, `describe`, `config show` and `init` as a user runs them.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/suites/kernels")
}

/// Runs the binary in a folder; its stdout. It has to exit with 0.
fn run(folder: &Path, line: &str) -> String {
    let mut command = Command::from_std(crate::support::gate());
    let assert = command.args(line.split_whitespace()).current_dir(folder).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

fn json(folder: &Path, line: &str) -> Value {
    serde_json::from_str(&run(folder, line)).unwrap()
}

fn ids(list: &Value) -> Vec<&str> {
    list["benchmarks"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect()
}

#[test]
fn list_shows_the_file_and_points_at_the_built_in_suite() {
    let text = run(&kernels(), "list");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in ["kernels/gemm", "9", "gpu ram", "Matrix product", "#quick", "12 cases", "--suite micro"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn list_as_json_has_the_same_entries_and_is_the_same_twice() {
    let list = json(&kernels(), "list --json");
    assert_eq!(list["schema"], "gbench-ci/list/v1");
    assert_eq!(ids(&list), ["kernels/gemm", "kernels/softmax/fused", "kernels/flops"]);
    assert_eq!(list["benchmarks"][0]["cases"], 9);
    assert_eq!(run(&kernels(), "list --json"), run(&kernels(), "list --json"));
}

#[test]
fn selections_reach_the_built_in_suite_beside_a_file_and_without_one() {
    let list = json(&kernels(), "list --json --benchmark micro/cpu_flops --benchmark gemm --param n=4096");
    assert_eq!(ids(&list), ["kernels/gemm"]);
    let list = json(&kernels(), "list --json --benchmark micro/cpu_flops --benchmark gemm");
    assert_eq!(ids(&list), ["micro/cpu_flops", "kernels/gemm"]);
    let empty = crate::support::tempdir().unwrap();
    let list = json(empty.path(), "list --json --component cpu,ram");
    assert!(ids(&list).contains(&"micro/mem_bandwidth"));
    assert_eq!(list["suite"], "micro");
}

#[test]
fn describe_tells_every_field_and_the_effective_settings() {
    let text = run(&kernels(), "describe gemm --processes 3");
    let parts = [
        "./gemm --n={n}",
        "needs programs",
        "nvcc",
        "8.0",
        "n = 1024, 4096, 16384",
        "3 more excluded",
        "LANG=de_DE.UTF-8",
        "peak_*",
        "make gemm",
        "gbench.toml:68",
        "--processes",
    ];
    for part in parts {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let whole = json(&kernels(), "describe gemm --json --processes 3");
    let gemm = &whole["benchmarks"][0];
    assert_eq!(gemm["cases"].as_array().unwrap().len(), 9);
    assert_eq!(gemm["requires"]["gpu_memory"], 8_u64 << 30);
    assert_eq!(gemm["config"]["processes"]["value"], 3);
    assert_eq!(gemm["config"]["processes"]["origin"]["cli"], "--processes");
    assert_eq!(gemm["config"]["warmup"]["origin"]["file"], "gbench.toml:25");
}

#[test]
fn config_show_gives_each_value_its_origin() {
    let text = run(&kernels(), "config show --benchmark gemm --seed 9");
    for part in ["gate.match.driver", "annotate", "gbench.toml:20", "--seed", "at run time"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let whole = json(&kernels(), "config show --json");
    assert_eq!(whole["benchmarks"]["kernels/gemm"]["threshold"]["value"], 0.02);
    assert_eq!(whole["suite"]["run.keep"]["value"], 3);
    let defaults = json(&kernels(), "config show --defaults --json");
    assert_eq!(defaults["defaults"]["processes"]["origin"], "default");
    assert_eq!(defaults["suite"]["run.keep"]["value"], 10);
}

#[test]
fn init_writes_a_file_that_list_reads() {
    let folder = crate::support::tempdir().unwrap();
    std::fs::write(folder.path().join("bench_sort.py"), "print(1)").unwrap();
    let said = run(folder.path(), "init");
    assert!(said.contains("bench_sort") && said.contains("next: "), "{said}");
    let list = json(folder.path(), "list --json");
    assert!(ids(&list)[0].ends_with("/bench_sort"));
    run(folder.path(), "init --force");
}
