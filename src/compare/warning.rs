//! What a reader should know beside the rows, as a value. A document's `warnings` hold its text, which [`super::wording`]
//! makes of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Judge, Side};

/// One warning, with the figures that its text names. `count` is how many there are, and `named` holds the first of them.
/// `docs/reasons.md` lists all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Warning {
    /// A record was compared with itself.
    SameRecord { run: String },
    /// Two records that differ carry one run id.
    EditedRecord { run: String },
    /// Cases without a measurement on either side.
    Unmeasured { count: u32, named: Vec<String> },
    /// Rows that are shown and not judged.
    NotJudged { count: u32, named: Vec<String> },
    /// Optional metrics that one side lacks.
    OptionalOnOneSide { count: u32, named: Vec<String> },
    /// Cases that were measured with another value of a setting.
    OtherSetting { cases: u32, setting: String, base: String, head: String },
    /// Cases whose command or environment differs.
    StartedOtherwise { count: u32, named: Vec<String> },
    /// Cases whose threshold is no relative change.
    BadThreshold { count: u32, named: Vec<String> },
    /// The run of a side was interrupted.
    Interrupted { side: Side },
    /// The record of a side was recovered from a run that was killed.
    Recovered { side: Side },
    /// A warning that stands in the record of a side.
    OfRecord { side: Side, text: String },
    /// A warning that stands in the record of a side's cases.
    OfCases { side: Side, text: String, count: u32, named: Vec<String> },
    /// Further warnings of cases, in the record alone.
    MoreOfCases { side: Side, count: u32 },
    /// The suite as a whole moved.
    LocationShift {
        rows: u32,
        /// Median slowdown.
        median: f64,
    },
    /// Successive rounds are correlated: no red is believed.
    CorrelatedRounds { correlation: f64, error: f64 },
    /// A GPU's clocks were held down.
    ClocksHeldDown { reasons: Vec<HeldDown>, base_processes: u32, head_processes: u32 },
    /// Both sides were measured with one suite file.
    CommonSuiteFile { path: String, sha256: String, folder: String, judge: Judge },
    /// Something of the history could not be read.
    HistoryUnread { text: String },
    /// Parts of a matrix were measured on different machines.
    MachinesDiffer { count: u32, named: Vec<String> },
    /// Parts of a matrix are of different versions.
    VersionsDiffer { count: u32, named: Vec<String> },
    /// Nothing shows that the uncommitted changes of the parts are the same.
    UncommittedHead {},
    /// Something that should be among the parts is not.
    MissingPart { text: String },
    /// A warning of a version that gave no codes.
    Uncoded {},
}

/// Why clocks were held down, and in how many processes of each side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldDown {
    /// As NVML names it.
    pub reason: String,
    pub base: u32,
    pub head: u32,
}

/// How many there are, and the first `most` of them.
pub fn counted(names: &[String], most: usize) -> (u32, Vec<String>) {
    (names.len() as u32, names[..names.len().min(most)].to_vec())
}
