//! Finds what can be measured in a folder: benchmarks of the harnesses that the adapters know, and for what none of them claims
//! programs, scripts, sources that are a program by themselves, a target of a makefile, CUDA kernels that belong to no program. Names, texts and file modes only:
//! nothing is started.
//!
//! A program that calibrates itself is never proposed to be timed from outside: it does as much work as fits into a fixed
//! time, so that a slower function goes unseen.

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
use programs::{javascript, linpack, makefile, sources, started};
use python::{layouts, row_scripts};
pub use tree::FolderTree;

/// Everything in `folder` that looks like a benchmark. What cannot be read is not there. `ignored`: whether a file or folder, by
/// its whole path, is none of the project's.
pub fn discover(folder: &Path, ignored: &dyn Fn(&Path) -> bool) -> Discovery {
    let tree = FolderTree::walk(folder, ignored);
    let mut findings = Findings::default();
    harnesses::add(&tree, &mut findings);
    layouts::add(&tree, &mut findings);
    pairs::add(&tree, &mut findings);
    row_scripts::add(&tree, &mut findings);
    javascript::add(folder, &tree, &mut findings);
    linpack::add(folder, &tree, &mut findings);
    started::add(folder, &tree, &mut findings);
    // A makefile knows how its programs are built.
    if !makefile::add(&tree, &mut findings) {
        sources::add(folder, &tree, &mut findings);
    }
    kernels::add(&tree, &mut findings);
    let mut found = findings.found;
    found.unclear.extend(tree.left_out());
    found.passed_over.sort();
    rename(&mut found.benchmarks);
    found
}

/// Gives every benchmark a name of its own, of characters that a name may have.
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
