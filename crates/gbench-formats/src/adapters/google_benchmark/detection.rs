//! Finds Google Benchmark in a tree: C++ by its header, Python by the package of bindings.

use crate::adapters::interface::source_tree::{Detected, FoundBenchmark, SourceTree};
use crate::adapters::source::cpp::{self, Library};
use crate::adapters::source::paths::stem;

const LIBRARY: Library = Library {
    title: "Google Benchmark",
    headers: &["benchmark/benchmark.h"],
    words: &["BENCHMARK(", "BENCHMARK_", "RegisterBenchmark"],
    targets: &["benchmark::benchmark", "benchmark::benchmark_main"],
    flag: "-lbenchmark",
    compiled: |_, _, text| {
        let entry = text.contains("BENCHMARK_MAIN") || text.contains("int main(");
        let main = if entry { "" } else { "-lbenchmark_main " };
        Some(format!("{main}-lbenchmark -lpthread"))
    },
    gpu: false,
};

pub(crate) fn detect(tree: &dyn SourceTree) -> Detected {
    let mut detected = cpp::detect(tree, &LIBRARY);
    for path in tree.files().iter().filter(|path| path.ends_with(".py")) {
        let text = tree.text(path).unwrap_or_default();
        let imports = text.lines().any(|line| line.starts_with("import google_benchmark"));
        if imports && text.contains(".main()") {
            detected.found.push(FoundBenchmark {
                name: stem(path).to_owned(),
                command: vec!["python3".into(), path.clone()],
                binaries: vec!["python3".into()],
                files: vec![path.clone()],
                why: "it imports google_benchmark".into(),
                ..FoundBenchmark::default()
            });
        }
    }
    detected
}
