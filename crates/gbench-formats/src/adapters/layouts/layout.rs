//! Requests to a layout, and its results.

use serde::Serialize;
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use super::call::PythonCall;
use crate::adapters::interface::adapter::CaseName;

/// A convention of folders and file names by which Python benchmarks are found.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::IntoStaticStr,
    strum::EnumString,
    strum::EnumIter,
)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Layout {
    /// `baseline_<name>.py` next to `optimized_<name>[_technique].py`.
    Pairs,
    /// Each Python file of a folder of kernels, with that folder's `bench.yaml`.
    Kernels,
}

impl Layout {
    /// The default folder globs.
    pub const fn default_roots(self) -> &'static [&'static str] {
        match self {
            Layout::Pairs => &["**"],
            Layout::Kernels => &[
                "kernels",
                "src/kernels",
                "quasim/kernels",
                "integrations/kernels",
                "autonomous_systems_platform/services/backend/quasim/kernels",
            ],
        }
    }
}

/// Where to search for benchmarks.
#[derive(Clone, Copy, Debug)]
pub struct LayoutRequest<'a> {
    pub layout: Layout,
    /// Globs over folders, from the tree's root, which is `.`: each matching folder and everything below it. Empty:
    /// [`Layout::default_roots`].
    pub roots: &'a [String],
    /// Globs over files and folders to exclude. One without `/` matches a name at any place.
    pub ignore: &'a [String],
}

/// The cases found in a tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayoutCases {
    /// In natural order of folders, then names: `ch2` before `ch10`.
    pub cases: Vec<PythonCase>,
    /// Sentences about rejected files and the reasons: `init`, `list` and `run` print them.
    pub warnings: Vec<String>,
    /// Files that resemble a benchmark but are not one: for `--verbose`.
    pub passed_over: Vec<PassedOver>,
    /// Optimized files without a baseline, as paths from the tree; `warnings` has a sentence about each.
    pub orphans: Vec<String>,
    /// The facts of each kernel.
    pub kernels: Vec<KernelManifest>,
}

/// A case that is found by its file.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonCase {
    pub name: CaseName,
    /// The request to the driver.
    pub call: PythonCall,
}

/// A file that was examined and excluded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PassedOver {
    /// From the tree.
    pub path: String,
    /// As a sentence fragment: `its name begins with test_`.
    pub why: String,
}

/// Pairs of sources in a tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceCases {
    /// In natural order of folders, then names; a baseline before its optimized files.
    pub cases: Vec<SourceCase>,
    pub warnings: Vec<String>,
    pub passed_over: Vec<PassedOver>,
    pub orphans: Vec<String>,
}

/// A member of a pair of sources.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceCase {
    pub name: CaseName,
    /// From the tree.
    pub file: String,
}

/// The facts of a kernel that are known without running it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelManifest {
    /// The file's name without `.py`.
    pub name: String,
    /// From the tree.
    pub path: String,
    /// `cuda`, `rocm`, `jax`, `pytorch` or `cpu`: a guess from the source's imports.
    pub backend_guessed: &'static str,
    /// Packages that it imports, except Python's own and the tree's.
    pub dependencies: Vec<String>,
    /// Its `bench.yaml`; empty without one.
    pub config: Map<String, Value>,
    /// The fault in its `bench.yaml`.
    pub fault: Option<String>,
}
