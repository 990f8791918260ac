//! Why a row has its verdict, as a value. `Row::reason` holds its text, which [`super::wording`] makes of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::model::{Better, Side, Thermal};

/// One reason, with the figures that its text names. Shares are relative: 0.05 is 5 %. `docs/reasons.md` lists all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reason {
    /// Regressed: the evidence for "worse" is strong enough for the whole suite.
    WorseOverRounds {
        rounds: u32,
        /// The slowdown is at least this, for the whole suite at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least: Option<f64>,
        confidence: f64,
    },
    /// Improved: the evidence for "better" is strong enough for the whole suite.
    BetterOverRounds { rounds: u32, confidence: f64 },
    /// Fewer rounds than the screening stage takes.
    ScreenUnfinished {
        rounds: u32,
        screen_rounds: u32,
        /// Seconds, where their end ended the rounds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<f64>,
    },
    /// The interval of the change fits neither "unchanged" nor "regressed" nor "improved".
    RangeUndecided {
        rounds: u32,
        low: f64,
        high: f64,
        /// Unchanged lies within it.
        target: f64,
        /// A red or an improvement lies beyond it.
        min_effect: f64,
        /// Standard deviation of one round's change.
        noise: f64,
        most_rounds: u32,
        /// The slowdown that `most_rounds` find with this noise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detectable: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<f64>,
        /// The rounds ended before they decided the row, and no budget says why.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ended_early: bool,
    },
    /// The interval is so wide that it says nothing.
    ChangeUnknown {
        rounds: u32,
        noise: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<f64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ended_early: bool,
    },
    /// The absolute difference is not told from its margin.
    MarginUndecided {
        rounds: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<f64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ended_early: bool,
    },
    /// The base is zero, so that there is no relative change, and the difference is not told from chance.
    ZeroBaseInRounds {
        rounds: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<f64>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ended_early: bool,
    },
    /// The steps of the figures, a timer's tick or a last digit, are too coarse for the target.
    CoarseFigures {
        /// In `unit`.
        step: f64,
        unit: String,
        /// The step as a share of the smaller side.
        share: f64,
        /// The change may be off by this, either way.
        unresolved: f64,
        target: f64,
    },
    /// A later round holds a value that is not above zero, where a ratio has no meaning.
    NoRatio {},
    /// The verdict rests on rounds in which one side alone met other work or a throttled GPU.
    OneSideDisturbed {
        disturbed: u32,
        rounds: u32,
        /// The verdict without the doubt.
        shown: Verdict,
    },
    /// The verdict rests on rounds in which hardware held a GPU's clocks down on both sides.
    HardwareSlowdownInRounds { slowed: u32, rounds: u32, shown: Verdict },
    /// Hardware held a GPU's clocks down in processes of two records.
    HardwareSlowdown { processes: u32, shown: Verdict },
    /// Differences of successive rounds are correlated, so that they are no independent evidence.
    SerialCorrelation { correlation: f64, error: f64 },
    /// The base compared with itself came out changed.
    ControlChanged {
        /// How many of its rows.
        count: u32,
        /// The first of them.
        named: Vec<String>,
    },
    /// Two processes of one side gave the same list of samples.
    RepeatedSamples { side: Side, first: u32, second: u32 },
    /// All processes of one side gave one value.
    ConstantSide { side: Side, processes: u32 },
    /// All processes of both sides gave one value.
    ConstantSides { base_processes: u32, head_processes: u32 },
    /// Each side's processes gave one exact value.
    ExactValues { base: f64, head: f64 },
    /// All processes of both sides gave one figure, of more digits than rounding explains.
    RepeatedFigure { value: f64 },
    /// Each side's processes gave one rounded figure, and they are too few to show chance.
    TooFewRoundedFigures { base: f64, head: f64 },
    /// Too few processes to show how much processes differ.
    TooFewProcesses { base_processes: u32, head_processes: u32 },
    /// As `too-few-processes`, of a metric that is judged by its absolute difference.
    OneProcess {},
    /// The base is zero on average, and the processes vary too much.
    ZeroBase { base_processes: u32, head_processes: u32 },
    /// The interval reaches across the threshold.
    IntervalAcrossThreshold {
        confidence: f64,
        low: f64,
        high: f64,
        threshold: f64,
        base_processes: u32,
        head_processes: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_spread: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_spread: Option<f64>,
        /// Smallest slowdown that would have been found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detectable: Option<f64>,
        /// Deviation between sessions, and the stored sessions that show it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_deviation: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sessions: Option<u32>,
        /// The step of rounded figures, where it leaves more open than the processes do, and its share.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step_share: Option<f64>,
    },
    /// The absolute difference went beyond the margin.
    BeyondMargin { base: f64, head: f64, margin: f64 },
    /// The interval of the absolute difference reaches across the margin.
    DifferenceAcrossMargin { low: f64, high: f64, margin: f64 },
    /// Decided without a history, because no difference of sessions explains the change.
    BeyondSessions { stored: u32, needed: u32, assumed: f64 },
    /// Too few stored sessions to show how much sessions differ.
    TooFewSessions {
        stored: u32,
        needed: u32,
        /// The deviation that is assumed instead, and the interval that it gives.
        assumed: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        low: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        high: Option<f64>,
    },
    /// One process a side gave a figure and nothing of its spread.
    SummaryOnly {
        /// head / base.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ratio: Option<f64>,
    },
    /// One process a side gave mean and deviation of its iterations.
    SummaryOfIterations {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        low: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        high: Option<f64>,
        base_iterations: u32,
        head_iterations: u32,
    },
    /// So many times better that no program does its work.
    ImpossiblyBetter { times: f64 },
    /// Head failed, timed out or is invalid.
    FailedOnHead { outcome: String, cause: String },
    /// Both sides failed, timed out or are invalid.
    FailedOnBothSides { base_outcome: String, base_cause: String, head_outcome: String, head_cause: String },
    /// Base was measured, and head was skipped or never started.
    NotMeasuredOnHead { outcome: String, cause: String },
    /// Base failed in the rounds of the comparison.
    FailedOnBase { outcome: String, cause: String },
    /// Base has no valid measurement of the case.
    NotMeasuredOnBase { outcome: String, cause: String },
    /// Only head has the case.
    NewCase {},
    /// Only head has the case; base has one that differs in how it ran.
    NewCaseRanOtherwise {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String>,
        /// Absent where it is the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other_device: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other_thermal: Option<Thermal>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        other_timing: bool,
    },
    /// Only base has the case.
    MissingCase {},
    /// Only base has the case; head has one that differs in how it ran.
    MissingCaseRanOtherwise {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other_device: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other_thermal: Option<Thermal>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        other_timing: bool,
    },
    /// Measured on both sides without a single metric.
    NoMetric {},
    /// Head sent numbers that are not finite.
    NotFinite {},
    /// Head has no complete samples of the metric.
    NoCompleteSamples {},
    /// Base has the metric and head did not send it.
    MissingMetric {},
    /// Base has no valid measurement of the metric.
    NewMetric {},
    /// Only head says which way is better.
    DirectionOnHeadOnly {},
    /// Neither side says which way is better.
    NoDirection {},
    /// The sides name different units.
    UnitsDiffer { base: String, head: String },
    /// The sides name different directions.
    DirectionsDiffer { base: Better, head: Better },
    /// The sides were measured with different settings.
    SettingsDiffer { setting: String, base: String, head: String, effect: SettingEffect },
    /// A time that is zero or less.
    TakesNoTime { side: Side, value: f64, unit: String },
}

/// How a setting that differs makes two measurements incomparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SettingEffect {
    /// The whole process is timed.
    WholeProcess,
    /// It reaches the program.
    Program,
    /// It chooses the card.
    Card,
}

/// That a GPU's clocks were held down while a row was measured, whatever its verdict rests on.
pub struct Remark {
    pub reasons: Vec<String>,
    /// Processes that met it, and all.
    pub base: (usize, usize),
    pub head: (usize, usize),
}
