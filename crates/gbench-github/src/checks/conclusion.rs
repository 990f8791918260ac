//! A check as it is to be reported, how it ends in the words of GitHub, and the same for a commit status.

use super::output::CheckOutput;
use crate::api::address::Sha;
use crate::api::client::Client;

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

/// The state of a check on a commit.
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

/// A check to be written.
#[derive(Clone, Copy)]
pub struct CheckReport<'a> {
    pub client: &'a Client,
    pub name: &'a str,
    pub head: &'a Sha,
    pub external: &'a str,
    pub details_url: Option<&'a str>,
    pub output: &'a CheckOutput,
    /// `None`: it is in progress. An existing one of ours is restarted, unless this run has ended it.
    pub conclusion: Option<CheckConclusion>,
}

/// The form in which GitHub has the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reported {
    /// Number and page of the check.
    Check(u64, String),
    /// A commit status: the token may write no checks.
    Status,
    /// A later run has the check of this commit; nothing was written.
    Superseded,
    /// This very run has ended it already, and a late word of its beginning changes nothing.
    Ended,
}

/// The `external` of a workflow run: later ones of the same commit are not overwritten by earlier ones.
pub fn external(run: u64, attempt: u32) -> String {
    format!("{run}/{attempt}")
}

/// Run and attempt; `None` for what another caller chose.
pub(super) fn order(external: &str) -> Option<(u64, u32)> {
    let (run, attempt) = external.split_once('/')?;
    Some((run.parse().ok()?, attempt.parse().ok()?))
}
