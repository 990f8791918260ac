//! What is found in a folder, and what is said of the rest.

use std::collections::BTreeSet;

use super::found_layout::{FoundLayout, FoundSources};
use crate::benchmark::extraction::Extract;
use crate::discover::cuda::found_kernel::FoundKernel;
use gbench_formats::adapters::layouts::PassedOver;
use gbench_formats::adapters::{BuildStep, Harness};

/// A `[[benchmark]]` that lies in a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discovered {
    /// Name within the suite, unlike every other found one.
    pub name: String,
    /// Whose cases it has; without one it is timed as a whole process, or says its figure by `extract`.
    pub harness: Option<Harness>,
    pub command: Vec<String>,
    /// The file in which a program of a format leaves its rows, from `dir`; `None`: it prints them, or `harness` knows.
    pub file: Option<String>,
    /// Folder to start in, from the suite file's; empty: that one.
    pub dir: String,
    /// Runs in the suite file's folder, whatever `dir` is.
    pub build: Option<BuildStep>,
    /// Programs that have to be there.
    pub binaries: Vec<String>,
    /// It needs a GPU.
    pub gpu: bool,
    pub extract: Option<Extract>,
    /// Python modules, which the driver starts: then it has no command.
    pub python: Option<FoundLayout>,
    /// Pairs of sources, each of which `build` makes the program of.
    pub pairs: Option<FoundSources>,
    /// A kernel that the gate measures by itself: then it has no command.
    pub cuda: Option<FoundKernel>,
    /// Why it was proposed, as a sentence fragment.
    pub why: String,
}

/// What lies in a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discovery {
    pub benchmarks: Vec<Discovered>,
    /// What looks like a benchmark and was not understood, as sentences that say what to write by hand.
    pub unclear: Vec<String>,
    /// How many sentences `unclear` lacks, in words: they are in the document of `discover`.
    pub more: Vec<String>,
    /// `optimized_` files without a `baseline_` one, from the folder.
    pub orphans: Vec<String>,
    /// Files that look like Python benchmarks of a layout and are none.
    pub passed_over: Vec<PassedOver>,
}

/// What is found, step by step.
#[derive(Default)]
pub(super) struct Findings {
    pub found: Discovery,
    /// Files that were proposed or spoken of: nobody else proposes them.
    pub claimed: BTreeSet<String>,
    /// A harness has something here, understood or not.
    pub has_harness: bool,
}

impl Findings {
    /// Whether a program of that path is started by an entry.
    pub(super) fn starts(&self, path: &str) -> bool {
        let same = |entry: &Discovered| {
            let word = entry.command.first().map_or("", String::as_str);
            let word = word.strip_prefix("./").unwrap_or(word);
            path == if entry.dir.is_empty() { word.to_owned() } else { format!("{}/{word}", entry.dir) }
        };
        self.found.benchmarks.iter().any(same)
    }

    /// The entry of a harness whose program has that name.
    pub(super) fn of_program(&self, name: &str) -> Option<&Discovered> {
        let same = |entry: &&Discovered| entry.command.first().is_some_and(|word| leaf(word) == name);
        self.found.benchmarks.iter().find(same)
    }
}

pub(super) fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// An argument in which braces mean themselves.
pub fn literal(argument: &str) -> String {
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
