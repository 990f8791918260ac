//! The files of a history, as every kind of place lists and adds them.

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
    pub(super) size: Option<u64>,
    pub(super) mark: Option<Mark>,
}

impl Listed {
    /// The id of the file's bytes: another content has another one.
    pub fn content(&self) -> &str {
        self.blob.as_str()
    }

    /// True if by the index the run may be of this branch and machine; any, where none is named.
    pub fn may_be_of(&self, branch: Option<&str>, label: Option<&str>) -> bool {
        self.mark.as_ref().is_none_or(|mark| mark.is_of(branch, label))
    }
}

/// A run that is in the history now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The full id of a commit on the branch that holds it, or the entity tag of its object, if the server names one.
    pub version: String,
    pub path: String,
    pub already: bool,
}

pub(super) struct File<'a> {
    pub(super) run: &'a RunId,
    pub(super) month: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) message: &'a str,
    pub(super) mark: &'a str,
    /// Files that are added with it, and that exist already only with the same bytes.
    pub(super) beside: &'a [BesideFile],
}

/// A small file that a history keeps in addition to its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BesideFile {
    pub path: String,
    pub bytes: Vec<u8>,
}
