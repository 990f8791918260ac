//! Measurements of one metric: raw, in order, by process.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;

use crate::unit::Better;

/// One metric of one case.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// `time`, `bandwidth_triad`: letters, digits, `_`, `-`, `.`, `/`.
    pub name: String,
    /// As the source named it; empty for a plain number.
    pub unit: String,
    /// Absent if neither the unit, the child nor the suite file defines which way is better.
    pub better: Option<Better>,
    /// One entry for every process that sent samples, in the order in which they ran.
    #[serde(deserialize_with = "exact")]
    pub processes: Vec<ProcessSamples>,
    /// Over all complete samples; absent when there are none.
    pub summary: Option<Summary>,
}

/// The samples that one process sent for one metric.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProcessSamples {
    /// Index of the process within its case, from 0.
    pub process: u32,
    /// In order of measuring; `values[i]` is iteration `first_iteration + i`.
    #[serde(deserialize_with = "exact")]
    pub values: Vec<f64>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub first_iteration: u64,
    /// The process did not end well: kept for the reader, never compared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The child gave only its own summary, no samples; `values` is then empty.
    pub stated: Option<Stated>,
}

/// A summary that a child states itself, in the metric's unit. Samples are never made up from it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stated {
    /// The centre: a median where the source has one, else a mean.
    pub value: f64,
    pub stddev: Option<f64>,
    /// How many samples the source says it saw.
    pub count: Option<u64>,
}

/// Descriptive statistics over the complete samples of all processes of a metric, in its unit.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Summary {
    pub samples: u64,
    /// Processes with complete samples: the number that statistics rest on.
    pub processes: u32,
    pub mean: f64,
    pub median: f64,
    /// Sample standard deviation (n - 1); absent for a single sample.
    pub stddev: Option<f64>,
    pub min: f64,
    pub max: f64,
    /// `p25 p50 p75 p90 p95 p99` and those asked for, by type-7 quantiles (Hyndman & Fan 1996).
    pub percentiles: BTreeMap<String, f64>,
}

/// Deserialises a list without excess capacity. Reading elements one by one would leave a third of it empty, which is 40 MB in
/// a record of 10,000 cases.
pub(crate) fn exact<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let mut list = Vec::deserialize(deserializer)?;
    list.shrink_to_fit();
    Ok(list)
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
