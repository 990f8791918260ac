//! What is said of a row, and of the comparison as a whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

impl Conclusion {
    /// As the document has it.
    pub fn word(self) -> &'static str {
        match self {
            Conclusion::Pass => "pass",
            Conclusion::Regressed => "regressed",
            Conclusion::Failed => "failed",
            Conclusion::Inconclusive => "inconclusive",
            Conclusion::Incomparable => "incomparable",
        }
    }
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
