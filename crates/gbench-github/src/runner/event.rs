//! The event that started a workflow, and its pull request or run.

use crate::api::address::{Sha, Slug};

/// The event that started the workflow. The only place with GitHub's names of events.
#[derive(Clone, Debug, PartialEq, Eq, strum::AsRefStr, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum WorkflowEvent {
    PullRequest,
    PullRequestTarget,
    Push,
    Schedule,
    WorkflowDispatch,
    WorkflowRun,
    MergeGroup,
    IssueComment,
    #[strum(default, transparent)]
    Other(String),
}

/// The pull request that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    pub number: u64,
    /// The last commit of its branch, never the merge commit that GitHub makes to test.
    pub head: Sha,
    pub head_branch: String,
    /// `None`: it was deleted, which only a fork can be.
    pub head_repository: Option<Slug>,
    pub base_branch: String,
    /// The tip of the base branch when the host last looked; of GitLab the commit that the change is shown against. Absent
    /// where the service does not keep the repository.
    pub base: Option<Sha>,
}

/// The workflow run that a `workflow_run` event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowRun {
    pub id: u64,
    pub attempt: u32,
    /// The event that started that run: `pull_request`.
    pub event: String,
    /// `requested`, `in_progress` or `completed`.
    pub action: String,
    /// Absent until it has completed.
    pub conclusion: Option<String>,
    pub head: Sha,
    pub head_branch: String,
    /// `None`: it was deleted, which only a fork can be.
    pub head_repository: Option<Slug>,
    /// The workflow's name, as its author wrote it.
    pub name: String,
    /// `.github/workflows/benchmarks.yml`.
    pub path: Option<String>,
}

impl WorkflowRun {
    pub fn started_by(&self) -> WorkflowEvent {
        self.event.as_str().into()
    }
}
