//! Finds what can be measured in a folder: benchmarks of the harnesses that the adapters know, and for what none of them claims
//! programs, scripts, sources that are a program by themselves, a target of a makefile, CUDA kernels that belong to no program. Names, texts and file modes only:
//! nothing is started.
//!
//! A program that calibrates itself is never proposed to be timed from outside: it does as much work as fits into a fixed
//! time, so that a slower function goes unseen.

mod calibrating;
mod cuda_kernels;
mod cuda_pairs;
mod cuda_parameter;
mod cuda_source;
mod cuda_text;
mod files;
mod findings;
mod found_kernel;
mod harnesses;
mod javascript;
mod layouts;
mod linpack;
mod makefile;
mod programs;
mod python;
mod rows;
mod sources;
mod tree;

use std::collections::BTreeSet;
use std::path::Path;

use findings::Findings;
pub use findings::{Discovered, Discovery, id_word, literal};
pub use found_kernel::{FoundArgument, FoundKernel, FoundValue};
pub use layouts::{FoundLayout, FoundSources};
pub use tree::FolderTree;

/// Everything in `folder` that looks like a benchmark. What cannot be read is not there. `ignored`: whether a file or folder, by
/// its whole path, is none of the project's.
pub fn discover(folder: &Path, ignored: &dyn Fn(&Path) -> bool) -> Discovery {
    let tree = FolderTree::walk(folder, ignored);
    let mut findings = Findings::default();
    harnesses::add(&tree, &mut findings);
    python::add(&tree, &mut findings);
    cuda_pairs::add(&tree, &mut findings);
    rows::add(&tree, &mut findings);
    javascript::add(folder, &tree, &mut findings);
    linpack::add(folder, &tree, &mut findings);
    programs::add(folder, &tree, &mut findings);
    // A makefile knows how its programs are built.
    if !makefile::add(&tree, &mut findings) {
        sources::add(folder, &tree, &mut findings);
    }
    cuda_kernels::add(&tree, &mut findings);
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
