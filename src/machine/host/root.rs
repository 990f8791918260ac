//! The folder below which the kernel's files are read.

use std::path::PathBuf;

/// Where the kernel's files are: `/`, or a made-up tree in tests.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Root(PathBuf);

impl Root {
    pub(in crate::machine) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub(in crate::machine) fn path(&self, below: &str) -> PathBuf {
        self.0.join(below)
    }

    /// The file's text, trimmed; absent where it cannot be read.
    pub(in crate::machine) fn text(&self, below: &str) -> Option<String> {
        std::fs::read(self.path(below)).ok().map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The file's text, or a failed probe that names the file.
    pub(super) fn needed(&self, below: &str) -> Result<String, String> {
        self.text(below).ok_or_else(|| format!("/{below} cannot be read"))
    }

    /// Names in a folder, sorted; none where it cannot be read.
    pub(super) fn names(&self, below: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(below))
            .map(|entries| {
                entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
            })
            .unwrap_or_default();
        names.sort();
        names
    }
}
