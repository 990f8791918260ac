//! A `[[benchmark]]` whose cases are Python modules as people write them: `[benchmark.python]`. The driver imports and measures
//! them; which there are is read from the names of files, without running Python.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use gbench_formats::adapters::layouts::{CallWay, Layout, LayoutCases, PythonCall};
use gbench_model::{ParamValue, Params};

/// What `[benchmark.python]` says, and what listing has found.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonEntry {
    pub source: PythonSource,
    /// Program and arguments that start the interpreter; empty: the environment that is active, or stands beside the suite file.
    pub interpreter: Vec<String>,
    pub options: DriverOptions,
    /// Code that the modules import may be the checkout's, on both sides of a comparison.
    pub shared_code: bool,
    /// In a comparison of commits; `None`: there is no other tree.
    pub tree: Option<SideTree>,
    /// What the layout has found, and what there is to say of it: files that belong to nothing.
    pub found: LayoutCases,
    /// What the driver is asked for, by the name under which listing knows the case.
    pub calls: BTreeMap<String, PythonCall>,
}

/// The tree of a side, and the checkout that is neither side's: folders, absolute.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideTree {
    pub own: PathBuf,
    pub checkout: PathBuf,
}

/// Where its modules are.
#[derive(Clone, Debug, PartialEq)]
pub enum PythonSource {
    /// All modules below folders that follow a convention. `roots` and `ignore`: globs; no roots: the convention's own.
    Layout { layout: Layout, roots: Vec<String>, ignore: Vec<String> },
    /// One module, by its path from the benchmark's folder.
    Module(Box<PythonModule>),
}

/// A module that the suite file names.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonModule {
    /// From the benchmark's folder.
    pub file: String,
    pub way: CallWay,
    /// Of the function, or the class.
    pub name: Option<String>,
    /// The function of the module, or the file, that has the right result.
    pub reference: Option<String>,
    /// Greatest `rmse`, `relative_error` and `max_error` against it.
    pub tolerances: BTreeMap<String, f64>,
}

/// How the driver measures, beyond the settings of every benchmark. What is not at its default is part of a case's identity: it
/// changes what is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DriverOptions {
    pub mode: TimingMode,
    /// Deterministic algorithms of torch and cuDNN.
    pub deterministic: bool,
    /// Run twice with one seed and compare what comes out.
    pub check_determinism: bool,
    /// Write twice the L2 cache before each sample.
    pub flush_l2: bool,
    /// A setup before each sample, outside its time.
    pub fresh_inputs: bool,
    /// Capture the work in a CUDA graph and replay it.
    pub cuda_graph: bool,
    /// Folders for `sys.path`, from the benchmark's folder.
    pub path: Vec<String>,
    /// Take less work on GPUs with little memory.
    pub scale_by_memory: bool,
    /// The share of the work that this machine's GPU allows, once that is known.
    pub scale: Option<f64>,
}

/// The clock of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::IntoStaticStr, strum::EnumIter)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum TimingMode {
    /// CUDA events for what runs on a CUDA device, else the processor's clock.
    #[default]
    Auto,
    PerfCounter,
    CudaEvents,
    /// `triton.testing.do_bench`.
    DoBench,
    /// `torch.utils.benchmark.Timer`.
    TorchTimer,
}

impl DriverOptions {
    /// What of it belongs to a case's identity. The names have a point, which those of parameters cannot have.
    pub fn identity(&self) -> Params {
        let mut params = Params::new();
        if self.mode != TimingMode::Auto {
            params.insert("driver.mode".into(), ParamValue::Text(<&str>::from(self.mode).into()));
        }
        let flags = [
            ("driver.deterministic", self.deterministic),
            ("driver.flush_l2", self.flush_l2),
            ("driver.fresh_inputs", self.fresh_inputs),
            ("driver.cuda_graph", self.cuda_graph),
        ];
        params.extend(
            flags.into_iter().filter(|(_, on)| *on).map(|(name, _)| (name.into(), ParamValue::Bool(true))),
        );
        params.extend(self.scale.map(|scale| ("driver.scale".to_owned(), ParamValue::Float(scale))));
        params
    }
}
