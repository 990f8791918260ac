//! The verdict as a public document: versioned JSON, from which every report is rendered.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::change::Change;
use super::curve::{CasesUnderLoad, Curve};
use super::outcome::{Conclusion, Verdict};
use crate::evidence::history::History;
use crate::remarks::device_code::{CaseCode, CodeNoise, CodeState};
use crate::wording::advice::Advice;
use crate::wording::reason::Reason;
use crate::wording::warning::Warning;
use gbench_model::{
    Better, CaseId, CommonSuite, ForeignProcess, Interleaving, MovedFigure, NoReference, NothingMeasured,
    Outcome, PcieLink, Profile, RunId, RunRecord, SandboxState, SequentialRuleName, Side,
};

pub const SCHEMA_VERDICT: &str = "gbench-ci/verdict/v2";

/// Versions that reports read. The second adds to the first what rounds showed.
pub const VERDICTS_READ: [&str; 2] = ["gbench-ci/verdict/v1", SCHEMA_VERDICT];

/// The whole answer of one comparison.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VerdictDocument {
    /// `gbench-ci/verdict/v2`.
    pub schema: String,
    /// Version of gbench-ci that decided.
    pub tool_version: String,
    pub conclusion: Conclusion,
    /// The exit code that follows from the conclusion and the policy.
    pub exit_code: u8,
    /// One sentence: what a reader should know if they read nothing else.
    pub sentence: String,
    /// Verdict word to number of rows, every verdict present.
    pub counts: BTreeMap<Verdict, u32>,
    pub base: SideSummary,
    pub head: SideSummary,
    pub method: Method,
    /// Fields of the machine and toolchain that differ, also those that only deserve a note.
    pub differences: Vec<Difference>,
    /// One row per case and judged metric: regressed first, then by weight.
    pub rows: Vec<Row>,
    /// The curves of serving benchmarks, whose points are cases of `rows`. They decide nothing: each point has its own rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// The cases that may be points of curves. The curves of several parts are made of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<CasesUnderLoad>,
    pub warnings: Vec<String>,
    /// `warnings` as values, in the same order. Empty in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warning_codes: Vec<Warning>,
    /// Cases that ended well and perhaps measured nothing; `warnings` tells of them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nothing_measured: Vec<DoubtfulCase>,
    /// The device code of the cases for which it is known. It decides nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_code: Vec<CaseCode>,
    /// How far times lie apart whose device code is the same. Absent where there is none.
    pub noise_of_identical_code: Option<CodeNoise>,
    /// Cases that were looked into by profilers on both sides, where that was asked for. It decides nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfiledCase>,
    /// A command that gives the same comparison again, ready for a shell.
    pub reproduce: String,
    /// The comparisons in rounds that `reproduce` judges again. Empty where it compares two records, and in documents of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replays: Vec<RunId>,
    /// The evidence itself, where the document is to be self-contained; reports do not use it.
    pub records: Option<Box<Records>>,
}

/// A case under one profiler, on base and on head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProfiledCase {
    pub case: CaseId,
    /// Without metrics that are no figure, which the record has. `reports` are from the side's run folder.
    pub base: Profile,
    pub head: Profile,
    /// The figures that moved most come first. Empty unless both were taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<MovedFigure>,
}

/// A case of one side that shows a sign of having measured nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DoubtfulCase {
    pub side: Side,
    pub case: CaseId,
    pub sign: NothingMeasured,
}

/// Both records whole: every sample and both manifests.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Records {
    pub base: RunRecord,
    pub head: RunRecord,
    /// The figures of the stored runs, where the rule uses them.
    pub history: Option<History>,
}

impl VerdictDocument {
    pub fn changed_rows(&self) -> impl Iterator<Item = (&CaseId, &str)> {
        let changed = |row: &&Row| matches!(row.verdict, Verdict::Regressed | Verdict::Improved);
        self.rows.iter().filter(changed).map(|row| (&row.case, row.metric.as_str()))
    }

    /// The comparisons in rounds that the document is of; empty for two records. An earlier version has only the command.
    pub fn replayed(&self) -> Vec<RunId> {
        if !self.replays.is_empty() {
            return self.replays.clone();
        }
        let id = self.reproduce.strip_prefix("gbench-ci replay ").and_then(|id| id.parse().ok());
        id.into_iter().collect()
    }
}

/// One side of the comparison, enough to name it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SideSummary {
    pub run_id: RunId,
    /// How the user named it: `main`, `a.json`, `this run`.
    pub name: String,
    pub started: String,
    pub commit: Option<String>,
    pub branch: Option<String>,
    pub dirty: bool,
    pub cases: u32,
    pub measured: u32,
    /// GPU models, or the CPU model where there is no GPU: what it ran on, for the reader.
    pub machine: String,
}

/// How it was decided.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// `seq-e-5`, `process-welch-holm-4`: see docs/statistics.md.
    pub rule: String,
    /// Chance of any false red or green in the whole suite.
    pub alpha: f64,
    /// Rows that entered the correction for many comparisons.
    pub tested: u32,
    pub inconclusive_fails: bool,
    pub failed_fails: bool,
    /// Cases that are broken on both sides make the exit code 4.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken_fails: bool,
    /// Present where the sides were measured in rounds.
    pub rounds: Option<RoundsMethod>,
    /// Present where the two sides are of different sessions, and the rule asks the past how much those differ.
    pub sessions: Option<Sessions>,
    /// Present where a commit was compared with itself because nothing was found to judge it against, and what was
    /// missing.
    pub no_reference: Option<NoReference>,
    /// All that was compared is built in, so that no line of the repository was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_built_in: bool,
    /// Present where both sides were measured with one common suite file.
    pub suite_file: Option<CommonSuite>,
    /// The use of sandboxes; absent where that was not recorded.
    pub sandbox: Option<SandboxState>,
}

/// The stored sessions that the rule used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// Sessions of a case that must be stored before it may be green.
    pub needed: u32,
    /// Stored runs of comparable machines that were looked at.
    pub runs: u32,
}

/// The parameters and checks of a comparison in rounds as a whole.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RoundsMethod {
    /// Chance of any false "improved" in the whole suite; `alpha` is that of any false red.
    pub alpha_improved: f64,
    /// Rounds in which every case was screened.
    pub screen_rounds: u32,
    /// Cases of a harness shared their processes while they screened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_screen: bool,
    /// The part of `alpha` that programs have whose cases shared processes. Absent where no program is judged.
    pub alpha_programs: Option<f64>,
    /// Rounds after which an open case is inconclusive.
    pub most_rounds: u32,
    /// Rows that share `alpha`: those that the screen left open; from `seq-e-3` on all but those that exact values show
    /// unchanged.
    #[serde(rename = "suspects")]
    pub candidates: u32,
    /// Seed of the order in which sides went first.
    pub seed: u64,
    pub way: Interleaving,
    /// Pooled, bias-corrected lag-1 correlation of the differences; near 0 where nothing sticks to a side.
    #[serde(rename = "stickiness")]
    pub serial_correlation: Option<f64>,
    /// Its standard error. Absent where the rule `seq-e` decided.
    #[serde(rename = "stickiness_error")]
    pub serial_correlation_error: Option<f64>,
    /// Median slowdown over all rows of the metric that most of them measure.
    #[serde(rename = "shift")]
    pub location_shift: Option<f64>,
    /// Rows of the base that were compared with itself.
    pub controls: u32,
    /// Those of them that came out changed, which they cannot be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flagged_controls: Vec<String>,
}

impl Method {
    /// Rounds of the screen are evidence, and all rows share `alpha`; so from `seq-e-3` on.
    pub fn counts_all_rounds(&self) -> bool {
        use SequentialRuleName::{SeqE3, SeqE4, SeqE5};
        [SeqE3, SeqE4, SeqE5].iter().any(|rule| self.rule == rule.into_str())
    }
}

/// A field in which the two sides differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// `gpu_model`, `cpu_model`, `tools.nvcc`.
    pub field: String,
    pub base: String,
    pub head: String,
    /// The comparison was refused because of it.
    pub strict: bool,
}

/// One case and metric.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub case: CaseId,
    /// Empty where the case as a whole is missing, new or failed.
    pub metric: String,
    pub unit: String,
    pub better: Option<Better>,
    pub verdict: Verdict,
    /// Why, in one sentence; empty for plain unchanged rows.
    pub reason: String,
    /// The next step; empty if there is none.
    pub next: String,
    /// `reason` as a value: a code and its figures. Absent where there is nothing to explain, and in documents of earlier
    /// versions.
    pub why: Option<Reason>,
    /// `next` as a value. Absent where nothing is to do, and in documents of earlier versions.
    pub advice: Option<Advice>,
    pub base: Option<RowSide>,
    pub head: Option<RowSide>,
    /// Absent where there is nothing to compare.
    pub change: Option<Change>,
    /// Least relative change that matters: 0.05 is 5 %. In rounds: within it, the row is certified unchanged.
    pub threshold: f64,
    /// Least absolute change that matters, in the metric's unit, where the row is judged by it and by no share.
    pub margin: Option<f64>,
    /// Present where the row was decided over rounds.
    pub sequence: Option<Sequence>,
    /// Every sample of a side is the same whole number: a count, which shows no time. Absent where its unit or its declaration
    /// already says that it is exact.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counted: bool,
    /// Of executed instructions that changed: the verdict of the same case's time, which they do not stand for.
    pub time_verdict: Option<Verdict>,
    /// For a GPU's time that is red or open, where the clocks were not locked: the verdict on its cycles by the same
    /// rule. It decides nothing.
    pub in_cycles: Option<RowCycles>,
    /// For a time whose case declares its work, on a card whose peaks are known.
    pub of_peak: Option<RowPeak>,
    /// For the speedup of a pair that changed: the change of each member's own figure.
    pub pair: Option<PairShift>,
    /// The state of the case's device code; `device_code` of the document has the details.
    pub device_code: Option<CodeState>,
    /// Samples of the machine while its processes ran, for rows that are not plainly unchanged.
    pub telemetry: Option<Box<RowTelemetry>>,
}

/// Samples of the GPU while both sides of a row were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RowTelemetry {
    pub base: SideTelemetry,
    pub head: SideTelemetry,
    /// The findings that may explain the row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<TelemetryRemark>,
}

/// Medians over the processes of one side.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SideTelemetry {
    /// Processes that were sampled.
    pub processes: u32,
    /// Those of them with a known clock.
    pub clocked: u32,
    /// MHz: of each process the mean of its samples.
    pub sm_clock: Option<f64>,
    /// Watts: of each process the mean.
    pub power: Option<f64>,
    /// Degrees Celsius: of each process the highest.
    pub temperature: Option<f64>,
    /// Processes in which the power limit held the clocks down.
    pub capped: u32,
    /// Processes in which a GPU did not answer.
    pub gaps: u32,
}

/// A finding that may explain a row; processes are counted by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TelemetryRemark {
    /// `share`: by how much that side's is lower.
    LowerClock { side: Side, share: f64, base_mhz: f64, head_mhz: f64 },
    /// The power limit held the clocks down, on one side more often than on the other.
    PowerCap { base: u32, head: u32 },
    /// Another user's process was on the GPU.
    OtherProcess { gpu: u32, process: ForeignProcess, base: u32, head: u32 },
    /// The GPU was not idle before the process.
    NotCalm { base: u32, head: u32 },
    /// The PCIe link had less than the most of card and slot, this at the least.
    NarrowLink { link: PcieLink, base: u32, head: u32 },
    /// The GPU did not answer.
    Gaps { base: u32, head: u32 },
}

/// The verdict on the cycles of a case, in addition to its time.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RowCycles {
    pub verdict: Verdict,
    /// Absent where there is nothing to compare.
    pub change: Option<Change>,
}

/// How near a case comes to the peak of its card, by the rate that is nearest to it.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RowPeak {
    pub rate: PeakRate,
    /// The other rate is known, too, and farther from its peak: this is the case's side of the roofline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_roofline: bool,
    /// Share of the peak, 1 is all of it: the median over processes.
    pub base: Option<f64>,
    pub head: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PeakRate {
    /// Bytes per second, of the memory.
    Bytes,
    /// Floating-point operations per second.
    Flops,
}

/// How the members of a pair changed, each by its own row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PairShift {
    pub baseline: MemberShift,
    pub optimized: MemberShift,
}

/// How one member of a pair changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MemberShift {
    pub verdict: Verdict,
    /// As [`Change::slowdown`]: above 0 is worse.
    pub slowdown: f64,
}

impl Row {
    /// For the row of a program as a whole: the case that changed most clearly.
    pub fn likeliest(&self) -> Option<&str> {
        match &self.why {
            Some(Reason::ProgramWorse { likeliest, .. }) => Some(likeliest),
            _ => None,
        }
    }

    /// The end of the failure's trace: the head's before the base's.
    pub fn trace(&self) -> Option<&str> {
        [&self.head, &self.base].into_iter().flatten().find_map(|side| side.trace.as_deref())
    }

    /// The values of base and head that are shown next to the change.
    pub fn centres(&self) -> [Option<f64>; 2] {
        let shown = |side: &RowSide| side.change_centre.or(side.centre);
        [&self.base, &self.head].map(|side| side.as_ref().and_then(shown))
    }

    /// The change, where anything is known of it: an interval of what was not decided may say nothing at all.
    pub fn known_change(&self) -> Option<&Change> {
        self.change.as_ref().filter(|change| self.verdict != Verdict::Inconclusive || change.is_known())
    }
}

/// The evidence of the rounds for one row.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// Rounds up to the decision; both sides have a process in each.
    pub rounds: u32,
    /// A red must lie beyond this.
    pub min_effect: f64,
    /// Standard deviation of the difference in one round, over those rounds.
    pub noise: f64,
    /// log10 of the e-value against "not worse than `min_effect`", over the rounds after the screen; from `seq-e-3` on
    /// over all.
    pub log10_worse: f64,
    /// Likewise against "not better".
    pub log10_better: f64,
    /// log10 of the e-value that a red needs.
    pub log10_needed: f64,
    /// For a red row: the slowdown is at least this, for the whole suite at once, with `1 - alpha`.
    pub at_least: Option<f64>,
    /// For an inconclusive row: further rounds that would probably decide it.
    pub more_rounds: Option<u32>,
}

/// One side of one row.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RowSide {
    pub outcome: Outcome,
    /// Processes with complete samples.
    pub processes: u32,
    pub samples: u64,
    /// The centre of this side, in the metric's unit: the geometric mean of the processes' medians, so that the change is
    /// the ratio of the two; their plain median where one of them is not above zero.
    pub centre: Option<f64>,
    /// The centre of this side that belongs to the change, where that is not `centre`: the mean of the rounds of the
    /// change, each placed by the middle half of its samples, geometric where all are above zero.
    pub change_centre: Option<f64>,
    /// Sample standard deviation of the logarithms of the processes' medians: relative spread.
    pub spread: Option<f64>,
    /// Why a GPU held its clocks down while this was measured, as NVML names it, and in how many of the processes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub throttled: BTreeMap<String, u32>,
    /// The end of the trace that the program reported with its error.
    pub trace: Option<String>,
}
