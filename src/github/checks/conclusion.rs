//! How a check ends, in the words of GitHub, and the same for a commit status.

/// How a check ends, as GitHub calls it: of two, the greater counts for both. `Failure` and `ActionRequired` stop a
/// protected branch, `Neutral` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum CheckConclusion {
    Success,
    Skipped,
    Neutral,
    Cancelled,
    TimedOut,
    ActionRequired,
    Failure,
}

impl CheckConclusion {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub(super) enum CommitState {
    Pending,
    Success,
    Failure,
    /// It came to no result.
    Error,
}
