//! `[benchmark.python]`: the cases are Python modules, found by the names of files without running Python. The driver imports
//! and measures them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use gbench_formats::adapters::layouts::{CallWay, Layout, LayoutCases, PythonCall};
use gbench_model::{ParamValue, Params};

#[derive(Clone, Debug, PartialEq)]
pub struct PythonEntry {
    pub source: PythonSource,
    /// Program and arguments of the interpreter; empty: the active environment, or the one next to the suite file.
    pub interpreter: Vec<String>,
    pub options: DriverOptions,
    /// Both sides of a comparison may import the checkout's code.
    pub shared_code: bool,
    pub tree: Option<SideTree>,
    /// The cases of the layout, and warnings about files without a role.
    pub found: LayoutCases,
    /// The driver's request by the listed name of the case.
    pub calls: BTreeMap<String, PythonCall>,
}

/// The tree of a side, and the checkout; absolute folders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideTree {
    pub own: PathBuf,
    pub checkout: PathBuf,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PythonSource {
    /// All modules below folders that follow a convention. `roots` and `ignore`: globs; without roots, the convention's own.
    Layout {
        layout: Layout,
        roots: Vec<String>,
        ignore: Vec<String>,
    },
    Module(Box<PythonModule>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct PythonModule {
    /// Relative to the benchmark's folder.
    pub file: String,
    pub way: CallWay,
    pub name: Option<String>,
    /// The function, or the file, with the correct result.
    pub reference: Option<String>,
    /// Maximum `rmse`, `relative_error` and `max_error`.
    pub tolerances: BTreeMap<String, f64>,
}

/// How the driver measures, in addition to the settings of every benchmark. Values other than the default are part of a case's
/// identity, because they change what is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DriverOptions {
    pub mode: TimingMode,
    pub deterministic: bool,
    /// Runs twice with one seed and compares the results.
    pub check_determinism: bool,
    /// Writes twice the size of the L2 cache before each sample.
    pub flush_l2: bool,
    /// Runs the setup before each sample, outside its time.
    pub fresh_inputs: bool,
    pub cuda_graph: bool,
    /// Folders for `sys.path`, relative to the benchmark's folder.
    pub path: Vec<String>,
    pub scale_by_memory: bool,
    pub scale: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::IntoStaticStr, strum::EnumIter)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum TimingMode {
    /// CUDA events for work on a CUDA device, else the processor's clock.
    #[default]
    Auto,
    PerfCounter,
    CudaEvents,
    DoBench,
    TorchTimer,
}

impl DriverOptions {
    /// The options that are part of a case's identity. Their names contain a point, which parameters' names cannot.
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
