//! The public documents of a bisection: its measurements, line by line, and its answer.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::case::CaseId;
use crate::id::RunId;
use crate::unit::Better;

pub const SCHEMA_BISECT: &str = "gbench-ci/bisect/v1";
pub const SCHEMA_BISECT_STATE: &str = "gbench-ci/bisect-state/v1";

/// The output of `gbench-ci bisect --format json`.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BisectDocument {
    /// `gbench-ci/bisect/v1`.
    pub schema: String,
    /// Of this bisection; `--resume` takes it.
    pub id: RunId,
    pub case: CaseId,
    pub metric: String,
    pub unit: String,
    pub better: Option<Better>,
    pub good: V1BisectCommit,
    pub bad: V1BisectCommit,
    /// Commits behind the good end up to the bad one.
    pub commits: u32,
    /// All commits of the range were candidates; otherwise first parents alone.
    pub full: bool,
    /// A change in either direction was looked for, as asked or because the metric has no better one; otherwise one for the worse.
    pub any: bool,
    pub answer: BisectAnswer,
    /// Probability that the answer has to reach.
    pub confidence: f64,
    /// Probability of the answer: the change came with one of the remaining commits, or there is none.
    pub probability: f64,
    /// Probability that nothing changed, or, if only changes for the worse are looked for, that nothing became worse.
    pub innocent: f64,
    /// The commits that the change may have come with, most probable first: of an answer all of its set, else those that
    /// together reach the confidence, at most 20.
    pub remaining: Vec<V1BisectCommit>,
    /// Bad over good - 1, with its interval of 95 %. Absent before anything was measured.
    pub change: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Standard deviation of a process, relative.
    pub noise: Option<f64>,
    pub rounds: u32,
    pub processes: u32,
    pub builds: u32,
    /// For builds and processes, resumed ones included.
    pub seconds: f64,
    /// Every commit with a figure, oldest first.
    pub measured: Vec<V1BisectCommit>,
    /// Commits that could not be built or run, oldest first.
    pub broken: Vec<V1BisectCommit>,
    /// Folder with the state and every record.
    pub folder: String,
    pub warnings: Vec<String>,
}

/// How a bisection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum BisectAnswer {
    /// The change came with the one remaining commit.
    Commit,
    /// The change came with one of the remaining commits. They cannot be distinguished because those between them are
    /// broken.
    Commits,
    /// Nothing changed, or, if only changes for the worse are looked for, nothing became worse.
    Nothing,
    /// The budget or the rounds were spent first.
    Undecided,
    /// A signal ended it.
    Interrupted,
}

impl BisectAnswer {
    /// True if nothing is left to measure.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Commit | Self::Commits | Self::Nothing)
    }
}

/// A commit of the range.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct V1BisectCommit {
    /// 40 hexadecimal digits.
    pub commit: String,
    /// First line of its message.
    pub subject: String,
    pub author: String,
    /// When its author wrote it: UTC, RFC 3339.
    pub authored: String,
    /// Probability that the change came with this commit; 0 for the good end.
    pub probability: f64,
    /// Probability that the change came with this commit or an earlier one.
    pub behind: f64,
    pub processes: u32,
    /// Median of its processes, in the metric's unit.
    pub value: Option<f64>,
    /// Why it could not be measured.
    pub broken: Option<String>,
}

/// A line of `bisect.jsonl`, from which a bisection is resumed.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "entry", rename_all = "snake_case", deny_unknown_fields)]
pub enum BisectEntry {
    /// The first line.
    Begun(Box<BisectBeginning>),
    /// Once, before the first process.
    Metric { metric: String, unit: String, better: Option<Better> },
    /// A commit was checked out and built, or it was found broken.
    Built { commit: String, seconds: f64 },
    /// A process ended well.
    Process {
        commit: String,
        /// Those of one round were measured in one go.
        round: u32,
        /// The median of its samples, in the metric's unit.
        value: f64,
        /// Wall seconds.
        seconds: f64,
        /// Its record is in `runs/RUN`.
        run: RunId,
        /// Why the measurement is not used.
        left_out: Option<String>,
    },
    /// A commit cannot be built or run.
    Broken { commit: String, cause: String },
}

/// The parameters of a bisection.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BisectBeginning {
    /// `gbench-ci/bisect-state/v1`.
    pub schema: String,
    pub id: RunId,
    pub case: CaseId,
    /// As asked for; absent: the one by which the case is judged.
    pub metric: Option<String>,
    /// The ends, 40 digits each.
    pub good: String,
    pub bad: String,
    pub full: bool,
    pub any: bool,
    /// The size of the finding of a history that it looks into, as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<f64>,
    pub confidence: f64,
    /// The suite file that all commits are measured with, as the user meets it; its text is `suite.toml`.
    pub suite: String,
    /// SHA-256 of that text, hexadecimal.
    pub suite_sha256: String,
    /// Facts of the machine that must be the same when the bisection is resumed.
    pub machine: BTreeMap<String, String>,
}
