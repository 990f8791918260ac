//! The suite, which says what can be measured: `gbench.toml` and the built-in suite become one [`Suite`].

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod action;
mod benchmark;
mod cases;
mod container;
mod container_reader;
mod cuda;
mod cuda_argument_reader;
mod cuda_reader;
pub mod discover;
mod each_gpu;
mod element_type;
mod environment;
mod file;
mod harness;
mod inputs;
mod keep_runs;
mod kernel_number;
mod kernel_number_reader;
#[cfg(test)]
mod kind_tests;
mod metrics;
mod options;
mod overrides;
mod param_values;
pub mod plan;
mod python;
mod python_modules;
mod python_reader;
mod reader;
mod requires;
mod select;
mod settings;
mod source_pairs;
mod source_pairs_reader;
mod source_programs;
#[cfg(test)]
mod suite_case_tests;
mod sweep;
mod template;
pub mod words;
mod work;
mod work_reader;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

pub use self::container::{Container, ContainerRuntime};
pub use self::cuda::{CudaArgument, CudaEntry, CudaFill, CudaLaunch, CudaReference, shown_axes};
pub use self::each_gpu::{is_each, own_params};
pub use self::element_type::ElementType;
pub use self::environment::{Environment, PREFIX};
pub use self::file::FILE_NAME;
pub use self::harness::{DirectProgram, FailedBuild, HarnessEntry, Listing};
pub use self::inputs::fits;
pub use self::keep_runs::KeepRuns;
pub use self::kernel_number::KernelNumber;
pub use self::options::{BusyGpu, Gate, MIN_MONITOR_INTERVAL, ProfileOptions, RunOptions};
pub use self::overrides::{Overrides, Preset};
pub use self::python::{DriverOptions, PythonEntry, PythonModule, PythonSource, SideTree, TimingMode};
pub use self::select::{Registry, Selection, commas, fitting};
pub use self::source_pairs::SourcePairs;
pub use self::template::substitute;
pub use self::work::{Work, WorkAmount};
pub use gbench_model::Strictness;
use gbench_model::{
    BenchmarkId, Better, Component, KERNEL_WORKLOAD, KernelCall, Kind, MetricDeclaration, Params, Settings,
    Timing,
};

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
}

impl Suite {
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

/// The program that a child process runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Program and arguments; `{name}` stands for a parameter's value, `{{` and `}}` for braces.
    Command(Vec<String>),
    /// A line for `sh -c`; parameters arrive as `GBENCH_PARAM_*` only, never spliced into the line.
    Shell(String),
    /// A member of the micro suite, by name.
    Builtin(String),
    /// Python modules, which the driver imports and measures.
    Python(Box<PythonEntry>),
    /// A kernel of a `.cu` file, which a child of the gate compiles and measures.
    Cuda(Box<CudaEntry>),
}

impl Action {
    /// The words to start, with the parameters in place. `builtin`: what stands before a built-in's name.
    pub fn argv(&self, params: &Params, builtin: &[&str]) -> Vec<String> {
        match self {
            Action::Command(argv) => substitute(argv, params),
            Action::Shell(line) => vec!["sh".into(), "-c".into(), line.clone()],
            Action::Builtin(name) => {
                builtin.iter().copied().chain([name.as_str()]).map(str::to_owned).collect()
            }
            Action::Cuda(_) => builtin.iter().copied().chain([KERNEL_WORKLOAD]).map(str::to_owned).collect(),
            // The driver's words depend on the process: its launch has them.
            Action::Python(_) => Vec::new(),
        }
    }
}

/// Runs once a benchmark, before its first process.
#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    /// [`Action::Command`] or [`Action::Shell`].
    pub action: Action,
    /// Absolute.
    pub dir: PathBuf,
}

/// Requirements that are checked before anything is started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requires {
    /// Names looked up on PATH, or paths.
    pub binaries: Vec<String>,
    /// Absolute.
    pub files: Vec<PathBuf>,
    pub gpus: u32,
    /// Bytes on every GPU that counts.
    pub gpu_memory: u64,
    /// Least compute capability: (9, 0).
    pub compute_capability: Option<(u32, u32)>,
    pub env: Vec<String>,
}

/// One number taken from stdout, or from a file that the program writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Extract {
    pub metric: String,
    pub unit: String,
    pub better: Option<Better>,
    pub from: ExtractFrom,
    pub rows: ExtractRows,
}

/// Where an extraction looks, and which rows it takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtractRows {
    /// A file, from the benchmark's folder; `None`: stdout.
    pub file: Option<String>,
    /// JSON path of the rows, in which the extraction's own path then counts; of a `json` only.
    pub path: Option<String>,
    /// Only rows whose fields have these values; of a `json` only, a `csv` has its own.
    pub conditions: BTreeMap<String, String>,
    /// Fields by which rows are cases; empty: all rows are samples of one.
    pub parameters: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExtractFrom {
    /// RFC 9535 path over stdout as one JSON document, or over each line of JSON lines; every number selected
    /// is a sample.
    JsonPath(String),
    /// The first capture group of every match is a sample.
    Regex(String),
    /// The named column of a CSV with a header row; every row is a sample, or every row with these cells.
    CsvColumn { column: String, rows: BTreeMap<String, String> },
}

/// How metrics whose name matches are judged.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricRule {
    pub glob: String,
    /// Only of cases whose name matches; absent: of all.
    pub case: Option<String>,
    pub unit: Option<String>,
    pub declaration: MetricDeclaration,
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
    fn has_own_points(&self) -> bool {
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
