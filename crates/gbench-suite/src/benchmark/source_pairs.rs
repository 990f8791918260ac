//! `[benchmark.pairs]`: the cases are programs of source pairs, `baseline_<name>.cu` and `optimized_<name>[_technique].cu`,
//! found by the names of files. The entry's commands build and start each.

use std::collections::BTreeMap;

use gbench_model::Params;

/// Placeholders of a case's file in `command` and `build`.
pub(crate) const SOURCE: &str = "source";
pub(crate) const PROGRAM: &str = "program";
pub(crate) const FOLDER: &str = "folder";
/// The parameters of a case; some cases lack some of them.
pub(crate) const PARTS: [&str; 4] = ["case", "chapter", "variant", "technique"];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourcePairs {
    pub extension: String,
    /// Folder globs, relative to the benchmark's folder; empty: all folders.
    pub roots: Vec<String>,
    pub ignore: Vec<String>,
    pub warnings: Vec<String>,
    /// The source of each case, relative to the benchmark's folder.
    pub files: BTreeMap<Params, String>,
}
