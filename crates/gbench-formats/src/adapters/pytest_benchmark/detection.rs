//! Tests with pytest-benchmark's fixture, by project.

use std::collections::{BTreeMap, HashSet};

use crate::adapters::interface::source_tree::{Detected, FoundBenchmark, SourceTree};
use crate::adapters::source::python;

const PACKAGE: &str = "pytest-benchmark";

/// True if a test function of a file takes the fixture as a parameter.
fn takes_benchmark(text: &str) -> bool {
    text.match_indices("def test").any(|(at, _)| {
        let head = text[at..].split_once('(').map_or("", |(_, rest)| rest.split(')').next().unwrap_or(rest));
        head.split(',').any(|parameter| {
            let name = parameter.split([':', '=']).next().unwrap_or(parameter).trim();
            name == "benchmark" || name == "benchmark_weave"
        })
    })
}

pub(crate) fn detect(tree: &dyn SourceTree) -> Detected {
    let mut projects: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut own = HashSet::new();
    for path in tree.files().iter().filter(|path| path.ends_with(".py")) {
        let Some(text) = tree.text(path) else { continue };
        if text.contains("def benchmark(") {
            own.insert(python::project(tree, path));
        }
        if takes_benchmark(&text) {
            projects.entry(python::project(tree, path)).or_default().push(path.clone());
        }
    }
    let mut detected = Detected::default();
    for (project, files) in projects {
        let texts = python::requirements(tree, &project);
        let named = |package: &str| texts.iter().any(|(_, text)| python::names(text, package));
        let (first, more) = (&files[0], files.len() - 1);
        let others = if more == 0 { String::new() } else { format!(" and {more} more") };
        if !named(PACKAGE) {
            let why = if named("pytest-codspeed") {
                "the project names pytest-codspeed alone"
            } else if own.contains(&project) {
                "it is a fixture of the project's own"
            } else {
                "nothing in the project names pytest-benchmark"
            };
            detected.unclear.push(format!(
                "{first}{others} has tests with a fixture `benchmark`, and {why}; if it is that of pytest-benchmark, write \
                 `command = [\"python3\", \"-m\", \"pytest\", \"{first}\"]` with `harness = \"pytest-benchmark\"`"
            ));
            detected.seen.extend(files);
            continue;
        }
        let skip = if project.is_empty() { 0 } else { project.len() + 1 };
        let mut command: Vec<String> = [python::PYTHON, "-m", "pytest"].map(str::to_owned).to_vec();
        command.extend(files.iter().map(|path| path[skip..].to_owned()));
        detected.found.push(FoundBenchmark {
            name: project.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("pytest").to_owned(),
            command,
            build: Some(python::environment(tree, &project, &project, PACKAGE, &[])),
            dir: project,
            binaries: vec!["python3".into()],
            gpu: false,
            why: format!("{first}{others} has tests with the fixture `benchmark`"),
            files,
        });
    }
    detected
}
