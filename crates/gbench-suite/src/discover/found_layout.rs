//! The entry of Python modules, or of source pairs.

use gbench_formats::adapters::layouts::{Layout, LayoutCases, SourceCases};

#[derive(Clone, Debug, PartialEq)]
pub struct FoundLayout {
    pub layout: Layout,
    /// Folder globs, relative to the suite file's folder.
    pub roots: Vec<String>,
    /// File globs.
    pub ignore: Vec<String>,
    pub cases: LayoutCases,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FoundSources {
    pub extension: String,
    /// Folder globs, relative to the suite file's folder.
    pub roots: Vec<String>,
    /// File globs.
    pub ignore: Vec<String>,
    pub cases: SourceCases,
}
