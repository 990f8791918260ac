//! How a check ends, in the words of GitHub, and the same for a commit status.

/// How a check ends. `Failure` and `ActionRequired` stop a protected branch, `Neutral` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckConclusion {
    Success,
    Failure,
    Neutral,
    Cancelled,
    ActionRequired,
    Skipped,
    TimedOut,
}

impl CheckConclusion {
    /// GitHub's word.
    pub fn word(self) -> &'static str {
        match self {
            CheckConclusion::Success => "success",
            CheckConclusion::Failure => "failure",
            CheckConclusion::Neutral => "neutral",
            CheckConclusion::Cancelled => "cancelled",
            CheckConclusion::ActionRequired => "action_required",
            CheckConclusion::Skipped => "skipped",
            CheckConclusion::TimedOut => "timed_out",
        }
    }

    /// As GitHub calls it; `None` for a word that is not ours.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::BY_SEVERITY.into_iter().find(|one| one.word() == word)
    }

    /// Of two, the one that counts for both is the greater.
    pub fn severity(self) -> usize {
        Self::BY_SEVERITY.iter().position(|one| *one == self).unwrap_or(Self::BY_SEVERITY.len())
    }

    const BY_SEVERITY: [Self; 7] = [
        Self::Success,
        Self::Skipped,
        Self::Neutral,
        Self::Cancelled,
        Self::TimedOut,
        Self::ActionRequired,
        Self::Failure,
    ];

    /// A status knows fewer words: what does not stop a branch as a check does not as a status.
    pub(super) fn state(self) -> CommitState {
        match self {
            CheckConclusion::Success | CheckConclusion::Neutral | CheckConclusion::Skipped => {
                CommitState::Success
            }
            CheckConclusion::Failure | CheckConclusion::ActionRequired => CommitState::Failure,
            CheckConclusion::Cancelled | CheckConclusion::TimedOut => CommitState::Error,
        }
    }
}

/// How the check of a name stands on a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckStatus {
    /// Number and attempt of the run that wrote it.
    pub run: (u64, u32),
    /// GitHub's word; `None` while it is in progress.
    pub conclusion: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitState {
    Pending,
    Success,
    Failure,
    /// It came to no result.
    Error,
}

impl CommitState {
    pub(super) fn word(self) -> &'static str {
        match self {
            CommitState::Pending => "pending",
            CommitState::Success => "success",
            CommitState::Failure => "failure",
            CommitState::Error => "error",
        }
    }
}
