//! What became of a case, and why. A case that did not run properly is never a number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Stage;

/// The fate of a selected case, or of one of its processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// Ran to its end; its samples may be compared.
    Measured,
    /// Ran, but its answer is wrong or its numbers are not numbers.
    Invalid {
        cause: String,
        advice: String,
    },
    Failed {
        kind: FailureKind,
        cause: String,
        advice: String,
    },
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
        cause: String,
        advice: String,
    },
    /// Was selected and never started: the suite's deadline, an interrupt, an earlier failure.
    NotRun {
        cause: String,
        advice: String,
    },
}

/// How a process failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// What came over the protocol is not the protocol.
    Protocol,
    /// The declared extraction found nothing in stdout.
    Extraction,
    /// Ended well without a single sample.
    NoSamples,
}

impl Outcome {
    pub fn is_measured(&self) -> bool {
        matches!(self, Outcome::Measured)
    }

    /// Failed, timed out or invalid: makes a run exit with 4.
    pub fn is_failure(&self) -> bool {
        matches!(self, Outcome::Failed { .. } | Outcome::TimedOut { .. } | Outcome::Invalid { .. })
    }

    /// One word for tables.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Measured => "measured",
            Outcome::Invalid { .. } => "invalid",
            Outcome::Failed { .. } => "failed",
            Outcome::TimedOut { .. } => "timed out",
            Outcome::Skipped { .. } => "skipped",
            Outcome::NotRun { .. } => "not run",
        }
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
