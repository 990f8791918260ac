//! The exit codes: one enum, because CI jobs, scripts and the README must agree on them.

/// The answer of the process to its caller. Quoted by README.md; a test compares the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumIter, strum::FromRepr)]
#[repr(u8)]
pub enum Exit {
    /// Everything requested was done, and nothing regressed.
    Pass = 0,
    /// At least one case is slower (or larger, or less) by more than its threshold.
    Regression = 1,
    /// The command line, the suite file or a record is invalid.
    Usage = 2,
    /// Too noisy or too few processes to decide, and the policy makes that matter.
    Inconclusive = 3,
    /// A benchmark failed, timed out, was invalid or is missing; or nothing was measured at all.
    Failed = 4,
    /// The machine cannot do this: no GPU where one is required, incomparable machines, a disk without space.
    Machine = 5,
    /// The answer is known but could not be published: GitHub or the history was unreachable or refused.
    Unpublished = 6,
    /// A defect of gbench-ci itself.
    Internal = 70,
    /// Ctrl-C ended the run; the record contains the measurements until then.
    Interrupted = 130,
    /// SIGTERM ended the run; the record contains the measurements until then.
    Terminated = 143,
}

impl Exit {
    /// The text that README.md quotes.
    pub fn words(self) -> &'static str {
        match self {
            Exit::Pass => "pass",
            Exit::Regression => "regression",
            Exit::Usage => "usage or configuration error",
            Exit::Inconclusive => {
                "inconclusive: nothing was decided, a case is probably worse, or policy says it matters"
            }
            Exit::Failed => {
                "a benchmark failed, timed out, was invalid or is missing, or nothing was compared"
            }
            Exit::Machine => {
                "the machine cannot do this: no GPU where one is required, incomparable machines, no space on a disk, or a fork's code where none may run"
            }
            Exit::Unpublished => "the answer is known and could not be published",
            Exit::Internal => "internal error",
            Exit::Interrupted => "interrupted (Ctrl-C); the record contains what was measured",
            Exit::Terminated => "terminated (SIGTERM); the record contains what was measured",
        }
    }

    pub fn code(self) -> u8 {
        self as u8
    }

    /// The exit code for two verdicts together. A regression is more severe than anything that could not be judged, because it
    /// is a fact. Among the others, the one that judged less is more severe.
    pub fn most_severe(self, other: Exit) -> Exit {
        const MOST_SEVERE_FIRST: [Exit; 10] = [
            Exit::Internal,
            Exit::Interrupted,
            Exit::Terminated,
            Exit::Usage,
            Exit::Regression,
            Exit::Machine,
            Exit::Failed,
            Exit::Inconclusive,
            Exit::Unpublished,
            Exit::Pass,
        ];
        let worst = MOST_SEVERE_FIRST.into_iter().find(|exit| [self, other].contains(exit));
        worst.unwrap_or(Exit::Internal)
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    #[test]
    fn the_graver_of_two_codes_is_the_same_in_any_order_and_none_is_forgotten() {
        for one in Exit::iter() {
            assert_eq!(one.most_severe(one), one);
            assert_eq!(one.most_severe(Exit::Pass), one);
            for other in Exit::iter() {
                assert_eq!(one.most_severe(other), other.most_severe(one));
            }
        }
        assert_eq!(Exit::Machine.most_severe(Exit::Regression), Exit::Regression);
        assert_eq!(Exit::Inconclusive.most_severe(Exit::Failed), Exit::Failed);
    }
}
