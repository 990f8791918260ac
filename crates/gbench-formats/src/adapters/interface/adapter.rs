//! The interface of a harness: its methods, its requests and its results.

use std::collections::BTreeMap;

use super::output::{HarnessOutput, ReadError};
use super::source_tree::{Detected, Program, SourceTree};
use gbench_model::{Better, LoadParameters, ParamValue, Params};

/// A harness's abilities. Each method is pure.
pub trait Adapter: Sync {
    fn about(&self) -> About;

    fn name(&self) -> &'static str {
        self.about().name
    }

    fn example(&self) -> &'static [&'static str] {
        self.about().example
    }

    fn needs(&self) -> &'static [Need] {
        self.about().needs
    }

    /// Benchmarks of this harness in a tree, and files that resemble one but were not understood. Nothing is run.
    fn detect(&self, _tree: &dyn SourceTree) -> Detected {
        Detected::default()
    }

    /// True if a program certainly belongs to this harness, for `harness = "auto"`: by the command's words, or by
    /// contents that only this harness leaves in a binary or script.
    fn recognises(&self, _program: &Program) -> bool {
        false
    }

    /// True if a program of this harness, started with just these words, certainly does as much work as fits into a fixed
    /// time: then its total time is meaningless.
    fn calibrates(&self, _program: &Program) -> bool {
        true
    }

    /// The invocation that lists the cases without measuring, or with as little work as the harness allows. `None`: a
    /// format without a program.
    fn list(&self, _ask: &CaseRequest) -> Option<Invocation> {
        None
    }

    /// The cases in the output of [`Adapter::list`]. By default that is a measurement, and the cases are those of
    /// [`Adapter::read`].
    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        Ok(self.read(output)?.into_iter().map(|reading| reading.case).collect())
    }

    /// An invocation that lists no case, for harnesses whose names resemble lines that the program prints by itself: its
    /// stdout then contains only such lines. `None`: [`Adapter::read_list`] distinguishes them.
    fn list_none(&self, _ask: &CaseRequest) -> Option<Invocation> {
        None
    }

    /// Why a program could not list its cases, if its output shows that for certain.
    fn refusal(&self, _output: &HarnessOutput) -> Option<Refusal> {
        None
    }

    /// The invocation that measures the cases of `ask`. `None`: a format without a program.
    fn run(&self, _ask: &CaseRequest) -> Option<Invocation> {
        None
    }

    /// The results of each case. Values are unchanged: [`super::check::read`] checks them.
    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError>;

    /// The invocation that runs the one case of `ask` such that executions of the benchmarked code can be counted;
    /// [`Reading::iterations`] then is their number. `None`: only time can be measured.
    fn count(&self, _ask: &CaseRequest) -> Option<Invocation> {
        None
    }
}

/// Facts for documentation and for planning rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The value of `harness = "..."`: lower-case letters, digits and `-`.
    pub name: &'static str,
    pub title: &'static str,
    pub language: Language,
    pub lists: Lists,
    /// It measures exactly the requested cases, so that one case can have its own process.
    pub filters: bool,
    /// It measures them in the requested order.
    pub orders: bool,
    pub reads: Reads,
    /// Authors may divide a time by a number of operations, so that it can be less than a clock cycle.
    pub per_operation: bool,
    /// Versions of the real tool with a fixture; empty: implemented from documentation alone.
    pub tried: &'static [&'static str],
    /// A command that [`Adapter::run`] supports, if it does not support all: shown to users with an unsupported one.
    pub example: &'static [&'static str],
    /// Requirements in addition to the tools of its language.
    pub needs: &'static [Need],
    /// Set if the program runs under the tracer that the gate has found: the case that is the whole program. All others are
    /// its parts, which a process may launch or not.
    pub whole: Option<&'static str>,
    pub load: LoadFields,
}

/// The load of a serving benchmark in its results. Empty: the program puts no load on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadFields {
    /// Parameters that are the load, and those that users let follow from it.
    pub parameters: &'static [&'static str],
    pub following: &'static [&'static str],
    /// Its throughputs and latencies, the preferred ones first.
    pub axes: &'static [&'static str],
    /// The note with the number of requests that were answered, in a format that does not say how many were sent.
    pub answered: Option<&'static str>,
}

impl LoadFields {
    pub const NONE: Self = Self { parameters: &[], following: &[], axes: &[], answered: None };

    /// As a record has it.
    pub fn declared(&self) -> Option<LoadParameters> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let Self { parameters, following, axes, .. } = self;
        (!parameters.is_empty()).then(|| LoadParameters {
            parameters: owned(parameters),
            following: owned(following),
            axes: owned(axes),
        })
    }
}

impl About {
    /// A program without requirements that measures all its cases in its own order; without fixtures of a real version.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        title: "",
        language: Language::Any,
        lists: Lists::ByRunning,
        filters: false,
        orders: false,
        reads: Reads::Samples,
        per_operation: false,
        tried: &[],
        example: &["./bench"],
        needs: &[],
        whole: None,
        load: LoadFields::NONE,
    };
}

/// The tools that a harness needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    Rust,
    Cpp,
    Cuda,
    Python,
    Go,
    Java,
    DotNet,
    JavaScript,
    Any,
}

/// Why a program cannot list its cases, such as a version that is too old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub cause: &'static str,
    /// The next step for the user.
    pub advice: &'static str,
    /// The machine lacks something, and the program is not at fault.
    pub lack: bool,
}

/// Something to install, with the packages of Debian and Ubuntu if available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A program that its benchmarks require.
    Program { name: &'static str, package: &'static str },
    /// A program that its benchmarks require, of the same version as the project's library.
    CargoProgram { name: &'static str },
    /// A library that its benchmarks are built with, detected by one of its files.
    Library { file: &'static str, package: &'static str },
}

/// How cases become known before they are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    Named,
    /// By a run that measures as little as possible.
    ByRunning,
    /// Not at all: a format without a program.
    No,
}

/// The kind of result for a case and process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    Samples,
    /// The harness's own summary, such as a median.
    Summary,
    Counts,
}

/// The request to one process.
#[derive(Clone, Copy, Debug)]
pub struct CaseRequest<'a> {
    /// As in the suite file, with parameters filled in: `["./bench"]`.
    pub command: &'a [String],
    /// [`CaseName::native`] of each case, in the order to measure; empty: all.
    pub cases: &'a [&'a str],
    /// An empty folder for the harness's files, absolute.
    pub out: &'a str,
    pub amount: Amount,
}

/// The amount of work for each case in one process, as far as the harness can be controlled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// Seconds of measuring a case, all samples together.
    pub seconds: f64,
    pub warmup: f64,
    /// Samples, if the harness sets them separately from the time; at least 1.
    pub samples: u32,
}

impl Amount {
    /// The least work that shows that a case exists.
    pub const LEAST: Self = Self { seconds: 0.001, warmup: 0.0, samples: 1 };
}

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    pub argv: Vec<String>,
    /// Overrides the benchmark's own environment.
    pub env: Vec<(String, String)>,
}

impl Invocation {
    /// The command followed by more words.
    pub fn of<I: IntoIterator>(command: &[String], more: I) -> Self
    where
        I::Item: Into<String>,
    {
        let argv = command.iter().cloned().chain(more.into_iter().map(Into::into)).collect();
        Self { argv, env: Vec::new() }
    }

    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }
}

/// A case as its harness calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseName {
    /// The whole name, by which the harness selects it: `BM_sort/n:8/threads:2`.
    pub native: String,
    /// The name without `params`: `BM_sort`.
    pub case: String,
    /// Parameters that the harness names: `n = 8`, `threads = 2`. A value without a name remains in the name.
    pub params: Params,
}

impl CaseName {
    /// A name without parameters.
    pub fn plain(native: impl Into<String>) -> Self {
        let native = native.into();
        Self { case: native.clone(), native, params: Params::new() }
    }
}

/// The result of one case in one process.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub case: CaseName,
    pub end: End,
    /// The first is the harness's main one: its time, or its count.
    pub metrics: Vec<MetricReading>,
    /// Versions, flags and sizes worth keeping with the record.
    pub metadata: BTreeMap<String, serde_json::Value>,
    /// Total executions of the benchmarked code in this process, including warm-up, if known.
    pub iterations: Option<f64>,
}

impl Reading {
    pub fn new(case: CaseName) -> Self {
        Self { case, end: End::Measured, metrics: Vec::new(), metadata: BTreeMap::new(), iterations: None }
    }

    /// Keeps a value with the record, if present.
    pub(crate) fn note(&mut self, name: &str, value: Option<impl Into<serde_json::Value>>) {
        self.metadata.extend(value.map(|value| (name.to_owned(), value.into())));
    }

    /// Adds parameters that earlier versions did not read. The name stays, and with it the id of a run from a file.
    pub(crate) fn also(&mut self, params: impl IntoIterator<Item = (String, ParamValue)>) {
        self.case.params.extend(params);
    }

    pub fn with_end(self, end: End) -> Self {
        Self { end, ..self }
    }

    /// The metric of that name, created if missing.
    pub fn metric(&mut self, name: &str, unit: &str, better: Option<Better>) -> &mut MetricReading {
        let place = self.metrics.iter().position(|metric| metric.name == name).unwrap_or_else(|| {
            self.metrics.push(MetricReading {
                name: name.to_owned(),
                unit: unit.to_owned(),
                better,
                values: Vec::new(),
                summary: None,
                judged: true,
            });
            self.metrics.len() - 1
        });
        &mut self.metrics[place]
    }
}

/// How a case ended according to its harness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Measured,
    /// It failed or completed nothing: its numbers are not used.
    Failed {
        message: String,
    },
    Skipped {
        reason: String,
    },
}

/// One metric of one case and process.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricReading {
    /// Letters, digits, `_`, `-`, `.`, `/`; `time` for the time of one iteration.
    pub name: String,
    /// The harness's unit: `ns`, `GB/s`.
    pub unit: String,
    /// If the unit does not imply it.
    pub better: Option<Better>,
    /// Measurements in order, each of one iteration or the mean of several.
    pub values: Vec<f64>,
    /// If the harness keeps no measurements.
    pub summary: Option<SummaryReading>,
    /// `false`: shown, and judged only if the suite file requests it. For metrics that follow from another one, and
    /// figures of unknown direction.
    pub judged: bool,
}

/// A harness's own summary of a case: its median if available, else its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SummaryReading {
    pub value: f64,
    pub stddev: Option<f64>,
    /// The number of measurements.
    pub count: Option<u64>,
}
