//! Benchmarks of Google Benchmark in a tree: targets of CMake, rules of make, single sources, scripts of its Python package.

use super::super::cmake::{self, folder, quoted};
use super::super::detect::{Build, Detected, Found, Tree};

const HEADER: &str = "benchmark/benchmark.h";
const ENDS: [&str; 6] = [".cc", ".cpp", ".cxx", ".c++", ".C", ".cu"];

pub(super) fn detect(tree: &dyn Tree) -> Detected {
    let mut detected = Detected::default();
    let sources: Vec<(&String, String)> = tree
        .files()
        .iter()
        .filter(|path| ENDS.iter().any(|end| path.ends_with(end)))
        .filter_map(|path| Some((path, tree.text(path)?)))
        .filter(|(_, text)| includes(text))
        .collect();
    for target in cmake::targets(tree) {
        let uses = target.sources.iter().any(|path| sources.iter().any(|(source, _)| *source == path));
        let certain = ["benchmark::benchmark", "benchmark::benchmark_main"];
        if target.links_one_of(&certain) || uses && target.links_one_of(&["benchmark", "benchmark_main"]) {
            detected.found.push(target.found("its CMake target links Google Benchmark"));
        }
    }
    for (path, text) in &sources {
        let known = detected.found.iter().any(|found| found.files.contains(path));
        if known || !registers(text) {
            continue;
        }
        if let Some(why) = built_otherwise(tree, path) {
            detected.unclear.push(format!(
                "`{path}` has benchmarks of Google Benchmark, and {why}: write its `build` and `command` by hand"
            ));
            continue;
        }
        detected.found.push(made(tree, path).unwrap_or_else(|| compiled(path, text)));
    }
    for path in tree.files().iter().filter(|path| path.ends_with(".py")) {
        let text = tree.text(path).unwrap_or_default();
        let imports = text.lines().any(|line| line.starts_with("import google_benchmark"));
        if imports && text.contains(".main()") {
            detected.found.push(Found {
                name: stem(path).to_owned(),
                command: vec!["python3".into(), path.clone()],
                binaries: vec!["python3".into()],
                files: vec![path.clone()],
                why: "it imports google_benchmark".into(),
                ..Found::default()
            });
        }
    }
    detected
}

fn includes(text: &str) -> bool {
    text.lines().any(|line| {
        let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
        let name = rest.and_then(|rest| rest.strip_prefix("include")).map(str::trim_start);
        name.is_some_and(|name| name.strip_prefix(['<', '"']).is_some_and(|name| name.starts_with(HEADER)))
    })
}

fn registers(text: &str) -> bool {
    ["BENCHMARK(", "BENCHMARK_", "RegisterBenchmark"].iter().any(|word| text.contains(word))
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Why no compiler can simply be called: a build system stands above the file that says how.
fn built_otherwise(tree: &dyn Tree, path: &str) -> Option<String> {
    let files = ["CMakeLists.txt", "BUILD", "BUILD.bazel", "meson.build"];
    let mut at = folder(path);
    loop {
        for file in files {
            let build = if at.is_empty() { file.to_owned() } else { format!("{at}/{file}") };
            if tree.files().binary_search(&build).is_ok() {
                return Some(format!("no target of `{build}` was understood to build it"));
            }
        }
        if at.is_empty() {
            return None;
        }
        at = folder(at);
    }
}

/// By a rule of the Makefile beside it that links the library.
fn made(tree: &dyn Tree, path: &str) -> Option<Found> {
    let here = folder(path);
    let file = if here.is_empty() { "Makefile".to_owned() } else { format!("{here}/Makefile") };
    let text = tree.text(&file)?;
    let target = stem(path);
    let rule = text.lines().any(|line| {
        line.split_once(':').is_some_and(|(names, rest)| {
            !rest.starts_with('=') && names.split_whitespace().any(|name| name == target)
        })
    });
    if !rule || !text.contains("-lbenchmark") {
        return None;
    }
    let place = if here.is_empty() { String::new() } else { format!("-C {} ", quoted(here)) };
    let program = if here.is_empty() { format!("./{target}") } else { format!("./{here}/{target}") };
    Some(Found {
        name: target.to_owned(),
        command: vec![program],
        build: Some(Build::Shell(format!("make {place}{}", quoted(target)))),
        binaries: vec!["make".into(), "c++".into()],
        files: vec![file, path.to_owned()],
        why: "a rule of its Makefile links Google Benchmark".into(),
        ..Found::default()
    })
}

fn compiled(path: &str, text: &str) -> Found {
    let name = stem(path);
    let entry = text.contains("BENCHMARK_MAIN") || text.contains("int main(");
    let main = if entry { "" } else { "-lbenchmark_main " };
    let (program, source) = (quoted(&format!("build/{name}")), quoted(path));
    let shell =
        format!("mkdir -p build && c++ -O2 -std=c++17 -o {program} {source} {main}-lbenchmark -lpthread");
    Found {
        name: name.to_owned(),
        command: vec![format!("./build/{name}")],
        build: Some(Build::Shell(shell)),
        binaries: vec!["c++".into()],
        files: vec![path.to_owned()],
        why: "it includes benchmark/benchmark.h, and no build file stands beside it".into(),
        ..Found::default()
    }
}
