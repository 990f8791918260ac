//! Checks that end without a verdict: never green, and never left in progress.

use crate::github::WorkflowRun;
use crate::github::checks::CheckConclusion::{self, ActionRequired, Cancelled, Failure};
use crate::model::Exit;

pub(super) struct NoVerdict {
    pub conclusion: CheckConclusion,
    pub text: String,
}

impl NoVerdict {
    pub(super) fn new(conclusion: CheckConclusion, text: impl Into<String>) -> Self {
        Self { conclusion, text: text.into() }
    }
}

/// The end of a check by the exit code of a gate that left no verdict.
pub(super) fn of_code(code: u8) -> NoVerdict {
    match Exit::from_repr(code) {
        Some(Exit::Interrupted | Exit::Terminated) => {
            NoVerdict::new(Cancelled, "The run was interrupted before it gave a verdict.")
        }
        Some(exit) => {
            let words = exit.words();
            NoVerdict::new(
                Failure,
                format!("Nothing was compared: exit code {code}, {words}. The log says more."),
            )
        }
        None => {
            NoVerdict::new(Failure, format!("Nothing was compared: the gate ended with exit code {code}."))
        }
    }
}

/// A fork's pull request where forks are not measured: nothing failed, and a maintainer has to act before it may continue.
pub(super) fn of_fork() -> NoVerdict {
    NoVerdict::new(
        ActionRequired,
        "This pull request comes from a fork, whose code and results are not trusted here: nothing was measured. A maintainer \
         who has reviewed it can push its branch to this repository.",
    )
}

/// The end of a check by the conclusion of a run that left no verdict.
pub(super) fn of_run(run: &WorkflowRun) -> NoVerdict {
    match run.conclusion.as_deref() {
        Some("cancelled") => NoVerdict::new(Cancelled, "The run was cancelled before it gave a verdict."),
        // Neutral would let a required check pass with nothing measured.
        Some("skipped") => NoVerdict::new(ActionRequired, "The run was skipped: nothing was measured."),
        _ => NoVerdict::new(Failure, "The run left no verdict: nothing was compared. Its log says why."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_without_a_verdict_is_green() {
        for code in 0..=255 {
            assert_ne!(of_code(code).conclusion, CheckConclusion::Success, "{code}");
        }
        assert_eq!(of_code(143).conclusion, CheckConclusion::Cancelled);
        assert!(of_code(5).text.contains("no GPU"), "{}", of_code(5).text);
    }
}
