//! A comparison of two commits, and how it is measured.

use std::path::PathBuf;

use super::measuring::RunRequest;
use super::profile::ProfileRequest;
use crate::model::{Budget, Interleaving, NoReference};
use crate::suite::Gate;

/// How a comparison of two commits is measured; what is absent is as the suite file has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundsRequest {
    pub budget: Option<Budget>,
    pub rounds: Option<u32>,
    pub interleave: Option<Interleaving>,
    pub controls: Option<u32>,
    pub order_seed: Option<u64>,
    pub no_sandbox: bool,
}

impl RoundsRequest {
    pub(crate) fn apply(&self, gate: &mut Gate) {
        gate.budget.set_by_flag("--budget", self.budget);
        gate.rounds.set_by_flag("--rounds", self.rounds);
        gate.interleaving.set_by_flag("--interleave", self.interleave);
        gate.controls.set_by_flag("--controls", self.controls);
        gate.sandbox.set_by_flag("--no-sandbox", self.no_sandbox.then_some(false));
    }
}

/// For whom a comparison is made, as far as the text of notes and faults depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Audience {
    #[default]
    Person,
    /// It has named its base and why.
    Job,
    /// A job about a pull request, whose base the author cannot choose.
    PullRequest,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct CommitsRequest {
    /// As typed; `None` for the default range, or for a comparison that is resumed.
    pub range: Option<String>,
    pub run: RunRequest,
    pub rounds: RoundsRequest,
    pub profile: ProfileRequest,
    pub store: Option<String>,
    /// The comparison to resume: its id or folder; empty: the latest one.
    pub resume: Option<String>,
    pub suite_file: Option<PathBuf>,
    pub fail_inconclusive: bool,
    /// The missing reference, where a commit is compared with itself because there is no other.
    pub no_reference: Option<NoReference>,
    pub audience: Audience,
}
