//! A curve in the public document.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::outcome::Verdict;
use gbench_model::{CaseId, LoadParameters};

/// A benchmark at several loads: cases that differ in one load parameter alone, and in what follows from it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// The case without its load, which all points share.
    pub case: CaseId,
    /// The parameter that is the load: `max_concurrency`.
    pub load: String,
    /// The most severe verdict of its points' rows. A faster point does not make up for a slower one.
    pub verdict: Verdict,
    /// By increasing load.
    pub points: Vec<CaseId>,
    /// The throughput by which reports draw it, if its points have one.
    pub throughput: Option<String>,
    /// The latency by which reports draw it, if its points have one.
    pub latency: Option<String>,
}

/// Cases that may be points of curves, and have the same load parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CasesUnderLoad {
    pub load: LoadParameters,
    pub cases: Vec<CaseId>,
}
