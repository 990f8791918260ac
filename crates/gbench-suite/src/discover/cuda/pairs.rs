//! Pairs of CUDA sources: one entry for all, with the compiler's command.

use std::collections::BTreeSet;

use crate::discover::findings::{Discovered, Findings};
use crate::discover::found_layout::FoundSources;
use crate::discover::programs::sources::is_program;
use crate::discover::python::layouts::{distinct, folder, is_baseline, roots};
use gbench_formats::adapters::layouts::{Layout, PassedOver, SourceCase, source_pairs};
use gbench_formats::adapters::{BuildStep, SourceTree};
use gbench_model::text::{count, list};

const EXTENSION: &str = "cu";
const MAX_NAMED: usize = 5;

/// Runs after Python modules: a pair with a Python module is measured by that module.
pub(crate) fn add(tree: &dyn SourceTree, findings: &mut Findings) {
    let all = source_pairs(&[], &[], EXTENSION, tree);
    let with_module = modules(findings);
    let by_module = |case: &&SourceCase| with_module.contains(&pair_of(case));
    let left_out: Vec<&SourceCase> = all.cases.iter().filter(by_module).collect();
    findings.claimed.extend(all.cases.iter().map(|case| case.file.clone()));
    findings.found.passed_over.extend(left_out.iter().map(|case| PassedOver {
        path: case.file.clone(),
        why: "the Python module next to it has the same name and is measured instead".into(),
    }));
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
    findings.found.unclear.extend(all.warnings.iter().cloned());
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

fn modules(findings: &Findings) -> BTreeSet<(String, String)> {
    let layouts = findings.found.benchmarks.iter().filter_map(|entry| entry.python.as_ref());
    let pairs = layouts.filter(|layout| layout.layout == Layout::Pairs);
    pairs
        .flat_map(|layout| &layout.cases.cases)
        .map(|case| (folder(&case.call.file).to_owned(), case.name.case.clone()))
        .collect()
}

fn pair_of(case: &SourceCase) -> (String, String) {
    (folder(&case.file).to_owned(), case.name.case.clone())
}
