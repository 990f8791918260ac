//! How much an artifact may hold, and how its files are read.

use crate::model::{Fault, Result};

pub const FILES: usize = 2_000;
/// Most bytes of one file, unpacked.
pub const FILE: u64 = 32 << 20;
/// Most bytes of all files together, unpacked; also of an archive itself.
pub const ALL: u64 = 128 << 20;
/// Most bytes of all documents together: what is made of them takes several times their room.
pub const DOCUMENTS: usize = 64 << 20;
/// A file of more than a MiB may not be packed more tightly than this.
pub const RATIO: u64 = 200;
pub const DEPTH: usize = 16;
pub const PATH: usize = 1_024;

const NEXT: &str = "upload the folder of a comparison as gbench-ci left it, without its logs";

/// Why an artifact is refused. `name`: the artifact's or the file's.
pub(super) fn refused(name: &str, what: impl std::fmt::Display) -> Fault {
    Fault::at(name, format!("the artifact is refused: {what}"), NEXT)
}

/// Files by their names, and a way to read one: an archive or a folder.
pub(super) trait Files {
    /// Relative, with `/`; each once.
    fn names(&self) -> Vec<&str>;
    /// Folders right below the root of which each should hold something; none of an archive.
    fn folders(&self) -> &[String] {
        &[]
    }
    /// At most [`FILE`] bytes, as text.
    fn read(&self, name: &str) -> Result<String>;
}
