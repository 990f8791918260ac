//! The job as the runner describes it, read once and checked. Everything that decides whose code is judged, and where an
//! answer may go, comes from here.

use super::event::{PullRequest, WorkflowEvent, WorkflowRun};
use crate::api::address::{Endpoint, Sha, Slug};
use gbench_model::{Fault, Host, Result};

/// The workflow run that this job is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub id: u64,
    pub attempt: u32,
    pub number: u64,
}

/// A job, in GitHub's words for events.
#[derive(Clone, Debug)]
pub struct Context {
    pub event: WorkflowEvent,
    pub slug: Slug,
    pub endpoint: Endpoint,
    /// The commit that is checked out. For a pull request it may be a merge commit that the host made.
    pub sha: Sha,
    /// Absent where the event is about a tag or a pull request.
    pub branch: Option<String>,
    /// Absent where the event file does not say; of a schedule it is the branch that it runs on.
    pub default_branch: Option<String>,
    /// For every event that carries one, reviews among them.
    pub pull_request: Option<PullRequest>,
    pub workflow_run: Option<WorkflowRun>,
    /// Number of the comment that an `issue_comment` event is about. Nothing else of it is read: GitHub is asked.
    pub comment: Option<u64>,
    pub run: Option<Run>,
    /// The address of the run's page; `None`: it follows from the run's number.
    pub page: Option<String>,
    /// The commit of the branch before a push, or the one that a merge group was put on.
    pub before: Option<Sha>,
    /// The commit that is judged: the head of the pull request, of the merge group or of the other run, else `sha`.
    pub head: Sha,
    /// A push that removed its branch or tag: there is nothing to judge.
    pub deleted: bool,
}

impl Context {
    /// True if the judged code comes from another repository, or from one that is gone.
    pub fn is_fork(&self) -> bool {
        let foreign = |slug: &Option<Slug>| slug.as_ref() != Some(&self.slug);
        self.pull_request.as_ref().is_some_and(|pull| foreign(&pull.head_repository))
            || self.workflow_run.as_ref().is_some_and(|run| foreign(&run.head_repository))
    }

    /// True for a run of the default branch itself. Only these belong to the history.
    pub fn on_default_branch(&self) -> bool {
        let own = matches!(
            self.event,
            WorkflowEvent::Push | WorkflowEvent::Schedule | WorkflowEvent::WorkflowDispatch
        );
        own && !self.deleted && self.branch.is_some() && self.branch == self.default_branch
    }

    pub fn host(&self) -> Host {
        self.endpoint.host
    }

    /// The repository's name; Buildkite keeps none.
    pub fn repository(&self) -> Option<String> {
        (self.host() != Host::Buildkite).then(|| self.slug.to_string())
    }

    /// The commit that shows a check of this job: GitLab's statuses are those of the pipeline's commit.
    pub fn reported(&self) -> &Sha {
        if self.host() == Host::GitLab { &self.sha } else { &self.head }
    }

    pub fn run_url(&self) -> Option<String> {
        if self.page.is_some() {
            return self.page.clone();
        }
        let run = self.run.as_ref()?;
        Some(self.page_of(run.id, run.attempt))
    }

    pub fn page_of(&self, run: u64, attempt: u32) -> String {
        // Gitea has one page of a run for all attempts.
        let is_shown = attempt > 1 && self.host() == Host::GitHub;
        let attempt = if is_shown { format!("/attempts/{attempt}") } else { String::new() };
        format!("{}/{}/actions/runs/{run}{attempt}", self.endpoint.server, self.slug)
    }
}

/// Variables of a job; an empty one counts as not set.
pub(super) type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

pub(super) const OF_THE_RUNNER: &str = "leave the variables of the runner as they are; outside of a job unset the one that marks a job, such as GITHUB_ACTIONS";

pub(super) fn needed(given: &Variables<'_>, name: &str) -> Result<String> {
    let what = "is not set, although this is a job of CI";
    given(name).ok_or_else(|| Fault::at(name, what, OF_THE_RUNNER))
}

pub(super) fn parsed<T: std::str::FromStr<Err = String>>(given: &Variables<'_>, name: &str) -> Result<T> {
    needed(given, name)?.parse().map_err(|what| Fault::at(name, what, OF_THE_RUNNER))
}

pub(super) fn number(given: &Variables<'_>, name: &str) -> Result<Option<u64>> {
    let Some(text) = given(name) else { return Ok(None) };
    let what = || format!("`{}` is not a whole number", text.escape_debug());
    text.parse().map(Some).map_err(|_| Fault::at(name, what(), OF_THE_RUNNER))
}
