//! A `[[benchmark]]` whose cases are programs of pairs of sources: `baseline_<name>.cu` beside `optimized_<name>[_technique].cu`,
//! each built and started by the words of the entry. Which there are is read from the names of files.

use std::collections::BTreeMap;

use gbench_model::Params;

/// What stands in `command` and `build` for the file of a case, beside the parameters.
pub(crate) const SOURCE: &str = "source";
pub(crate) const PROGRAM: &str = "program";
pub(crate) const FOLDER: &str = "folder";
/// The parameters of a case; not each case has all of them.
pub(crate) const PARTS: [&str; 4] = ["case", "chapter", "variant", "technique"];

/// What `[benchmark.pairs]` says, and what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourcePairs {
    /// Of the sources, without a point: `cu`.
    pub extension: String,
    /// Folder globs, from the benchmark's folder; empty: all below it.
    pub roots: Vec<String>,
    /// File globs that are left out.
    pub ignore: Vec<String>,
    /// What finding has to say: files that belong to nothing.
    pub warnings: Vec<String>,
    /// The source of each case, from the benchmark's folder.
    pub files: BTreeMap<Params, String>,
}
