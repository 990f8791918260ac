//! The files of a history, as both kinds of branch list and add them.

use super::index::Mark;
use crate::api::address::Sha;
use gbench_model::RunId;

/// A run that a history has a file for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub run_id: RunId,
    /// From the branch's root: `history/2026-11/RUN.json.gz`.
    pub path: String,
    pub(super) blob: Sha,
    /// Bytes of the file, where the list says so.
    pub(super) size: Option<u64>,
    /// The facts that the index has of it.
    pub(super) mark: Option<Mark>,
}

impl Listed {
    /// The id of the file's bytes: another content has another one.
    pub fn content(&self) -> &str {
        self.blob.as_str()
    }

    /// Whether the run may be of this branch and machine, as far as the index says; any, where none is named.
    pub fn may_be_of(&self, branch: Option<&str>, label: Option<&str>) -> bool {
        self.mark.as_ref().is_none_or(|mark| mark.is_of(branch, label))
    }
}

/// A run that is in the history now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Full id of a commit on the branch that holds it.
    pub commit: String,
    pub path: String,
    /// It was there before.
    pub already: bool,
}

pub(super) struct File<'a> {
    pub(super) run: &'a RunId,
    pub(super) month: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) message: &'a str,
    /// The index's name of it.
    pub(super) mark: &'a str,
    /// What is added with it, and is there already only with the same bytes.
    pub(super) beside: &'a [BesideFile],
}

/// A small file that a history keeps beside its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BesideFile {
    /// From the branch's root.
    pub path: String,
    pub bytes: Vec<u8>,
}
