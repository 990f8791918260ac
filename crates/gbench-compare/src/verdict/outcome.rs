//! Results of a row, and of the comparison as a whole.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoEnumIterator;

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
    /// Nothing regressed, and some or all of it could not be decided, or is broken on both sides.
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
    /// Broken on both sides: not a failure of this change.
    Broken,
    Improved,
    /// Broken on base and measured on head.
    Mended,
    /// A part of what a program does that head does no more; the rows of the whole decide.
    Gone,
    New,
    Unchanged,
}

impl Verdict {
    /// The number of rows of each verdict. Documents of earlier versions lack `broken`, `mended` and `gone`, which are listed
    /// only where there are any.
    pub fn tally(number: impl Fn(Self) -> u32) -> BTreeMap<Self, u32> {
        let numbers = Self::iter().map(|verdict| (verdict, number(verdict)));
        numbers
            .filter(|(verdict, rows)| {
                *rows > 0 || !matches!(verdict, Self::Broken | Self::Mended | Self::Gone)
            })
            .collect()
    }
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
