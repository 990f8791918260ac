//! The change of a row, and what no program does.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The change from base to head, direction accounted for: above 0 is worse, whatever the metric.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
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
    pub adjusted_p: Option<f64>,
    /// Smallest slowdown that this many processes, or rounds, with this spread would have found.
    pub detectable: Option<f64>,
}

impl Change {
    /// So many times better or worse that a program which still does its work does not explain it.
    const IMPOSSIBLE: f64 = 100.0;

    /// Between two known values: no chance, no interval, no correction.
    pub(crate) fn known(ratio: f64, slowdown: f64) -> Self {
        Self {
            ratio,
            slowdown,
            low: slowdown,
            high: slowdown,
            confidence: 1.0,
            adjusted_p: None,
            detectable: None,
        }
    }

    /// False if the interval is useless: one that reaches from a hundredth to a hundred times.
    pub fn is_known(&self) -> bool {
        const HUNDREDTH: f64 = -0.99;
        const HUNDRED_TIMES: f64 = 99.0;
        self.low > HUNDREDTH || self.high < HUNDRED_TIMES
    }

    /// Better by more than `IMPOSSIBLE` times. Never true of a metric that reaches zero or less.
    pub fn is_impossible(&self) -> bool {
        self.ratio > 0.0 && self.slowdown < 1.0 / Self::IMPOSSIBLE - 1.0
    }

    /// Worse by more than so many times: a fault of the benchmark or of its unit does that more often than a change.
    pub fn is_extreme(&self) -> bool {
        self.ratio > 0.0 && self.slowdown > Self::IMPOSSIBLE - 1.0
    }
}
