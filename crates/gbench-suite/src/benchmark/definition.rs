//! A benchmark of a suite, before its parameters are multiplied out.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::container::Container;
use super::cuda::CudaEntry;
use super::extraction::{Extract, MetricRule};
use super::harness::{CASE, HarnessEntry};
use super::launch::{Action, Build, Requires};
use super::python::{PythonEntry, PythonSource, SideTree};
use super::source_pairs::SourcePairs;
use super::work::Work;
use gbench_formats::adapters::LoadFields;
use gbench_model::{BenchmarkId, Component, KernelCall, Kind, LoadParameters, Params, Settings, Timing};

#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    pub id: BenchmarkId,
    pub declared: Declared,
    pub description: String,
    pub components: Vec<Component>,
    pub kind: Kind,
    pub tags: Vec<String>,
    pub group: Option<String>,
    /// The parameter that is the load on a server: the points that differ in it alone are a curve.
    pub load: Option<String>,
    /// Its id in earlier commits, such as the base of a comparison.
    pub renamed_from: Option<BenchmarkId>,
    pub action: Action,
    /// Absolute; by default the suite file's folder.
    pub dir: PathBuf,
    pub env: BTreeMap<String, String>,
    /// Variables that are kept although their names look like secrets.
    pub keep_env: Vec<String>,
    pub build: Option<Build>,
    /// Files with its device code, as globs below `dir`.
    pub device_code: Vec<String>,
    pub container: Option<Container>,
    pub requires: Requires,
    pub timing: Timing,
    pub work: Work,
    /// Non-empty exactly if `timing` is [`Timing::Stdout`].
    pub extract: Vec<Extract>,
    /// Set if a harness has the cases, or the names of Python modules.
    pub harness: Option<HarnessEntry>,
    /// The benchmark's rules, then the suite's. For each field, the first rule that matches the metric and sets it applies.
    pub metrics: Vec<MetricRule>,
    pub pairs: Option<SourcePairs>,
    /// All combinations of parameters that the constraints allow; one empty point without parameters.
    pub points: Vec<Params>,
    pub excluded: usize,
    pub settings: Settings,
    pub sandbox: Option<gbench_model::Sandbox>,
}

/// The place of a declaration; shown as `gbench.toml:12` or `built-in`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declared {
    BuiltIn,
    /// The suite file's name without folder; lines from 1.
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
    pub fn timed_metric(&self) -> &'static str {
        if self.timing == Timing::Process { "wall_time" } else { "time" }
    }

    /// True if its program runs under a tracer, which gives its cases.
    pub fn is_traced(&self) -> bool {
        self.harness.as_ref().is_some_and(|entry| entry.whole().is_some())
    }

    /// True if a case is only a part of what its program does, and another case is the whole.
    pub fn is_part(&self, params: &Params) -> bool {
        let whole = self.harness.as_ref().and_then(HarnessEntry::whole);
        whole.is_some_and(|whole| params.get(CASE).is_some_and(|case| !case.is_written(whole)))
    }

    /// The load in the results of its program; empty if its harness is unknown or has none.
    pub fn load_fields(&self) -> LoadFields {
        let harness = self.harness.as_ref().and_then(|entry| entry.harness);
        harness.map_or(LoadFields::NONE, |harness| harness.0.about().load)
    }

    /// As a record has it: by the suite file, else by the harness.
    pub fn load_parameters(&self) -> Option<LoadParameters> {
        let of_harness = self.load_fields().declared();
        match &self.load {
            None => of_harness,
            Some(own) => {
                Some(LoadParameters { parameters: vec![own.clone()], ..of_harness.unwrap_or_default() })
            }
        }
    }

    /// True if its processes compile kernels, which the processes of a run share.
    pub fn compiles_kernels(&self) -> bool {
        match self.action {
            Action::Cuda(_) => true,
            Action::Builtin(_) => self.components.contains(&Component::Gpu),
            Action::Command(_) | Action::Shell(_) | Action::Python(_) => false,
        }
    }

    /// True if the suite file lists all points, so that nothing has to be listed.
    pub(crate) fn has_own_points(&self) -> bool {
        let layout = |entry: &PythonEntry| matches!(entry.source, PythonSource::Layout { .. });
        (self.harness.is_none() && self.pairs.is_none()) || self.python().is_some_and(|entry| !layout(entry))
    }

    pub fn python(&self) -> Option<&PythonEntry> {
        match &self.action {
            Action::Python(entry) => Some(entry),
            Action::Command(_) | Action::Shell(_) | Action::Builtin(_) | Action::Cuda(_) => None,
        }
    }

    pub fn cuda(&self) -> Option<&CudaEntry> {
        match &self.action {
            Action::Cuda(entry) => Some(entry),
            Action::Command(_) | Action::Shell(_) | Action::Builtin(_) | Action::Python(_) => None,
        }
    }

    /// The request to the child of a case; `None`: the benchmark is not a kernel. Errors: why it cannot be computed for these
    /// parameters. Points of a loaded suite have been checked.
    pub fn kernel_call(&self, params: &Params) -> Option<std::result::Result<KernelCall, String>> {
        let entry = self.cuda()?;
        Some(self.work_of(params).and_then(|work| entry.call(params, &self.dir, &work)))
    }

    /// Sets the tree in which Python modules are measured: their imports must come from it, unless the suite file has
    /// `shared_code`.
    pub fn keep_to(&mut self, tree: &SideTree) {
        if let Action::Python(entry) = &mut self.action
            && !entry.shared_code
        {
            entry.tree = Some(tree.clone());
        }
    }

    pub fn new(id: BenchmarkId, action: Action, dir: PathBuf) -> Self {
        Self {
            id,
            declared: Declared::BuiltIn,
            description: String::new(),
            components: Vec::new(),
            kind: Kind::default(),
            tags: Vec::new(),
            group: None,
            load: None,
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
