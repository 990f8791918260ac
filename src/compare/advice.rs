//! The next step for the reader of a row, as a value. `Row::next` holds its text, which [`super::wording`] makes of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One next step, with the figures that its text names. `docs/reasons.md` lists all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Advice {
    /// Further rounds would probably decide the row. Only the owner of the records can resume their comparison.
    Resume {
        /// Further rounds of this row.
        more_rounds: u32,
        /// The value of `--rounds` that allows them.
        rounds: u32,
    },
    /// The budget ended the rounds: allow more time.
    GiveMoreTime { rounds: u32, most_rounds: u32 },
    /// More rounds alone would hardly decide the row: reduce the noise of the machine.
    ReduceNoise {},
    /// Likewise of more processes.
    ReduceNoiseOrRaiseThreshold {},
    /// Let the program print more digits, or measure more launches at once.
    FinerFigures {
        /// Launches in a sample after which a step is a tenth of the target.
        launches: u64,
    },
    /// Let the program send values above zero, or others from the first round on.
    KeepOneSign {},
    /// Keep other work off the machine.
    KeepMachineFree {},
    /// Cool the card, or declare its slowdown usual.
    CoolTheCard {},
    /// Look for what a process leaves to the next one of its side.
    LookForSharedState {},
    /// Look for what the order of the processes leaves behind.
    LookForOrderEffects {},
    /// Clear what the benchmark keeps between its processes.
    MeasureAnew {},
    /// Let every process measure anew, or declare the metric exact.
    MeasureAnewOrDeclareExact {},
    /// Print more digits, or declare the metric exact if it cannot vary.
    DeclareExact {},
    /// Print more digits, or declare a counted metric exact.
    DeclareCounted {},
    /// Likewise, or measure so many processes.
    MoreProcessesOrDigits { processes: u32 },
    /// Measure so many processes a side.
    MeasureProcesses { least: u32, better: u32 },
    /// Measure about so many processes a side.
    MoreProcesses { processes: u32 },
    /// Measure more processes, or set a larger margin.
    MoreProcessesOrMargin {},
    /// Look for the lost accuracy, or set a larger margin.
    AccuracyOrMargin {},
    /// Build and measure both commits in one run.
    MeasureInOneRun {},
    /// Save runs, whose history shows how much sessions differ.
    SaveRuns { more: u32 },
    /// Measure several processes a side, or save runs.
    SeveralProcessesOrHistory {},
    /// Look whether head still does its work.
    CheckTheWork {},
    /// So many times worse: look at unit and device first.
    CheckUnitAndDevice { times: f64 },
    /// Read the commits between base and head.
    ReadLog { base: String, head: String },
    /// Read the changes of the working tree against its commit.
    ReadDiff { commit: String },
    /// Look for what changed between two runs.
    LookForChange {
        /// Fields in which the machines differ.
        differences: u32,
    },
    /// The advice of the outcome that the reason names.
    OfOutcome { text: String },
    /// Measure the base again, or save a new baseline.
    MeasureBaseAgain {},
    /// Save a new baseline, so that it is compared from now on.
    SaveBaseline {},
    /// Measure both sides in the same way.
    MeasureAlike {},
    /// Select the case on both sides, or save a baseline without it.
    SelectOnBothSides {},
    /// Let the benchmark send samples, or declare what to extract.
    SendSamples {},
    /// Correct the figures that the benchmark sends.
    CorrectFigures {},
    /// Read the logs of the processes, and measure again.
    ReadLogs {},
    /// Let the benchmark send the metric again, or save a baseline without it.
    SendMetric {},
    /// The row is compared once the base declares a direction.
    DeclareDirectionOnBase {},
    /// Declare which way is better, or do not judge the metric.
    DeclareDirection {},
    /// Send one unit, or save a new baseline.
    SendOneUnit {},
    /// Declare one direction on both sides.
    DeclareOneDirection {},
    /// Measure both sides with the same settings, or save a new baseline.
    SameSettings {},
    /// Correct the figures, or choose a finer clock.
    FinerClock {},
}
