//! What a benchmark's processes start, and what they need.

use std::path::PathBuf;

use super::cuda::CudaEntry;
use super::python::PythonEntry;
use super::template::substitute;
use gbench_model::{KERNEL_WORKLOAD, Params};

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
