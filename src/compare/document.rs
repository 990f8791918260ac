//! The verdict as a public document: versioned JSON, from which every report is rendered.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::History;
use crate::model::{Better, CaseId, Outcome, RunId, RunRecord};

pub const SCHEMA_VERDICT: &str = "gbench-ci/verdict/v1";

/// The whole answer of one comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerdictDocument {
    /// `gbench-ci/verdict/v1`.
    pub schema: String,
    /// Version of gbench-ci that decided.
    pub tool_version: String,
    pub conclusion: Conclusion,
    /// The exit code that follows from the conclusion and the policy.
    pub exit_code: u8,
    /// One sentence: what a reader should know if they read nothing else.
    pub sentence: String,
    /// Verdict word to number of rows, every verdict present.
    pub counts: BTreeMap<Verdict, u32>,
    pub base: SideSummary,
    pub head: SideSummary,
    pub method: Method,
    /// Fields of the machine and toolchain that differ, also those that only deserve a note.
    pub differences: Vec<Difference>,
    /// One row per case and judged metric: regressed first, then by weight.
    pub rows: Vec<Row>,
    pub warnings: Vec<String>,
    /// A command that gives the same comparison again, ready for a shell.
    pub reproduce: String,
    /// The evidence itself, where the document is to stand alone; reports do not look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<Box<Records>>,
}

/// Both records whole: every sample and both manifests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Records {
    pub base: RunRecord,
    pub head: RunRecord,
    /// What the stored runs said, where the rule asked them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
}

impl VerdictDocument {
    /// The JSON Schema of a verdict; `docs/schema/verdict-v1.json` is this.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(VerdictDocument).into()
    }
}

/// The comparison as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Everything was compared and nothing regressed.
    Pass,
    Regressed,
    /// At least one case failed, is invalid or is missing; or nothing was compared.
    Failed,
    /// Nothing regressed, and some or all of it could not be decided.
    Inconclusive,
    /// The machines differ in a field that must agree: nothing was compared.
    Incomparable,
}

/// What is said of one case and metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Regressed,
    Invalid,
    Missing,
    Inconclusive,
    Improved,
    New,
    Unchanged,
}

impl Verdict {
    /// In the order in which reports show them.
    pub const ALL: [Verdict; 7] = [
        Verdict::Regressed,
        Verdict::Invalid,
        Verdict::Missing,
        Verdict::Inconclusive,
        Verdict::Improved,
        Verdict::New,
        Verdict::Unchanged,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Verdict::Regressed => "regressed",
            Verdict::Invalid => "invalid",
            Verdict::Missing => "missing",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Improved => "improved",
            Verdict::New => "new",
            Verdict::Unchanged => "unchanged",
        }
    }
}

/// One side of the comparison, enough to name it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SideSummary {
    pub run_id: RunId,
    /// How the user named it: `main`, `a.json`, `this run`.
    pub name: String,
    pub started: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    pub dirty: bool,
    pub cases: u32,
    pub measured: u32,
    /// GPU models, or the CPU model where there is no GPU: what it ran on, for the reader.
    pub machine: String,
}

/// How it was decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// `process-welch-holm`: see docs/statistics.md.
    pub rule: String,
    /// Chance of any false red or green in the whole suite.
    pub alpha: f64,
    /// Rows that entered the correction for many comparisons.
    pub tested: u32,
    pub inconclusive_fails: bool,
    pub failed_fails: bool,
    /// Present where the two sides are of different sessions, and the rule asks the past how much those differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Sessions>,
}

/// What the rule took from stored sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// Sessions of a case that must be stored before it may be green.
    pub needed: u32,
    /// Stored runs of comparable machines that were looked at.
    pub runs: u32,
}

/// A field in which the two sides differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// `gpu_model`, `cpu_model`, `tools.nvcc`.
    pub field: String,
    pub base: String,
    pub head: String,
    /// The comparison was refused because of it.
    pub strict: bool,
}

/// One case and metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub case: CaseId,
    /// Empty where the case as a whole is missing, new or failed.
    pub metric: String,
    pub unit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    pub verdict: Verdict,
    /// Why, in one sentence; empty for plain unchanged rows.
    pub reason: String,
    /// What to do about it; empty where nothing is.
    pub next: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<RowSide>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<RowSide>,
    /// Absent where there is nothing to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// Least relative change that matters: 0.05 is 5 %.
    pub threshold: f64,
}

/// One side of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowSide {
    pub outcome: Outcome,
    /// Processes with complete samples.
    pub processes: u32,
    pub samples: u64,
    /// What stands for this side, in the metric's unit: the geometric mean of the processes' medians, so that the
    /// change is the ratio of the two; their plain median where one of them is not above zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub centre: Option<f64>,
    /// Sample standard deviation of the logarithms of the processes' medians: relative spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
}

/// The change from base to head, direction accounted for: above 0 is worse, whatever the metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Ratio head / base of the metric itself.
    pub ratio: f64,
    /// Slowdown - 1: 0.10 is 10 % worse, -0.10 is better. For higher-is-better metrics base / head - 1.
    pub slowdown: f64,
    /// Interval of the slowdown that the verdict rests on.
    pub low: f64,
    pub high: f64,
    /// Confidence of the interval: 0.95, or higher where many rows share the error rate.
    pub confidence: f64,
    /// Two-sided p-value of "no change beyond the threshold", corrected over the suite (Holm 1979).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjusted_p: Option<f64>,
    /// Smallest slowdown that this many processes with this spread would have found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
}
