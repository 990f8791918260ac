//! Results of a row, and of the comparison as a whole.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use gbench_stats::seq_e::Status;

/// The comparison as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
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

// In the order in which reports show them.
/// The result of one case and metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::Display, strum::EnumIter, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Verdict {
    Regressed,
    Invalid,
    Missing,
    Inconclusive,
    Improved,
    New,
    Unchanged,
}

impl From<Status> for Verdict {
    fn from(status: Status) -> Self {
        match status {
            Status::Regressed => Verdict::Regressed,
            Status::Improved => Verdict::Improved,
            Status::Unchanged => Verdict::Unchanged,
            Status::Open | Status::Exhausted => Verdict::Inconclusive,
        }
    }
}
