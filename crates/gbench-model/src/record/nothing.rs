//! Signs that a program ended well but measured nothing, or nothing that a slower function changes. They only apply to
//! programs that are timed from outside, which have no other sign.

use std::borrow::Cow;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::format_duration;

/// One such sign. It is not a verdict: the reader is asked to look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "sign", rename_all = "snake_case", deny_unknown_fields)]
pub enum NothingMeasured {
    /// Its output contains a phrase that programs print when they decline to run.
    Refused { why: RefusalReason, line: String },
    /// It took hardly longer than its interpreter takes to start and do nothing.
    OnlyStarted {
        interpreter: String,
        /// Seconds of the process.
        seconds: f64,
        /// Seconds of an empty program, the median of several.
        start: f64,
    },
    /// It is of a harness that does as much work as fits into a fixed time, and was timed from outside.
    CalibratesItself {
        /// As `harness` in the suite file names it.
        harness: String,
    },
}

/// The reason that a program gives for not running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// A GPU, its driver, or a library that can use it.
    Gpu,
    Module,
    File,
    /// It printed how it is to be called.
    Usage,
    /// It reports itself as skipped.
    Skipped,
}

impl NothingMeasured {
    /// True if two signs are the same apart from their figures.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Refused { why, .. }, Self::Refused { why: other, .. }) => why == other,
            (Self::OnlyStarted { .. }, Self::OnlyStarted { .. }) => true,
            (Self::CalibratesItself { harness }, Self::CalibratesItself { harness: other }) => {
                harness == other
            }
            _ => false,
        }
    }

    /// For readers, without a period.
    pub fn sentence(&self) -> String {
        match self {
            Self::Refused { line, .. } => {
                format!("it ended well and printed `{line}`: perhaps nothing was measured")
            }
            Self::OnlyStarted { interpreter, seconds, start } => {
                let [seconds, start] = [*seconds, *start].map(format_duration);
                format!(
                    "its {seconds} are hardly more than {interpreter} takes to start ({start}): perhaps nothing was measured"
                )
            }
            Self::CalibratesItself { harness } => format!(
                "the whole process was timed, and its harness ({harness}) measures until a fixed time is over, however slow the code is: \
                 a slower function goes unseen"
            ),
        }
    }

    /// The next step for the reader, without a period.
    pub fn next(&self) -> Cow<'static, str> {
        let next = match self {
            Self::CalibratesItself { harness } => {
                return format!("let the harness measure: `harness = \"{harness}\"` in its entry").into();
            }
            Self::Refused { why: RefusalReason::Gpu, .. } => {
                "say what it needs, so that it is skipped where that is missing: `requires = { gpus = 1 }`"
            }
            Self::Refused { why: RefusalReason::Module | RefusalReason::File, .. } => {
                "let it end with an exit code other than 0 where something is missing, or say what it needs in `requires`"
            }
            Self::Refused { why: RefusalReason::Usage, .. } => {
                "give it the arguments that it asks for, in `command`"
            }
            Self::Refused { why: RefusalReason::Skipped, .. } => {
                "say in `requires` what it lacks here, or send a `skip` event (docs/protocol.md)"
            }
            Self::OnlyStarted { .. } => {
                "see by hand what it does; give it more work, or let it time itself (docs/protocol.md)"
            }
        };
        next.into()
    }
}
