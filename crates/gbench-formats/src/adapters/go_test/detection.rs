//! Finds the packages of a tree that have benchmarks, by their `_test.go` files.

use std::collections::BTreeMap;

use regex::Regex;

use crate::adapters::interface::source_tree::{BuildStep, Detected, FoundBenchmark, SourceTree};
use crate::adapters::source::paths::{self, below, upwards};
use crate::adapters::source::quoting::quoted_unless;

#[derive(Default)]
struct Package {
    benchmarks: usize,
    files: Vec<String>,
}

/// Proposes one benchmark per package, as a binary that is built once: `go test` would check its sources for changes
/// before every process.
pub(super) fn detect(tree: &dyn SourceTree) -> Detected {
    let mut detected = Detected::default();
    let Ok(benchmark) = Regex::new(
        r"(?m)^func Benchmark(?:[^a-z \t\n(][^ \t\n(]*)?\([ \t]*[^ \t\n,)]+[ \t]+\*testing\.B[ \t]*\)",
    ) else {
        return detected;
    };
    let mut packages: BTreeMap<&str, Package> = BTreeMap::new();
    for path in tree.files().iter().filter(|path| path.ends_with("_test.go")) {
        let folder = paths::folder(path);
        // `go` ignores these folders.
        if folder.split('/').any(|part| part == "testdata" || part == "vendor" || part.starts_with('_')) {
            continue;
        }
        let text = tree.text(path).unwrap_or_default();
        let benchmarks = benchmark.find_iter(&text).count();
        if benchmarks == 0 {
            continue;
        }
        if let Some(tags) = tags(&text) {
            let sentence = format!(
                "{path} has benchmarks for `//go:build {tags}`: build them by hand, with `go test -c -tags ...`"
            );
            detected.unclear(path, sentence);
            continue;
        }
        let package = packages.entry(folder).or_default();
        package.benchmarks += benchmarks;
        package.files.push(path.clone());
    }
    for (folder, package) in packages {
        match module(tree, folder) {
            Some(module) => detected.found.push(found(tree, &module, folder, package)),
            None => detected.unclear.push(format!(
                "{} has Go benchmarks, and no go.mod lies above it: make it a module, or write its command by hand",
                package.files.join(", ")
            )),
        }
    }
    detected
}

fn found(tree: &dyn SourceTree, module: &str, folder: &str, package: Package) -> FoundBenchmark {
    let inner = folder.strip_prefix(module).unwrap_or(folder).trim_start_matches('/');
    let name = match folder {
        "" => name_of(tree).unwrap_or_else(|| "go".into()),
        _ => folder.replace('/', "-"),
    };
    let binary = format!("{name}.test");
    let build =
        ["go", "test", "-c", "-o", &below(inner, &binary), &format!("./{inner}")].map(str::to_owned).to_vec();
    let build = match module {
        "" => BuildStep::Command(build),
        // `go` searches for the module from its working directory.
        _ => BuildStep::Shell(format!(
            "cd {} && {}",
            quoted(module),
            build.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
        )),
    };
    let several = if package.benchmarks == 1 { "" } else { "s" };
    FoundBenchmark {
        name,
        command: vec![format!("./{binary}")],
        build: Some(build),
        dir: folder.to_owned(),
        binaries: vec!["go".into()],
        gpu: false,
        why: format!("{} function{several} `Benchmark...(b *testing.B)`", package.benchmarks),
        files: package.files,
    }
}

fn module(tree: &dyn SourceTree, folder: &str) -> Option<String> {
    upwards(folder).find(|at| tree.files().contains(&below(at, "go.mod"))).map(str::to_owned)
}

/// `sample` of `module example.com/sample/v2`.
fn name_of(tree: &dyn SourceTree) -> Option<String> {
    let text = tree.text("go.mod")?;
    let path = text.lines().find_map(|line| line.strip_prefix("module "))?.trim().trim_matches('"');
    let version = |part: &str| part.strip_prefix('v').is_some_and(|rest| rest.parse::<u32>().is_ok());
    let name = path.rsplit('/').find(|part| !version(part))?;
    name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)).then(|| name.to_owned())
}

/// A build constraint on anything other than the operating system, the processor and Go's version.
fn tags(text: &str) -> Option<&str> {
    const USUAL: [&str; 8] = ["linux", "unix", "amd64", "arm64", "cgo", "gc", "go", "true"];
    let head = text.lines().take_while(|line| !line.starts_with("package "));
    let line = head.filter_map(|line| line.strip_prefix("//go:build ")).next()?;
    let words =
        line.split(|c: char| !(c.is_alphanumeric() || "._!".contains(c))).filter(|word| !word.is_empty());
    let asked = words.filter(|word| !word.starts_with('!') && !word.starts_with("go1."));
    asked.into_iter().any(|word| !USUAL.contains(&word)).then_some(line.trim())
}

fn quoted(word: &str) -> String {
    quoted_unless(word, "-_./")
}
