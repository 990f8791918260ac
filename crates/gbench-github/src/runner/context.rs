//! The job as the runner describes it: its variables and the event file, read once and checked. Everything that decides
//! whose code is judged, and where an answer may go, comes from here.
//!
//! Facts: docs.github.com, "Events that trigger workflows" and "Webhook events and payloads". docs/github.md says of each
//! field that is read where it is documented and what happens without it.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::event::{PullRequest, WorkflowEvent, WorkflowRun};
use super::payload::Payload;
use crate::api::address::{Endpoint, Sha, Slug};
use gbench_model::{Fault, Result};

/// Bytes; GitHub sends no webhook above 25 MB.
const LARGEST_EVENT: u64 = 32 << 20;

/// The workflow run that this job is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub id: u64,
    pub attempt: u32,
    pub number: u64,
}

/// A job of GitHub Actions.
#[derive(Clone, Debug)]
pub struct Context {
    pub event: WorkflowEvent,
    pub slug: Slug,
    pub endpoint: Endpoint,
    /// `GITHUB_SHA`. For a pull request it is a merge commit that GitHub made.
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
    /// The commit of the branch before a push, or the one that a merge group was put on.
    pub before: Option<Sha>,
    /// The commit that is judged: the head of the pull request, of the merge group or of the other run, else `sha`.
    pub head: Sha,
    /// A push that removed its branch or tag: there is nothing to judge.
    pub deleted: bool,
}

impl Context {
    /// Reads the job from its environment. `None`: this is not a job of GitHub Actions.
    ///
    /// Errors: a variable or a field of the event file that is missing or is not what GitHub documents. Exit code 2.
    pub fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        if given("GITHUB_ACTIONS").as_deref() != Some("true") {
            return Ok(None);
        }
        let event = WorkflowEvent::from(needed(&given, "GITHUB_EVENT_NAME")?.as_str());
        let slug = parsed::<Slug>(&given, "GITHUB_REPOSITORY")?;
        let endpoint =
            Endpoint::new(given("GITHUB_API_URL").as_deref(), given("GITHUB_SERVER_URL").as_deref())
                .map_err(|what| Fault::at("GITHUB_API_URL, GITHUB_SERVER_URL", what, OF_THE_RUNNER))?;
        let path = PathBuf::from(needed(&given, "GITHUB_EVENT_PATH")?);
        let payload = Payload::parse(&path, &text_of(&path)?)?;

        let pull_request = payload.pull_request(&path, &event)?;
        let workflow_run = payload.workflow_run(&path, &event)?;
        let merge_group = payload.merge_group(&path, &event)?;
        let comment = payload.comment(&path, &event)?;
        let deleted = event == WorkflowEvent::Push && payload.deleted;
        let before = match (&event, &merge_group) {
            (WorkflowEvent::Push, _) => payload.before(&path)?,
            (_, Some((_, base))) => Some(base.clone()),
            _ => None,
        };
        let sha = match (parsed::<Sha>(&given, "GITHUB_SHA"), &before) {
            // A branch that was removed has no commit any more.
            (Err(_), Some(before)) if deleted => before.clone(),
            (sha, _) => sha?,
        };
        let head = match (&pull_request, &workflow_run, &merge_group) {
            (Some(pull), ..) => pull.head.clone(),
            (_, Some(run), _) => run.head.clone(),
            (.., Some((head, _))) => head.clone(),
            _ => sha.clone(),
        };
        let branch = given("GITHUB_REF").and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned));
        let default_branch = match (payload.default_branch(), &event) {
            // GitHub starts a schedule on the default branch alone. GitHub Enterprise Server before the autumn of 2022
            // and Gitea say nothing but the schedule in its event file.
            (None, WorkflowEvent::Schedule) => branch.clone(),
            (told, _) => told,
        };
        Ok(Some(Self {
            event,
            slug,
            endpoint,
            sha,
            branch,
            default_branch,
            pull_request,
            workflow_run,
            comment,
            run: run(&given)?,
            before,
            head,
            deleted,
        }))
    }

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

    pub fn run_url(&self) -> Option<String> {
        let run = self.run.as_ref()?;
        Some(self.page_of(run.id, run.attempt))
    }

    pub fn page_of(&self, run: u64, attempt: u32) -> String {
        let attempt = if attempt > 1 { format!("/attempts/{attempt}") } else { String::new() };
        format!("{}/{}/actions/runs/{run}{attempt}", self.endpoint.server, self.slug)
    }
}

const OF_THE_RUNNER: &str =
    "leave the variables of the runner as they are; outside of a job unset GITHUB_ACTIONS";

fn needed(given: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<String> {
    given(name).ok_or_else(|| Fault::at(name, "is not set, although GITHUB_ACTIONS is `true`", OF_THE_RUNNER))
}

fn parsed<T: std::str::FromStr<Err = String>>(
    given: &dyn Fn(&str) -> Option<String>,
    name: &str,
) -> Result<T> {
    needed(given, name)?.parse().map_err(|what| Fault::at(name, what, OF_THE_RUNNER))
}

fn run(given: &dyn Fn(&str) -> Option<String>) -> Result<Option<Run>> {
    let Some(id) = number(given, "GITHUB_RUN_ID")? else { return Ok(None) };
    let attempt = number(given, "GITHUB_RUN_ATTEMPT")?.unwrap_or(1).try_into().unwrap_or(u32::MAX);
    Ok(Some(Run { id, attempt, number: number(given, "GITHUB_RUN_NUMBER")?.unwrap_or(0) }))
}

fn number(given: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<Option<u64>> {
    let Some(text) = given(name) else { return Ok(None) };
    let what = || format!("`{}` is not a whole number", text.escape_debug());
    text.parse().map(Some).map_err(|_| Fault::at(name, what(), OF_THE_RUNNER))
}

fn text_of(path: &Path) -> Result<String> {
    let fault = |what: String| Fault::at_path(path, what, "give the event's JSON in GITHUB_EVENT_PATH");
    let mut text = String::new();
    let opened = std::fs::File::open(path);
    let read = opened.and_then(|file| file.take(LARGEST_EVENT + 1).read_to_string(&mut text));
    match read {
        Err(error) => Err(fault(format!("the event file cannot be read: {error}"))),
        Ok(bytes) if bytes as u64 > LARGEST_EVENT => {
            Err(fault("the event file is larger than 32 MiB".into()))
        }
        Ok(_) => Ok(text),
    }
}
