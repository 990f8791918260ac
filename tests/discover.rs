//! `gbench-ci discover` and `init` in a real folder of Python modules: what they find, and that nothing runs.

use gbench_ci::model::Documented;
use gbench_ci::suite::Suite;
use serde_json::{Value, json};

use crate::support::cli::ran;

/// Whatever is imported or run leaves a file.
const TRAP: &str = "open(__file__ + '.ran', 'w')  # main()\n";

const FILES: [&str; 12] = [
    "ch10/baseline_norm.py",
    "ch10/optimized_norm.py",
    "ch2/baseline_moe.py",
    "ch2/optimized_moe.py",
    "ch2/optimized_moe_sparse.py",
    "ch2/optimized_lonely.py",
    "ch2/baseline_tile.cu",
    "ch2/optimized_tile.cu",
    "kernels/gelu.py",
    "kernels/helper.py",
    "kernels/test_gelu.py",
    "kernels/__init__.py",
];

const BENCH: &str = "problem_size: {shape: [2, 1024], tolerance: 1.0e-5}\nprecisions: [fp32, fp16]\nbackends: [cpu]\nwarmups: 3\n";

fn folder() -> tempfile::TempDir {
    let folder = crate::support::tempdir().unwrap();
    for path in FILES {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, TRAP).unwrap();
    }
    std::fs::write(folder.path().join("kernels/bench.yaml"), BENCH).unwrap();
    folder
}

fn files_left(folder: &std::path::Path) -> usize {
    let inside = ["ch10", "ch2", "kernels"];
    inside.iter().map(|name| std::fs::read_dir(folder.join(name)).unwrap().count()).sum()
}

fn json(folder: &std::path::Path, flags: &str) -> Value {
    let text = ran(folder, &format!("discover --json{flags}")).exits(0).out;
    let document = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let schema = gbench_ci::app::discover::V1Discovery::schema();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let complaints: Vec<String> = schema.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    document
}

#[test]
fn s0_77_discovery_is_a_step_of_its_own_that_runs_nothing() {
    let folder = folder();
    let found = json(folder.path(), "");
    assert_eq!(found["version"], 1);
    let optimized = |file: &str| json!({ "file": file });
    assert_eq!(
        found["pairs"],
        json!([
            {"chapter": "ch2", "name": "moe", "baseline": "ch2/baseline_moe.py", "optimized": [
                optimized("ch2/optimized_moe.py"), {"file": "ch2/optimized_moe_sparse.py", "technique": "sparse"}]},
            {"chapter": "ch10", "name": "norm", "baseline": "ch10/baseline_norm.py", "optimized": [optimized("ch10/optimized_norm.py")]},
        ])
    );
    assert_eq!(found["orphans"], json!(["ch2/optimized_lonely.py"]));
    assert_eq!(found["cuda_pairs"][0]["baseline"], "ch2/baseline_tile.cu");
    assert_eq!(
        found["kernels"][0],
        json!({
            "name": "gelu", "path": "kernels/gelu.py", "backend_guessed": "cpu", "dependencies": [],
            "config": {"problem_size": {"shape": [2, 1024], "tolerance": 1.0e-5}, "precisions": ["fp32", "fp16"], "backends": ["cpu"], "warmups": 3},
            "cases": ["kernels/gelu[precision=fp32,backend=cpu]", "kernels/gelu[precision=fp16,backend=cpu]"],
        })
    );
    assert_eq!(found["benchmarks"][0]["python"], json!({"layout": "pairs", "roots": ["ch*"], "ignore": []}));
    assert_eq!(found.get("passed_over"), None);
    assert_eq!(json(folder.path(), ""), found, "the document is stable");
    assert_eq!(files_left(folder.path()), FILES.len() + 1, "something ran");
    assert!(!folder.path().join("gbench.toml").exists());
}

#[test]
fn s1_2_and_s1_42_verbose_names_what_is_passed_over() {
    let folder = folder();
    let found = json(folder.path(), " --verbose");
    let over: Vec<&str> =
        found["passed_over"].as_array().unwrap().iter().map(|over| over["path"].as_str().unwrap()).collect();
    assert_eq!(over, ["kernels/__init__.py", "kernels/test_gelu.py"]);
    ran(folder.path(), "discover --verbose")
        .exits(0)
        .says("kernels/test_gelu.py: its name begins with test_")
        .says("kernels/bench.yaml:4:1: the file has no key `warmups`, which is not read: is `warmup` meant?")
        .says("3 benchmarks, 3 pairs, 2 kernels, 1 orphan; nothing was run");
}

#[test]
fn init_writes_one_entry_for_each_layout_and_says_how_much_it_holds() {
    let folder = folder();
    let said = ran(folder.path(), "init").exits(0);
    said.says("/pairs (2 baselines with 3 optimized files in 2 folders)")
        .says("/kernels (2 kernels in 1 folder)")
        .says("ch2/optimized_lonely.py is not measured: ch2 has no baseline_ file whose name it begins with");
    let text = std::fs::read_to_string(folder.path().join("gbench.toml")).unwrap();
    for part in [
        "[[benchmark]]\nid = \"pairs\"\n\n[benchmark.python]\nlayout = \"pairs\"\nroots = [\"ch*\"]\n",
        "[[benchmark]]\nid = \"kernels\"\n\n[benchmark.python]\nlayout = \"kernels\"\nroots = [\"kernels\"]\n",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains("command = []"), "{text}");
    let suite = Suite::load(&folder.path().join("gbench.toml"), &[]).unwrap();
    assert_eq!(suite.benchmarks.len(), 3);
    assert_eq!(files_left(folder.path()), FILES.len() + 1, "something ran");
}

#[test]
fn a_sweep_over_operators_is_measured_by_its_own_file() {
    let folder = crate::support::tempdir().unwrap();
    let keys = ["operation", "implementation", "batch_size", "time_ms", "memory_mb", "inference_speed"];
    let row: String = keys.iter().map(|key| format!("'{key}': 'x' if '{key}'[-1] in 'n' else 2, ")).collect();
    let script = format!(
        "import json\ndef run(output_file='results.json'):\n    with open(output_file, 'w') as f:\n        json.dump([{{{row}}}], f)\n    \
         print('done')\nif __name__ == '__main__':\n    run()\n"
    );
    std::fs::write(folder.path().join("bench_sweep.py"), script).unwrap();
    let found = json(folder.path(), "");
    assert_eq!(
        found["benchmarks"][0],
        json!({"id": "bench_sweep", "harness": "operator-list", "command": ["python3", "bench_sweep.py"], "file": "results.json", "dir": "",
               "gpu": false, "why": "bench_sweep.py builds every key of the rows of operator-list and writes them to results.json"})
    );
    ran(folder.path(), "init").exits(0);
    ran(folder.path(), "list --cases").exits(0).says("operation=x");
}

#[test]
fn a_folder_that_is_not_there_and_one_with_nothing_in_it() {
    let folder = crate::support::tempdir().unwrap();
    ran(folder.path(), "discover nowhere").exits(2).says("this folder cannot be read");
    std::fs::write(folder.path().join("file"), "").unwrap();
    ran(folder.path(), "discover file").exits(2).says("this is not a folder");
    ran(folder.path(), "discover").exits(0).says("Nothing here looks like a benchmark");
    let found = json(folder.path(), "");
    assert_eq!((&found["benchmarks"], &found["pairs"]), (&json!([]), &json!([])));
}
