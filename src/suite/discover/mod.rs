//! Finds what can be measured in a folder: benchmarks of the harnesses that the adapters know, and for what none of them claims
//! programs, scripts, sources that are a program by themselves, a target of a makefile. Names, texts and file modes only:
//! nothing is started.
//!
//! A program that calibrates itself is never proposed to be timed from outside: it does as much work as fits into a fixed
//! time, so that a slower function goes unseen.

mod calibrating;
mod harnesses;
mod linpack;
mod makefile;
mod programs;
mod sources;
mod tree;

use std::collections::BTreeSet;
use std::path::Path;

use super::Extract;
use crate::adapters::{BuildStep, Harness, SourceTree};

pub(crate) use tree::FolderTree;

/// A `[[benchmark]]` that lies in a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discovered {
    /// Name within the suite, unlike every other found one.
    pub name: String,
    /// Whose cases it has; without one it is timed as a whole process, or says its figure by `extract`.
    pub harness: Option<Harness>,
    pub command: Vec<String>,
    /// Folder to start in, from the suite file's; empty: that one.
    pub dir: String,
    /// Runs in the suite file's folder, whatever `dir` is.
    pub build: Option<BuildStep>,
    /// Programs that have to be there.
    pub binaries: Vec<String>,
    /// It needs a GPU.
    pub gpu: bool,
    pub extract: Option<Extract>,
    /// Why it was proposed, as a sentence fragment.
    pub why: String,
}

/// What lies in a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discovery {
    pub benchmarks: Vec<Discovered>,
    /// What looks like a benchmark and was not understood, as sentences that say what to write by hand.
    pub unclear: Vec<String>,
}

/// What is found, step by step.
#[derive(Default)]
struct Findings {
    found: Discovery,
    /// Files that were proposed or spoken of: nobody else proposes them.
    claimed: BTreeSet<String>,
}

/// Everything in `folder` that looks like a benchmark. What cannot be read is not there. `ignored`: whether a file or folder, by
/// its whole path, is none of the project's.
pub fn discover(folder: &Path, ignored: &dyn Fn(&Path) -> bool) -> Discovery {
    let tree = FolderTree::walk(folder, ignored);
    let mut findings = Findings::default();
    harnesses::add(&tree, &mut findings);
    linpack::add(folder, &tree, &mut findings);
    programs::add(folder, &mut findings);
    // A makefile knows how its programs are built.
    if !makefile::add(&tree, &mut findings) {
        sources::add(folder, &tree, &mut findings);
    }
    let Discovery { mut benchmarks, mut unclear } = findings.found;
    if tree.cut_off {
        let count = tree.files().len();
        unclear.push(format!(
            "this folder is large: {count} files near its top were looked at; write by hand what lies deeper"
        ));
    }
    rename(&mut benchmarks);
    Discovery { benchmarks, unclear }
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

fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// An argument in which braces mean themselves.
fn literal(argument: &str) -> String {
    argument.replace('{', "{{").replace('}', "}}")
}

/// The characters of a benchmark's id.
pub fn id_word(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "_-.+".contains(c) { c } else { '_' };
    let word: String = text.chars().take(60).map(allowed).collect();
    match word.trim_matches('.') {
        "" => "suite".into(),
        word => word.to_owned(),
    }
}

#[cfg(test)]
mod tests;
