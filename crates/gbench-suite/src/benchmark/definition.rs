//! A benchmark of a suite, before its parameters are multiplied out.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::container::Container;
use super::cuda::CudaEntry;
use super::extraction::{Extract, MetricRule};
use super::harness::HarnessEntry;
use super::launch::{Action, Build, Requires};
use super::python::{PythonEntry, PythonSource, SideTree};
use super::source_pairs::SourcePairs;
use super::work::Work;
use gbench_model::{BenchmarkId, Component, KernelCall, Kind, Params, Settings, Timing};

/// One benchmark before its parameters are multiplied out into cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    pub id: BenchmarkId,
    pub declared: Declared,
    pub description: String,
    pub components: Vec<Component>,
    pub kind: Kind,
    pub tags: Vec<String>,
    /// Benchmarks of one group solve one problem in different ways.
    pub group: Option<String>,
    /// Its id in earlier commits: of a comparison's base that benchmark is the same one.
    pub renamed_from: Option<BenchmarkId>,
    pub action: Action,
    /// Absolute; the suite file's folder where none is given.
    pub dir: PathBuf,
    pub env: BTreeMap<String, String>,
    /// Names that the scrubbing of secrets must leave alone.
    pub keep_env: Vec<String>,
    pub build: Option<Build>,
    /// Files that hold its device code, as globs below `dir`.
    pub device_code: Vec<String>,
    /// Where its processes run, unless on the host.
    pub container: Option<Container>,
    pub requires: Requires,
    pub timing: Timing,
    /// What one iteration works through, as the suite file has it.
    pub work: Work,
    /// Non-empty exactly if `timing` is [`Timing::Stdout`].
    pub extract: Vec<Extract>,
    /// Present where the cases are those of a harness, or Python modules that are found by their names.
    pub harness: Option<HarnessEntry>,
    /// Own rules first, then the suite's: the first whose glob matches a metric's name speaks, field by field.
    pub metrics: Vec<MetricRule>,
    /// Present where the cases are programs of pairs of sources.
    pub pairs: Option<SourcePairs>,
    /// Every combination of parameters that the constraints leave. One empty point where there are none.
    pub points: Vec<Params>,
    /// Combinations that a constraint removed.
    pub excluded: usize,
    pub settings: Settings,
    /// The sandbox of its builds and processes; `None`: they have none.
    pub sandbox: Option<gbench_model::Sandbox>,
}

/// Where a benchmark is declared; shown as `gbench.toml:12`, or `built-in`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declared {
    BuiltIn,
    /// The name of the suite file without its folder, and a line from 1.
    At {
        file: String,
        line: usize,
    },
}

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Declared::BuiltIn => f.write_str("built-in"),
            Declared::At { file, line } => write!(f, "{file}:{line}"),
        }
    }
}

impl Benchmark {
    /// The metric that is the time of an iteration.
    pub fn timed_metric(&self) -> &'static str {
        if self.timing == Timing::Process { "wall_time" } else { "time" }
    }

    /// Whether its processes compile kernels, which those of one run share.
    pub fn compiles_kernels(&self) -> bool {
        match self.action {
            Action::Cuda(_) => true,
            Action::Builtin(_) => self.components.contains(&Component::Gpu),
            Action::Command(_) | Action::Shell(_) | Action::Python(_) => false,
        }
    }

    /// Whether the suite file alone says its points: they are not to be listed.
    pub(crate) fn has_own_points(&self) -> bool {
        let layout = |entry: &PythonEntry| matches!(entry.source, PythonSource::Layout { .. });
        (self.harness.is_none() && self.pairs.is_none()) || self.python().is_some_and(|entry| !layout(entry))
    }

    /// What is said of its Python modules, where it has such.
    pub fn python(&self) -> Option<&PythonEntry> {
        match &self.action {
            Action::Python(entry) => Some(entry),
            Action::Command(_) | Action::Shell(_) | Action::Builtin(_) | Action::Cuda(_) => None,
        }
    }

    /// What is said of its kernel, where it is one.
    pub fn cuda(&self) -> Option<&CudaEntry> {
        match &self.action {
            Action::Cuda(entry) => Some(entry),
            Action::Command(_) | Action::Shell(_) | Action::Builtin(_) | Action::Python(_) => None,
        }
    }

    /// What the child of a case is asked for; `None`: the benchmark is no kernel. Errors: what cannot be computed for these
    /// parameters, in words. A suite file that was read has computed it for its own.
    pub fn kernel_call(&self, params: &Params) -> Option<std::result::Result<KernelCall, String>> {
        let entry = self.cuda()?;
        Some(self.work_of(params).and_then(|work| entry.call(params, &self.dir, &work)))
    }

    /// Says which tree Python modules are measured in: what they import has to be that tree's, unless the suite file allows more.
    pub fn keep_to(&mut self, tree: &SideTree) {
        if let Action::Python(entry) = &mut self.action
            && !entry.shared_code
        {
            entry.tree = Some(tree.clone());
        }
    }

    /// A benchmark that runs a command and has nothing else set.
    pub fn new(id: BenchmarkId, action: Action, dir: PathBuf) -> Self {
        Self {
            id,
            declared: Declared::BuiltIn,
            description: String::new(),
            components: Vec::new(),
            kind: Kind::default(),
            tags: Vec::new(),
            group: None,
            renamed_from: None,
            action,
            dir,
            env: BTreeMap::new(),
            keep_env: Vec::new(),
            build: None,
            device_code: Vec::new(),
            requires: Requires::default(),
            timing: Timing::Process,
            extract: Vec::new(),
            harness: None,
            work: Work::new(),
            container: None,
            metrics: Vec::new(),
            pairs: None,
            points: vec![Params::new()],
            excluded: 0,
            settings: Settings::default(),
            sandbox: None,
        }
    }
}
