//! The stages of a benchmark's life, and the time limit of each.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::samples::is_default;

/// A stage of a case. `Build` happens once a benchmark; the others in every process, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::EnumIter, strum::Display)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Stage {
    Build,
    /// From the process's birth to its first event: the interpreter's start, and its imports unless they are a separate
    /// stage.
    Start,
    /// The import of the benchmark's module, with all that it imports.
    Import,
    /// The benchmark's object is made, or its function found.
    Load,
    Setup,
    Warmup,
    Measure,
    Verify,
    Profile,
    Teardown,
}

/// Seconds that each stage may take; indexed by [`Stage`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadlines([f64; 10]);

impl Default for Deadlines {
    fn default() -> Self {
        //     build  start import load setup warmup measure verify profile teardown
        Self([600.0, 60.0, 120.0, 60.0, 60.0, 60.0, 300.0, 60.0, 180.0, 15.0])
    }
}

impl Deadlines {
    pub fn get(&self, stage: Stage) -> f64 {
        self.0[stage as usize]
    }

    pub fn set(&mut self, stage: Stage, seconds: f64) {
        self.0[stage as usize] = seconds;
    }
}

/// The outcome of one stage of one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StageReport {
    pub stage: Stage,
    /// Left out where it was completed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub status: StageStatus,
    /// Seconds spent, by the gate's monotonic clock.
    pub seconds: f64,
    /// Seconds allowed, after the multiplier.
    pub limit: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StageStatus {
    #[default]
    Completed,
    TimedOut,
    /// The process failed, was stopped or declared a skip while in this stage.
    Ended,
}
