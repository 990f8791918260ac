//! Detection that the harnesses of C++ share: sources that include a header, and who builds them.

use super::cmake::{self, NoPlace};
use super::paths::{above, below, folder, stem};
use super::quoting::quoted;
use crate::adapters::interface::source_tree::{BuildStep, Detected, FoundBenchmark, SourceTree};

const ENDS: [&str; 6] = [".cc", ".cpp", ".cxx", ".c++", ".C", ".cu"];

pub(crate) struct Library {
    pub title: &'static str,
    /// Ends of the header names in an `#include`.
    pub headers: &'static [&'static str],
    /// Each source of benchmarks contains one of these words.
    pub words: &'static [&'static str],
    /// CMake targets that are linked for nothing else.
    pub targets: &'static [&'static str],
    /// The linker's flag in Makefiles; empty if it has none.
    pub flag: &'static str,
    /// Compiler arguments for a source outside of any build; `None`: it cannot be compiled this way.
    pub compiled: fn(&dyn SourceTree, &str, &str) -> Option<String>,
    /// It needs a GPU, and nvcc.
    pub gpu: bool,
}

pub(crate) fn detect(tree: &dyn SourceTree, library: &Library) -> Detected {
    let mut detected = Detected::default();
    let sources: Vec<(&String, String)> = tree
        .files()
        .iter()
        .filter(|path| ENDS.iter().any(|end| path.ends_with(end)))
        .filter_map(|path| Some((path, tree.text(path)?)))
        .filter(|(_, text)| includes(text, library.headers))
        .filter(|(_, text)| library.words.iter().any(|word| text.contains(word)))
        .collect();
    let what = format!("a target of CMake has benchmarks of {}", library.title);
    let mut misplaced = Vec::new();
    for target in cmake::targets(tree) {
        let uses = target.sources.iter().any(|path| sources.iter().any(|(source, _)| *source == path));
        if uses || target.links_one_of(library.targets) {
            let files = target.sources.clone();
            match target.found(&what) {
                Ok(found) => detected.found.push(found),
                Err(no_place) => {
                    misplaced.push(no_place);
                    detected.seen.extend(files);
                }
            }
        }
    }
    detected.unclear.extend(NoPlace::sentence(&misplaced, &what));
    for (path, text) in &sources {
        if detected.found.iter().any(|found| found.files.contains(path)) || detected.seen.contains(path) {
            continue;
        }
        let alone =
            || built_otherwise(tree, path).is_none().then(|| compiled(tree, path, text, library)).flatten();
        match made(tree, path, library).or_else(alone) {
            Some(found) => detected.found.push(found),
            None => {
                let why = built_otherwise(tree, path).unwrap_or("nothing says how it is built".into());
                let title = library.title;
                let by_hand = "write its `build` and `command` by hand";
                detected.unclear(path, format!("`{path}` has benchmarks of {title}, and {why}: {by_hand}"));
            }
        }
    }
    if library.gpu {
        for found in &mut detected.found {
            found.gpu = true;
            found.binaries.push("nvcc".into());
        }
    }
    detected
}

fn includes(text: &str, headers: &[&str]) -> bool {
    text.lines().any(|line| {
        let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
        let name = rest.and_then(|rest| rest.strip_prefix("include")).map(str::trim_start);
        let name = name.and_then(|name| name.strip_prefix(['<', '"'])?.split(['>', '"']).next());
        let same = |name: &str, header: &&str| {
            name.strip_suffix(*header).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        name.is_some_and(|name| headers.iter().any(|header| same(name, header)))
    })
}

/// Why the compiler cannot be called directly: a build system is above the file.
fn built_otherwise(tree: &dyn SourceTree, path: &str) -> Option<String> {
    let files = ["CMakeLists.txt", "BUILD", "BUILD.bazel", "meson.build"];
    let mut builds = above(path).flat_map(|at| files.map(|file| below(at, file)));
    let build = builds.find(|build| tree.files().binary_search(build).is_ok())?;
    Some(format!("no target of `{build}` was understood to build it"))
}

/// By a rule of its folder's Makefile that links the library.
fn made(tree: &dyn SourceTree, path: &str, library: &Library) -> Option<FoundBenchmark> {
    let here = folder(path);
    let file = below(here, "Makefile");
    let text = tree.text(&file)?;
    let target = stem(path);
    let rule = text.lines().any(|line| {
        line.split_once(':').is_some_and(|(names, rest)| {
            !rest.starts_with('=') && names.split_whitespace().any(|name| name == target)
        })
    });
    if !rule || !text.contains(library.flag) {
        return None;
    }
    let place = if here.is_empty() { String::new() } else { format!("-C {} ", quoted(here)) };
    let program = format!("./{}", below(here, target));
    Some(FoundBenchmark {
        name: target.to_owned(),
        command: vec![program],
        build: Some(BuildStep::Shell(format!("make {place}{}", quoted(target)))),
        binaries: vec!["make".into(), "c++".into()],
        files: vec![file, path.to_owned()],
        why: format!("a rule of its Makefile builds benchmarks of {}", library.title),
        ..FoundBenchmark::default()
    })
}

fn compiled(tree: &dyn SourceTree, path: &str, text: &str, library: &Library) -> Option<FoundBenchmark> {
    let name = stem(path);
    let words = (library.compiled)(tree, path, text)?;
    let (program, source) = (quoted(&format!("build/{name}")), quoted(path));
    let shell = format!("mkdir -p build && c++ -O2 -std=c++17 -o {program} {source} {words}");
    Some(FoundBenchmark {
        name: name.to_owned(),
        command: vec![format!("./build/{name}")],
        build: Some(BuildStep::Shell(shell.trim_end().to_owned())),
        binaries: vec!["c++".into()],
        files: vec![path.to_owned()],
        why: format!("it includes the header of {}, and its folder has no build file", library.title),
        ..FoundBenchmark::default()
    })
}
