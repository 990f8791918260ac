//! The result of a calibration as a public document: versioned JSON, which reports show and comparisons read.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use gbench_model::{CaseId, RunId};

pub const SCHEMA_CALIBRATION: &str = "gbench-ci/calibration/v1";

/// The changes that this machine can detect, case by case.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// `gbench-ci/calibration/v1`.
    pub schema: String,
    pub tool_version: String,
    /// The comparison of the suite with itself that all figures come from.
    pub comparison: RunId,
    /// UTC, RFC 3339, when it began.
    pub date: String,
    /// The facts of the machine that must agree for the figures to mean anything.
    pub machine: BTreeMap<String, String>,
    /// Those of them that the machine did not tell.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unknown: BTreeSet<String>,
    /// Rounds that were asked for.
    pub rounds: u32,
    /// Most rounds of a usual comparison.
    pub usual_rounds: u32,
    /// Chance of any false red that the rule promises for a whole suite.
    pub alpha: f64,
    /// Rows that share the error rate in the prospects: what the screen leaves open of an unchanged suite, and one.
    #[serde(rename = "suspects")]
    pub candidates: u32,
    /// Wall seconds of all rounds.
    pub seconds: f64,
    /// One a case and judged metric, in the suite's order.
    pub rows: Vec<CalibratedRow>,
    /// Cases without figures, and why.
    pub unmeasured: Vec<Unmeasured>,
    pub false_alarms: FalseAlarms,
    /// Absent where it could not be measured; a warning says why.
    pub control: Option<PlantedControl>,
    pub warnings: Vec<String>,
}

impl Calibration {
    /// False if no row has figures: then nothing was learnt.
    pub fn has_figures(&self) -> bool {
        self.rows.iter().any(|row| row.readiness != Readiness::Unknown)
    }

    pub fn is_whole(&self) -> bool {
        self.unmeasured.is_empty() && self.rows.iter().all(|row| row.readiness != Readiness::Unknown)
    }
}

/// One metric of one case.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CalibratedRow {
    pub case: CaseId,
    pub metric: String,
    pub readiness: Readiness,
    /// Why it is not ready; empty where it is.
    pub why: Vec<String>,
    /// Possible remedies; empty where it is ready.
    pub help: Vec<String>,
    /// Whole rounds that were measured.
    pub rounds: u32,
    /// Certified unchanged within this: 0.02 is 2 %.
    pub target: f64,
    /// A red must lie beyond this.
    pub min_effect: f64,
    /// Wall seconds of one round of the case, both sides; its metrics share them.
    pub seconds_per_round: f64,
    /// Absent where nothing is left to chance, or too few rounds are there.
    pub noise: Option<Noise>,
    pub prospect: Option<Prospect>,
}

/// The scatter of one round's difference, and its sources. Deviations are shares: 0.01 is 1 %.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Standard deviation of one round's difference, moderated by the suite's other rows, as the rule does it.
    pub floor: f64,
    /// Lag-1 correlation of the differences from round to round.
    pub from_round_to_round: Option<f64>,
    /// By how much the second process of a round is above the first, as a share; absent where the order is not known.
    pub second_place: Option<f64>,
    /// Absent where processes give fewer than four samples.
    pub parts: Option<Parts>,
}

/// Where the variance of one process's place comes from; the three shares add up to 1.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Parts {
    pub within: f64,
    pub between: f64,
    /// From being first or second in a round.
    pub order: f64,
    /// Lag-1 correlation of the iterations of one process.
    pub autocorrelation: f64,
    /// Iterations of one process, on average.
    pub iterations: f64,
    /// Iterations of one process for the least total time (Kalibera & Jones); absent where their cost is not known.
    pub best_iterations: Option<u32>,
}

/// The expectations of a comparison of two commits here. Rounds and effects are those that four of five keep to.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Prospect {
    /// Smallest slowdown that the usual rounds find; absent where they find none.
    pub detectable: Option<f64>,
    /// The same in the rounds that were measured.
    pub detectable_in_measured: Option<f64>,
    /// Rounds until an unchanged row is certified within its target; absent beyond 10,000.
    pub rounds_to_certify: Option<u32>,
    pub seconds_to_certify: Option<f64>,
    /// Rounds until 3 % worse is called red; absent beyond 10,000.
    pub rounds_to_prove: Option<u32>,
    pub seconds_to_prove: Option<f64>,
    /// The least target that the usual rounds certify; absent where there is none.
    pub least_target: Option<f64>,
    /// By arithmetic: 3 % added to its measured rounds in so many suites, and how often that was called red.
    pub planted: u32,
    pub found: u32,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Readiness {
    /// Certified unchanged within the usual rounds.
    Ready,
    /// Certified within four times the usual rounds.
    Slow,
    /// Not even then.
    Hopeless,
    /// Too few rounds to say.
    Unknown,
}

/// A case that gave nothing to calibrate by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Unmeasured {
    pub case: CaseId,
    pub reason: String,
}

/// How often the rule cries wolf on this suite, nothing having changed.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FalseAlarms {
    /// Rows that the comparison called regressed or improved, as it was measured.
    pub red: Vec<String>,
    pub improved: Vec<String>,
    /// The same rounds with other signs, drawn at random.
    pub flipped: Share,
    /// The usual number of rounds, drawn from those measured, with signs drawn at random.
    pub drawn: Share,
    /// The part of one round's difference that carries over to the next one's; `None` where no row has six rounds.
    #[serde(rename = "stickiness")]
    pub serial_correlation: Option<f64>,
}

impl FalseAlarms {
    /// The measured comparison was falsely red, or the tries were so more often than alpha and chance explain.
    pub fn too_many(&self, alpha: f64) -> bool {
        !self.red.is_empty() || self.flipped.is_clearly_above(alpha) || self.drawn.is_clearly_above(alpha)
    }
}

/// Of so many suites so many had a red.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Share {
    pub suites: u32,
    pub with_red: u32,
}

impl Share {
    pub fn value(self) -> f64 {
        f64::from(self.with_red) / f64::from(self.suites.max(1))
    }

    /// Standard error of the share; of none in n, that of one.
    pub fn error(self) -> f64 {
        let count = f64::from(self.suites.max(1));
        let share = (f64::from(self.with_red.max(1)) / count).min(1.0 - 1.0 / count).max(0.0);
        (share * (1.0 - share) / count).sqrt()
    }

    fn is_clearly_above(self, alpha: f64) -> bool {
        const CLEARLY: f64 = 2.33;
        self.value() - CLEARLY * (alpha * (1.0 - alpha) / f64::from(self.suites.max(1))).sqrt() > alpha
    }
}

/// A built-in workload with more work on one side, measured for real.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlantedControl {
    pub comparison: RunId,
    /// 0.05: 5 % more work.
    pub planted: f64,
    pub found: bool,
    pub rounds: u32,
    /// Its apparent slowdown, where there is a figure.
    pub slowdown: Option<f64>,
    /// Deviation of one round's difference.
    pub noise: f64,
    /// Smallest slowdown that the usual rounds find at that noise; absent: none.
    pub detectable: Option<f64>,
}

impl PlantedControl {
    /// Not detected although it was large enough for the noise.
    pub fn is_missed(&self) -> bool {
        !self.found && self.detectable.is_some_and(|detectable| detectable <= self.planted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_held_against_its_level_by_the_error_of_so_many_suites() {
        let share = |with_red| Share { suites: 1000, with_red };
        assert_eq!([10, 17, 18].map(|red| share(red).is_clearly_above(0.01)), [false, false, true]);
        assert!((share(250).error() - 0.013693).abs() < 1e-6);
        assert!(share(0).error() > 0.0);
    }

    #[test]
    fn a_red_as_measured_is_an_alarm_and_an_improvement_is_none() {
        let none = Share { suites: 1000, with_red: 0 };
        let improved = vec!["s/a time".into()];
        let mut alarms =
            FalseAlarms { red: vec![], improved, flipped: none, drawn: none, serial_correlation: None };
        assert!(!alarms.too_many(0.01));
        alarms.red.push("s/b time".into());
        assert!(alarms.too_many(0.01));
    }
}
