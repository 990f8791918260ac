//! What an adapter is: its methods, what it is asked, and what it gives.

use std::collections::BTreeMap;

use super::output::{HarnessOutput, ReadError};
use super::source_tree::{Detected, Program, SourceTree};
use gbench_model::{Better, Params};

/// What a harness can do, and how. Each method is pure.
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

    /// Benchmarks of this harness in a tree, and what looks like one and was not understood. Nothing is run.
    fn detect(&self, _tree: &dyn SourceTree) -> Detected {
        Detected::default()
    }

    /// Whether a program is one of this harness, for `harness = "auto"`: by the command's words, or by what only this harness
    /// leaves in a binary or script. Certain, or `false`.
    fn recognises(&self, _program: &Program) -> bool {
        false
    }

    /// Whether a program that this harness knows, started by these words alone, does as much work as fits into a fixed time: then its
    /// time from outside tells nothing. Certain, or `false`.
    fn calibrates(&self, _program: &Program) -> bool {
        true
    }

    /// The words that list the cases without measuring, or with as little of it as the harness can. `None`: a format
    /// without a program.
    fn list(&self, _ask: &CaseRequest) -> Option<Invocation> {
        None
    }

    /// The cases in what [`Adapter::list`] left. By default it measures, and they are those of [`Adapter::read`].
    fn read_list(&self, output: &HarnessOutput) -> Result<Vec<CaseName>, ReadError> {
        Ok(self.read(output)?.into_iter().map(|reading| reading.case).collect())
    }

    /// The words that list no case at all, where a listed name cannot be told from a line that the program prints by itself:
    /// what stands on stdout then is no case. `None`: [`Adapter::read_list`] tells them apart.
    fn list_none(&self, _ask: &CaseRequest) -> Option<Invocation> {
        None
    }

    /// Why a program that was asked for its cases ended badly, where what it left says so for certain.
    fn refusal(&self, _output: &HarnessOutput) -> Option<Refusal> {
        None
    }

    /// The words that measure the cases of `ask`. `None`: a format without a program.
    fn run(&self, _ask: &CaseRequest) -> Option<Invocation> {
        None
    }

    /// What the harness wrote about each case. Values as they stand: [`super::check::read`] checks them.
    fn read(&self, output: &HarnessOutput) -> Result<Vec<Reading>, ReadError>;

    /// The words that run the one case of `ask` so that its executions of the benchmarked code can be counted, where there are
    /// such: [`Reading::iterations`] then holds their number. `None`: time alone.
    fn count(&self, _ask: &CaseRequest) -> Option<Invocation> {
        None
    }
}

/// Facts for documents and for the planning of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The word of `harness = "..."`: small letters, digits and `-`.
    pub name: &'static str,
    /// As its authors write it: `Google Benchmark`.
    pub title: &'static str,
    pub language: Language,
    pub lists: Lists,
    /// It measures exactly the cases that it is asked for, so that one case can have a process of its own.
    pub filters: bool,
    /// It measures them in the order in which it is asked, and not in one of its own.
    pub orders: bool,
    pub reads: Reads,
    /// Versions of the real tool whose output a fixture holds; empty: read from its documented format alone.
    pub tried: &'static [&'static str],
    /// A command that [`Adapter::run`] has words for, where it has none for others: shown to whoever wrote another.
    pub example: &'static [&'static str],
    /// What has to be on a machine beside the tools of its language.
    pub needs: &'static [Need],
}

impl About {
    /// A program that needs nothing and measures all its cases in its own order; no output of a real one is kept.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        title: "",
        language: Language::Any,
        lists: Lists::ByRunning,
        filters: false,
        orders: false,
        reads: Reads::Samples,
        tried: &[],
        example: &["./bench"],
        needs: &[],
    };
}

/// What has to be there before a harness of it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    Rust,
    /// C and C++, by CMake or make.
    Cpp,
    Cuda,
    Python,
    Go,
    Java,
    DotNet,
    JavaScript,
    /// Whole commands of any.
    Any,
}

/// Why a program cannot be asked for its cases, such as that it is too old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub cause: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

/// Something to install, by the packages of Debian and Ubuntu where it is in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A program that its benchmarks require.
    Program { name: &'static str, package: &'static str },
    /// A program that its benchmarks require, of the version that the project's library has.
    CargoProgram { name: &'static str },
    /// A library that its benchmarks are built with, known by a file of it.
    Library { file: &'static str, package: &'static str },
}

/// How cases become known before they are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// The harness prints them.
    Named,
    /// By a run that measures as little as it can.
    ByRunning,
    /// It is a format without a program.
    No,
}

/// What stands in its output for a case and process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Repeated measurements.
    Samples,
    /// A summary of its own, such as a median.
    Summary,
    /// Exact counts.
    Counts,
}

/// What is wanted of one process.
#[derive(Clone, Copy, Debug)]
pub struct CaseRequest<'a> {
    /// As the suite file has it, with parameters in place: `["./bench"]`.
    pub command: &'a [String],
    /// [`CaseName::native`] of each case, in the order in which to measure; empty: all.
    pub cases: &'a [&'a str],
    /// An empty folder for the harness's files, absolute.
    pub out: &'a str,
    pub amount: Amount,
}

/// How much of a case one process measures, as far as the harness can be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// Seconds of measuring a case, all samples together.
    pub seconds: f64,
    /// Seconds of warm-up before.
    pub warmup: f64,
    /// Samples, where they are separate from the time; at least 1.
    pub samples: u32,
}

impl Amount {
    /// As little as shows that a case is there.
    pub const LEAST: Self = Self { seconds: 0.001, warmup: 0.0, samples: 1 };
}

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    pub argv: Vec<String>,
    /// Beside the benchmark's own environment, and above it.
    pub env: Vec<(String, String)>,
}

impl Invocation {
    /// The command with more words behind it.
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
    /// The whole name, by which the harness is asked for it: `BM_sort/n:8/threads:2`.
    pub native: String,
    /// The name without what `params` says: `BM_sort`.
    pub case: String,
    /// Parameters that the harness names: `n = 8`, `threads = 2`. A value without a name stays in the name.
    pub params: Params,
}

impl CaseName {
    /// A name without parameters.
    pub fn plain(native: impl Into<String>) -> Self {
        let native = native.into();
        Self { case: native.clone(), native, params: Params::new() }
    }
}

/// What one process wrote about one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub case: CaseName,
    pub end: End,
    /// The first is what the harness is about: its time, or its count.
    pub metrics: Vec<MetricReading>,
    /// Versions, flags and sizes worth keeping with the record.
    pub metadata: BTreeMap<String, serde_json::Value>,
    /// How often the benchmarked code ran in this process in all, warm-up included, where the harness says or it follows.
    pub iterations: Option<f64>,
}

impl Reading {
    pub fn new(case: CaseName) -> Self {
        Self { case, end: End::Measured, metrics: Vec::new(), metadata: BTreeMap::new(), iterations: None }
    }

    /// Keeps something with the record, where it is there.
    pub(crate) fn note(&mut self, name: &str, value: Option<impl Into<serde_json::Value>>) {
        self.metadata.extend(value.map(|value| (name.to_owned(), value.into())));
    }

    pub(crate) fn with_end(self, end: End) -> Self {
        Self { end, ..self }
    }

    /// The metric of that name, made where it is not there yet.
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

/// How a case ended by its harness's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Measured,
    /// It failed or completed nothing: whatever numbers stand beside are none.
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
    /// As the harness has it: `ns`, `GB/s`.
    pub unit: String,
    /// Where the unit does not say it.
    pub better: Option<Better>,
    /// Measurements in their order, each of one iteration or the mean of several.
    pub values: Vec<f64>,
    /// Where the harness keeps no measurements.
    pub summary: Option<SummaryReading>,
    /// `false`: shown, and judged only where the suite file says so: what follows from another metric, and figures whose
    /// direction nobody knows.
    pub judged: bool,
}

/// A harness's own summary of a case: its median where it has one, else its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SummaryReading {
    pub value: f64,
    pub stddev: Option<f64>,
    /// Measurements behind it.
    pub count: Option<u64>,
}
