//! What an entry of Python modules holds.

use crate::adapters::layouts::{Layout, LayoutCases};

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
