//! The exclusive locks of a run, and the GPUs of its processes.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::samples::is_default;

/// The locks that kept other gates from measuring meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExclusiveUse {
    /// UUIDs of the GPUs that it had for itself; empty: the whole machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<String>,
    /// Seconds that it waited for other gates; they count neither for the deadline nor for the budget.
    #[serde(default, skip_serializing_if = "is_default")]
    pub waited_seconds: f64,
}

/// A GPU of the machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GpuPlace {
    /// As nvidia-smi and the manifest number it, from 0.
    pub index: u32,
    pub uuid: String,
}
