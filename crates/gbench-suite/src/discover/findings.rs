//! Benchmarks found in a folder, and messages about the rest.

use std::collections::BTreeSet;

use super::found_layout::{FoundLayout, FoundSources};
use crate::benchmark::extraction::Extract;
use crate::discover::cuda::found_kernel::FoundKernel;
use gbench_formats::adapters::layouts::PassedOver;
use gbench_formats::adapters::{BuildStep, Harness};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discovered {
    pub name: String,
    /// The harness of its cases; without one it is timed as a whole process, or prints its result for `extract`.
    pub harness: Option<Harness>,
    pub command: Vec<String>,
    /// The file with the rows of a program, relative to `dir`; `None`: stdout, or `harness` knows.
    pub file: Option<String>,
    /// Relative to the suite file's folder; empty: that folder.
    pub dir: String,
    /// Runs in the suite file's folder, whatever `dir` is.
    pub build: Option<BuildStep>,
    /// Environment variables and their values.
    pub env: Vec<(String, String)>,
    pub binaries: Vec<String>,
    pub gpu: bool,
    /// It works until a fixed time is over, so that only its kernels show a change, and not the whole of it.
    pub fills_time: bool,
    pub extract: Option<Extract>,
    /// Set for Python modules, which have no command.
    pub python: Option<FoundLayout>,
    /// Set for source pairs; `build` makes the program of each.
    pub pairs: Option<FoundSources>,
    /// Set for a kernel without host code, which has no command.
    pub cuda: Option<FoundKernel>,
    /// Why it was proposed, as a sentence fragment.
    pub why: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discovery {
    pub benchmarks: Vec<Discovered>,
    /// Files that look like benchmarks but were not understood, as sentences that explain what to write by hand.
    pub unclear: Vec<String>,
    /// How many sentences are missing in `unclear`; the document of `discover` has them.
    pub more: Vec<String>,
    /// `optimized_` files without a `baseline_` file, relative to the folder.
    pub orphans: Vec<String>,
    /// Files that look like Python benchmarks of a layout but are not.
    pub passed_over: Vec<PassedOver>,
}

#[derive(Default)]
pub(super) struct Findings {
    pub found: Discovery,
    /// Files with an entry or a message; later steps skip them.
    pub claimed: BTreeSet<String>,
    /// A harness was found, understood or not.
    pub has_harness: bool,
}

impl Findings {
    pub(super) fn starts(&self, path: &str) -> bool {
        let same = |entry: &Discovered| {
            let word = entry.command.first().map_or("", String::as_str);
            let word = word.strip_prefix("./").unwrap_or(word);
            path == if entry.dir.is_empty() { word.to_owned() } else { format!("{}/{word}", entry.dir) }
        };
        self.found.benchmarks.iter().any(same)
    }

    pub(super) fn of_program(&self, name: &str) -> Option<&Discovered> {
        let same = |entry: &&Discovered| entry.command.first().is_some_and(|word| leaf(word) == name);
        self.found.benchmarks.iter().find(same)
    }
}

pub(super) fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// An argument with its braces escaped.
pub fn literal(argument: &str) -> String {
    argument.replace('{', "{{").replace('}', "}}")
}

/// The text with only the characters of a benchmark's id.
pub fn id_word(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "_-.+".contains(c) { c } else { '_' };
    let word: String = text.chars().take(60).map(allowed).collect();
    match word.trim_matches('.') {
        "" => "suite".into(),
        word => word.to_owned(),
    }
}
