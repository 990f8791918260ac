//! The parts of a merge: verdicts that are there, and those that are missing.

use crate::compare::VerdictDocument;
use crate::model::{Job, Shard};

/// One measuring job's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictPart {
    /// Its folder, for messages; where there is no job its last part is the label.
    pub name: String,
    pub job: Option<Job>,
    pub verdict: VerdictDocument,
}

/// Something that should be among the parts and is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingPart {
    /// Which machine's, as far as it is known.
    pub label: Option<String>,
    pub shard: Option<Shard>,
    /// ``part `x` has no verdict``: a sentence without a period.
    pub what: String,
}

impl VerdictPart {
    pub(super) fn shard(&self) -> Option<Shard> {
        self.job.as_ref()?.shard
    }

    /// How warnings and gaps call it: `shard 2 of 3`.
    pub(super) fn who(&self) -> String {
        self.shard().map_or_else(|| format!("part `{}`", self.name), shard_words)
    }
}

pub(super) fn shard_words(shard: Shard) -> String {
    format!("shard {} of {}", shard.index, shard.of)
}
