//! The program of a benchmark's processes, its build step and its requirements.

use std::path::PathBuf;

use super::cuda::CudaEntry;
use super::python::PythonEntry;
use super::template::substitute;
use gbench_model::{KERNEL_WORKLOAD, Params};

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Program and arguments; `{name}` is replaced by a parameter's value, `{{` and `}}` are braces.
    Command(Vec<String>),
    /// A line for `sh -c`. Parameters are only in `GBENCH_PARAM_*`, never inserted into the line.
    Shell(String),
    Builtin(String),
    Python(Box<PythonEntry>),
    Cuda(Box<CudaEntry>),
}

impl Action {
    /// The command with its parameters. `builtin`: the words before a built-in's name.
    pub fn argv(&self, params: &Params, builtin: &[&str]) -> Vec<String> {
        match self {
            Action::Command(argv) => substitute(argv, params),
            Action::Shell(line) => vec!["sh".into(), "-c".into(), line.clone()],
            Action::Builtin(name) => {
                builtin.iter().copied().chain([name.as_str()]).map(str::to_owned).collect()
            }
            Action::Cuda(_) => builtin.iter().copied().chain([KERNEL_WORKLOAD]).map(str::to_owned).collect(),
            // The driver's arguments depend on the process: its launch has them.
            Action::Python(_) => Vec::new(),
        }
    }
}

/// Runs once for a benchmark, before its first process.
#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    /// [`Action::Command`] or [`Action::Shell`].
    pub action: Action,
    /// Absolute.
    pub dir: PathBuf,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requires {
    pub binaries: Vec<String>,
    /// Absolute.
    pub files: Vec<PathBuf>,
    pub gpus: u32,
    /// Bytes of each GPU.
    pub gpu_memory: u64,
    pub compute_capability: Option<(u32, u32)>,
    pub env: Vec<String>,
}
