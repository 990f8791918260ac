//! Several verdicts as one: the machines of a matrix, or the one verdict of a single job. The public document of
//! `gbench-ci merge`, and what is published; and the parts that it is made of.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::conclusion::most_severe;
use crate::verdict::document::VerdictDocument;
use crate::verdict::outcome::{Conclusion, Verdict};
use crate::wording::warning::Warning;
use gbench_model::{Exit, Job, Shard};

pub const SCHEMA_MERGED: &str = "gbench-ci/merged/v1";

/// One answer for several machines. The shards of one machine are one verdict here already.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Merged {
    /// `gbench-ci/merged/v1`.
    pub schema: String,
    pub tool_version: String,
    /// The most severe of the groups'.
    pub conclusion: Conclusion,
    /// Likewise.
    pub exit_code: u8,
    /// The summary for a reader who reads nothing else.
    pub sentence: String,
    /// Verdict word to number of rows over all groups, every verdict present.
    pub counts: BTreeMap<Verdict, u32>,
    /// At least one; labels differ.
    pub groups: Vec<Group>,
    /// Missing or odd parts: a shard that never came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// `warnings` as values, in the same order. Empty in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warning_codes: Vec<Warning>,
}

/// One machine's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// `h100`; empty for the only one.
    pub label: String,
    pub verdict: VerdictDocument,
}

impl Merged {
    /// True if parts may still come, of any of its machines: it is not the last word then, whatever is red already.
    pub fn is_pending(&self) -> bool {
        let of_groups = self.groups.iter().flat_map(|group| &group.verdict.warning_codes);
        let mut codes = self.warning_codes.iter().chain(of_groups);
        codes.any(|code| matches!(code, Warning::PendingPart { .. }))
    }

    /// The most severe kind of its gaps: all its warnings are about them.
    pub(crate) fn absence(&self) -> Option<Absence> {
        Absence::of_warnings(&self.warnings, &self.warning_codes, true)
    }

    /// A single verdict as a merged one, with the verdict's sentence, counts and exit code.
    pub fn single(label: &str, verdict: VerdictDocument) -> Self {
        Self {
            schema: SCHEMA_MERGED.into(),
            tool_version: verdict.tool_version.clone(),
            conclusion: verdict.conclusion,
            exit_code: verdict.exit_code,
            sentence: verdict.sentence.clone(),
            counts: verdict.counts.clone(),
            groups: vec![Group { label: label.to_owned(), verdict }],
            warnings: Vec::new(),
            warning_codes: Vec::new(),
        }
    }
}

/// One measuring job's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictPart {
    /// Its folder, for messages; where there is no job its last part is the label.
    pub name: String,
    pub job: Option<Job>,
    pub verdict: VerdictDocument,
}

/// The meaning of a part that is not among the parts of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Absence {
    /// It may still come: nothing is decided before, but nothing has failed.
    Pending,
    /// It was lost.
    #[default]
    Missing,
}

impl Absence {
    /// The least conclusion and exit code of a verdict that lacks such parts.
    pub(crate) fn least(most: Option<Self>) -> (Conclusion, Exit) {
        match most {
            None => (Conclusion::Pass, Exit::Pass),
            Some(Self::Pending) => (Conclusion::Inconclusive, Exit::Inconclusive),
            Some(Self::Missing) => (Conclusion::Failed, Exit::Failed),
        }
    }

    /// The most severe one of a document's warnings. `all`: they have no other subject, so that one without a code, of an
    /// earlier version, is about a missing part.
    pub(crate) fn of_warnings(warnings: &[String], codes: &[Warning], all: bool) -> Option<Self> {
        let coded = codes.iter().filter_map(|code| match code {
            Warning::MissingPart { .. } => Some(Self::Missing),
            Warning::PendingPart { .. } => Some(Self::Pending),
            _ => None,
        });
        coded.chain((all && warnings.len() > codes.len()).then_some(Self::Missing)).max()
    }
}

/// Something that should be among the parts and is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingPart {
    pub absence: Absence,
    /// Which machine's, as far as it is known.
    pub label: Option<String>,
    pub shard: Option<Shard>,
    /// ``part `x` has no verdict``: a sentence without a period.
    pub what: String,
}

impl VerdictPart {
    pub fn shard(&self) -> Option<Shard> {
        self.job.as_ref()?.shard
    }

    /// Its name in warnings and gaps: `shard 2 of 3`.
    pub fn who(&self) -> String {
        self.shard().map_or_else(|| format!("part `{}`", self.name), shard_words)
    }
}

impl MissingPart {
    pub(crate) fn warning(&self) -> Warning {
        let text = self.what.clone();
        match self.absence {
            Absence::Pending => Warning::PendingPart { text },
            Absence::Missing => Warning::MissingPart { text },
        }
    }
}

pub(crate) fn shard_words(shard: Shard) -> String {
    format!("shard {} of {}", shard.index, shard.of)
}

/// The most severe conclusion and exit code of groups; with gaps at least those of the gaps.
pub(crate) fn most_severe_of(groups: &[Group], gaps: Option<Absence>) -> (Conclusion, Exit) {
    groups.iter().fold(Absence::least(gaps), |(conclusion, exit), group| {
        let of_group = Exit::from_repr(group.verdict.exit_code).unwrap_or(Exit::Internal);
        (most_severe(conclusion, group.verdict.conclusion), exit.most_severe(of_group))
    })
}

pub(crate) fn counts_of(groups: &[Group]) -> BTreeMap<Verdict, u32> {
    let total = |verdict| groups.iter().filter_map(|group| group.verdict.counts.get(&verdict)).sum();
    Verdict::tally(total)
}
