//! Finds benchmarks in a folder: harnesses that the adapters know, then programs with kernels, unclaimed programs, scripts,
//! sources with a `main`, a makefile's target, and CUDA kernels without a program. Reads names, texts and file modes only; starts nothing.
//!
//! Never proposes to time a program from outside that calibrates itself: it fills a fixed time with work, so that a slower
//! function goes unnoticed.

mod cuda;
mod files;
pub(crate) mod findings;
pub(crate) mod found_layout;
mod harnesses;
mod programs;
mod python;
pub(crate) mod tree;

use std::collections::BTreeSet;
use std::path::Path;

pub use cuda::found_kernel::{FoundArgument, FoundKernel, FoundValue};
use cuda::{kernels, pairs};
use findings::Findings;
pub use findings::{Discovered, Discovery, id_word, literal};
pub use found_layout::{FoundLayout, FoundSources};
use gbench_formats::adapters::CMakePrograms;
use programs::{javascript, kernel_programs, linpack, makefile, sources, started};
use python::{layouts, row_scripts};
pub use tree::FolderTree;

/// Everything in `folder` that looks like a benchmark; unreadable files are skipped. `ignored`: true for files and folders, by
/// absolute path, that are not the project's.
pub fn discover(folder: &Path, ignored: &dyn Fn(&Path) -> bool) -> Discovery {
    let tree = FolderTree::walk(folder, ignored);
    let mut findings = Findings::default();
    harnesses::add(&tree, &mut findings);
    layouts::add(&tree, &mut findings);
    pairs::add(&tree, &mut findings);
    row_scripts::add(&tree, &mut findings);
    javascript::add(folder, &tree, &mut findings);
    linpack::add(folder, &tree, &mut findings);
    let cmake = CMakePrograms::of(&tree);
    kernel_programs::add(folder, &tree, &cmake, &mut findings);
    started::add(folder, &tree, &mut findings);
    if !makefile::add(&tree, &mut findings) {
        sources::add(folder, &cmake, &mut findings);
    }
    kernels::add(&tree, &cmake, &mut findings);
    let mut found = findings.found;
    found.unclear.extend(tree.left_out());
    found.passed_over.sort();
    rename(&mut found.benchmarks);
    found
}

fn rename(benchmarks: &mut [Discovered]) {
    let mut names = BTreeSet::new();
    for entry in benchmarks {
        let plain = id_word(&entry.name);
        entry.name = plain.clone();
        let mut number = 2;
        while !names.insert(entry.name.clone()) {
            entry.name = format!("{plain}-{number}");
            number += 1;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
