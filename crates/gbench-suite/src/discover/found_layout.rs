//! What an entry of Python modules, or of pairs of sources, holds.

use gbench_formats::adapters::layouts::{Layout, LayoutCases, SourceCases};

/// The Python benchmarks of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundLayout {
    pub layout: Layout,
    /// Folder globs from the suite file's folder.
    pub roots: Vec<String>,
    /// File globs.
    pub ignore: Vec<String>,
    /// What these find.
    pub cases: LayoutCases,
}

/// The pairs of sources of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundSources {
    /// Without a point.
    pub extension: String,
    /// Folder globs from the suite file's folder.
    pub roots: Vec<String>,
    /// File globs.
    pub ignore: Vec<String>,
    /// What these find.
    pub cases: SourceCases,
}
