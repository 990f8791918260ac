//! A case under a profiler, as a verdict has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{CaseId, MovedFigure, Profile};

/// A case under one profiler, on base and on head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfiledCase {
    pub case: CaseId,
    /// Without metrics that are no figure, which the record has. `reports` are from the side's run folder.
    pub base: Profile,
    pub head: Profile,
    /// What moved most comes first. Empty unless both were taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<MovedFigure>,
}
