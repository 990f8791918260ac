//! A suite: what can be measured, and how it is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::benchmark::definition::Benchmark;
use crate::settings::options::Gate;
use crate::settings::options::RunOptions;
use crate::settings::options::{LauncherOptions, ProfileOptions};
use gbench_model::{BenchmarkId, Component};

#[derive(Clone, Debug)]
pub struct Suite {
    pub name: String,
    pub description: String,
    pub source: Source,
    /// In the file's order. Never empty after loading.
    pub benchmarks: Vec<Benchmark>,
    /// `[components]`: the meaning of `--component`; ids may be built-in ones.
    pub components: BTreeMap<Component, Vec<BenchmarkId>>,
    pub gate: Gate,
    pub run: RunOptions,
    pub profile: ProfileOptions,
    pub launcher: LauncherOptions,
}

impl Suite {
    pub fn new(name: impl Into<String>, source: Source, benchmarks: Vec<Benchmark>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            source,
            benchmarks,
            components: BTreeMap::new(),
            gate: Gate::default(),
            run: RunOptions::default(),
            profile: ProfileOptions::default(),
            launcher: LauncherOptions::default(),
        }
    }

    /// Gives benchmarks of the base their names in the head, by the head's `renamed_from`; their own `renamed_from` becomes the
    /// old name. A name that the base already has does not change.
    pub fn follow_renames(&mut self, head: &Suite) {
        let known: BTreeSet<BenchmarkId> =
            self.benchmarks.iter().map(|benchmark| benchmark.id.clone()).collect();
        for benchmark in &mut self.benchmarks {
            let is_it = |other: &&Benchmark| other.renamed_from.as_ref() == Some(&benchmark.id);
            let renamed = head.benchmarks.iter().find(is_it).filter(|other| !known.contains(&other.id));
            benchmark.renamed_from =
                renamed.map(|other| std::mem::replace(&mut benchmark.id, other.id.clone()));
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// `path` as opened, SHA-256 in hexadecimal.
    File {
        path: PathBuf,
        sha256: String,
    },
    Builtin,
}
