//! Pairs of CUDA sources: one entry for all, with the compiler's command.

use std::collections::{BTreeMap, BTreeSet};

use crate::discover::findings::{Discovered, Findings};
use crate::discover::found_layout::FoundSources;
use crate::discover::programs::sources::is_program;
use crate::discover::python::layouts::{distinct, folder, is_baseline, roots, say_orphans};
use gbench_formats::adapters::layouts::{Layout, PassedOver, SourceCase, source_pairs};
use gbench_formats::adapters::{BuildStep, SourceTree};
use gbench_model::text::{count, list};

const EXTENSION: &str = "cu";
const MAX_NAMED: usize = 5;

/// Runs after Python modules: a pair that Python modules of its name start is measured by these.
pub(crate) fn add(tree: &dyn SourceTree, findings: &mut Findings) {
    let all = source_pairs(&[], &[], EXTENSION, tree);
    let modules = modules(findings, tree);
    let starts =
        |case: &&SourceCase| modules.get(&pair_of(case)).is_some_and(|text| names(text, stem(&case.file)));
    let started: BTreeSet<(String, String)> = all.cases.iter().filter(starts).map(pair_of).collect();
    let by_module = |case: &&SourceCase| started.contains(&pair_of(case));
    let left_out: Vec<&SourceCase> = all.cases.iter().filter(by_module).collect();
    findings.claimed.extend(all.cases.iter().map(|case| case.file.clone()));
    findings.found.passed_over.extend(left_out.iter().map(|case| PassedOver {
        path: case.file.clone(),
        why: "the Python module of the same name starts it, and is measured instead".into(),
    }));
    if !left_out.is_empty() {
        let files: Vec<String> = left_out.iter().map(|case| case.file.clone()).collect();
        findings.found.unclear.push(format!(
            "{} of pairs have no entry, because the Python modules of the same names start them: {}",
            count(files.len(), "CUDA source"),
            list(&files, MAX_NAMED)
        ));
    }
    let is_none = |case: &&SourceCase| !tree.text(&case.file).is_some_and(|text| is_program(&text));
    let no_programs: Vec<String> = all
        .cases
        .iter()
        .filter(|case| !by_module(case) && is_none(case))
        .map(|case| case.file.clone())
        .collect();
    if !no_programs.is_empty() {
        findings.found.unclear.push(format!(
            "{} of pairs have no `main`, so that no entry is proposed: {}",
            count(no_programs.len(), "CUDA source"),
            list(&no_programs, MAX_NAMED)
        ));
    }
    let left_out = left_out.iter().map(|case| &case.file).chain(&no_programs);
    let ignore: Vec<String> = left_out.map(|file| globset::escape(file)).collect();
    let own = all.cases.iter().filter(|case| !by_module(case) && !is_none(case) && !is_baseline(&case.name));
    let folders = distinct(own.map(|case| folder(&case.file)));
    if folders.is_empty() {
        return;
    }
    let roots = roots(&folders);
    let cases = source_pairs(&roots, &ignore, EXTENSION, tree);
    let (baselines, optimized): (Vec<&SourceCase>, Vec<&SourceCase>) =
        cases.cases.iter().partition(|case| is_baseline(&case.name));
    let why = format!(
        "{} of CUDA with {} in {}; complete the `build` command, and add `extract` if a program prints its time",
        count(baselines.len(), "baseline"),
        count(optimized.len(), "optimized file"),
        count(folders.len(), "folder"),
    );
    say_orphans(&all.orphans, &all.warnings, findings);
    findings.found.orphans.extend(all.orphans.iter().cloned());
    let words = ["nvcc", "-O3", "-o", "{program}", "{source}"];
    findings.found.benchmarks.push(Discovered {
        name: "cuda_pairs".into(),
        command: vec!["./{program}".into()],
        build: Some(BuildStep::Command(words.map(str::to_owned).to_vec())),
        binaries: vec!["nvcc".into()],
        gpu: true,
        pairs: Some(FoundSources { extension: EXTENSION.into(), roots, ignore, cases }),
        why,
        ..Discovered::default()
    });
}

/// The text of the Python modules of each pair, by folder and name.
fn modules(findings: &Findings, tree: &dyn SourceTree) -> BTreeMap<(String, String), String> {
    let layouts = findings.found.benchmarks.iter().filter_map(|entry| entry.python.as_ref());
    let pairs = layouts.filter(|layout| layout.layout == Layout::Pairs);
    let mut texts: BTreeMap<(String, String), String> = BTreeMap::new();
    for case in pairs.flat_map(|layout| &layout.cases.cases) {
        let pair = (folder(&case.call.file).to_owned(), case.name.case.clone());
        *texts.entry(pair).or_default() += &tree.text(&case.call.file).unwrap_or_default();
    }
    texts
}

/// True if a text names a program or a source, such as `"baseline_gemm"`. A module may name itself, with `.py`.
fn names(text: &str, stem: &str) -> bool {
    text.match_indices(stem).any(|(at, _)| {
        let behind = &text[at + stem.len()..];
        let in_word = |c: char| c.is_alphanumeric() || c == '_';
        let is_whole = !text[..at].ends_with(in_word) && !behind.starts_with(in_word);
        is_whole && !behind.starts_with(".py")
    })
}

fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn pair_of(case: &SourceCase) -> (String, String) {
    (folder(&case.file).to_owned(), case.name.case.clone())
}
