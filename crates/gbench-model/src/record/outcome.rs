//! The outcome of a case, with the reason. A case that did not run properly never has a number.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::stage::Stage;

/// The fate of a selected case, or of one of its processes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum Outcome {
    /// Ran to its end; its samples may be compared.
    #[default]
    Measured,
    /// Ran, but its answer is wrong or its numbers are not numbers.
    Invalid {
        /// Absent in records of earlier versions.
        code: Option<OutcomeCode>,
        cause: String,
        advice: String,
    },
    Failed {
        kind: FailureKind,
        cause: String,
        advice: String,
    },
    #[strum(to_string = "timed out")]
    TimedOut {
        stage: Stage,
        /// Seconds allowed.
        limit: f64,
        /// Seconds spent until the gate stopped it.
        spent: f64,
        advice: String,
    },
    /// Did not run because the machine or the benchmark says that it cannot run here.
    Skipped {
        /// Absent in records of earlier versions.
        code: Option<OutcomeCode>,
        cause: String,
        advice: String,
    },
    /// Was selected and never started: the suite's deadline, an interrupt, an earlier failure.
    #[strum(to_string = "not run")]
    NotRun {
        /// Absent in records of earlier versions.
        code: Option<OutcomeCode>,
        cause: String,
        advice: String,
    },
}

/// Why a case is invalid, skipped or not run, for programs: it stays where the sentence is reworded. Failures have their
/// [`FailureKind`], timeouts their stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutcomeCode {
    /// Invalid: the benchmark found its own answer wrong.
    WrongAnswer,
    /// Invalid: a sample is not a finite number.
    NotFinite,
    /// Invalid: a time is zero or negative.
    ImpossibleTime,
    /// Invalid: the device that it names cannot be the one it ran on.
    RefutedDevice,
    /// Skipped: the benchmark declined to run here.
    Declined,
    /// Skipped: a declared requirement is missing.
    MissingRequirement,
    /// Not run: a signal ended the run.
    Interrupted,
    /// Not run: the deadline of the run came.
    RunDeadline,
    /// Not run: the run ended before the case did, and the record does not say why.
    Unfinished,
    /// Not run: the rounds were over before its first.
    RoundsOver,
    /// Not run: the process of the other side ended, with which it took turns, or the other side could not be built.
    PartnerEnded,
    /// Not run: the process that it shares failed in another case.
    SharedProcessFailed,
    /// Not run: it ran under profilers alone, which nothing times.
    ProfiledOnly,
}

/// How a process failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The build step failed.
    Build,
    /// A declared requirement is missing and the suite asks for failure.
    MissingDependency,
    /// The command could not be started.
    Spawn,
    /// Ended by a signal that the gate did not send.
    Signal,
    /// Ended with a non-zero exit code.
    ExitCode,
    OutOfMemory,
    /// The program reported an error over the protocol.
    Error,
    /// The child sent something that is not in the protocol.
    Protocol,
    /// The declared extraction found nothing in stdout.
    Extraction,
    /// Ended well without a single sample.
    NoSamples,
    /// The benchmark's harness could not be listed, reports the case as failed, or wrote what cannot be read.
    Harness,
}

impl Outcome {
    pub fn is_measured(&self) -> bool {
        matches!(self, Outcome::Measured)
    }

    /// Failed, timed out or invalid: makes a run exit with 4.
    pub fn is_failure(&self) -> bool {
        matches!(self, Outcome::Failed { .. } | Outcome::TimedOut { .. } | Outcome::Invalid { .. })
    }

    /// The one-line cause; empty for [`Outcome::Measured`].
    pub fn cause(&self) -> String {
        match self {
            Outcome::Measured => String::new(),
            Outcome::TimedOut { stage, limit, spent, .. } => {
                format!("{stage} took {spent:.1} s of the {limit:.1} s that it may take")
            }
            Outcome::Invalid { cause, .. }
            | Outcome::Failed { cause, .. }
            | Outcome::Skipped { cause, .. }
            | Outcome::NotRun { cause, .. } => cause.clone(),
        }
    }

    /// The next step for the reader; empty for [`Outcome::Measured`].
    pub fn advice(&self) -> &str {
        match self {
            Outcome::Measured => "",
            Outcome::Invalid { advice, .. }
            | Outcome::Failed { advice, .. }
            | Outcome::TimedOut { advice, .. }
            | Outcome::Skipped { advice, .. }
            | Outcome::NotRun { advice, .. } => advice,
        }
    }
}
