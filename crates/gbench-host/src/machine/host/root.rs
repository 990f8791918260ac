//! The folder that contains the kernel's files.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// Larger than nearly all files. The kernel generates some of them at every read, so one read must suffice.
const FILE_BYTES: usize = 1 << 14;

/// `/`, or a fake tree in tests.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Root(PathBuf);

impl Root {
    pub(in crate::machine) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub(in crate::machine) fn path(&self, below: &str) -> PathBuf {
        self.0.join(below)
    }

    /// The file's text, trimmed; `None` if it cannot be read.
    pub(in crate::machine) fn text(&self, below: &str) -> Option<String> {
        let mut bytes = Vec::with_capacity(FILE_BYTES);
        File::open(self.path(below)).and_then(|mut file| file.read_to_end(&mut bytes)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    pub(super) fn needed(&self, below: &str) -> Result<String, String> {
        self.text(below).ok_or_else(|| format!("/{below} cannot be read"))
    }

    /// Names in a folder, sorted; empty if it cannot be read.
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
