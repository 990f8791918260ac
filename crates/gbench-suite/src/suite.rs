//! A suite: what can be measured, and how it is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::benchmark::definition::Benchmark;
use crate::settings::options::Gate;
use crate::settings::options::ProfileOptions;
use crate::settings::options::RunOptions;
use gbench_model::{BenchmarkId, Component};

/// Everything a suite file says, checked; or the built-in suite.
#[derive(Clone, Debug)]
pub struct Suite {
    pub name: String,
    pub description: String,
    pub source: Source,
    /// In the file's order. Never empty after loading.
    pub benchmarks: Vec<Benchmark>,
    /// `[components]`: what `--component` means where it is declared; an id may be a built-in's.
    pub components: BTreeMap<Component, Vec<BenchmarkId>>,
    pub gate: Gate,
    pub run: RunOptions,
    pub profile: ProfileOptions,
}

impl Suite {
    /// A suite with nothing else said about it.
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
        }
    }

    /// Gives benchmarks of the base the names that they have in the head, where the head says so, and afterwards only those say what
    /// they were called. What the head's name means in the base already stays as it is.
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

/// Where a suite came from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// `path` as opened, SHA-256 in hexadecimal.
    File {
        path: PathBuf,
        sha256: String,
    },
    Builtin,
}
