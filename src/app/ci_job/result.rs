//! The result of a measuring job.

use std::path::PathBuf;

use crate::compare::VerdictDocument;
use crate::model::{Job, NoReference};

pub enum CiResult {
    Verdict(Box<JudgedJob>),
    /// The change touches nothing that is measured: the job's file lies in the folder.
    Untouched {
        job: Box<Job>,
        folder: PathBuf,
    },
    Interrupted {
        signal: i32,
        folder: PathBuf,
    },
}

/// A comparison that was decided.
pub struct JudgedJob {
    pub document: VerdictDocument,
    pub job: Job,
    pub folder: PathBuf,
    /// The missing reference, where its commit was compared with itself for want of another.
    pub missing: Option<NoReference>,
}
