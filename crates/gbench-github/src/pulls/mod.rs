//! Which pull request is meant, as GitHub itself says: by repository, branch and commit of a finished run, never by a
//! number that the run brought along.

pub mod approval;
pub mod people;

use std::time::SystemTime;

use serde::Deserialize;

use crate::api::address::{Sha, Slug, encoded};
use crate::api::client::Client;
use crate::api::error::{ApiError, ApiResult};
use crate::runner::event::{WorkflowEvent, WorkflowRun};
use gbench_model::Host;

/// Pages of 100 open pull requests from one branch.
const PAGES: u32 = 3;

/// Pages of 100 pull requests that are closed, those that changed last.
const CLOSED_PAGES: u32 = 5;

/// Pages of 100 commits between two.
const COMPARED_PAGES: u32 = 10;

/// An open pull request, found from the run that measured it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPull {
    pub number: u64,
    pub head: Sha,
    pub base_branch: String,
}

#[derive(Deserialize)]
pub(crate) struct GitHubPull {
    number: u64,
    #[serde(default)]
    pub(crate) state: String,
    pub(crate) head: PullEnd,
    #[serde(default)]
    base: PullEnd,
    #[serde(default, alias = "is_locked")]
    locked: bool,
    merged_at: Option<String>,
    merge_commit_sha: Option<String>,
}

/// GitLab's form of a pull request.
#[derive(Deserialize)]
struct MergeRequest {
    #[serde(default)]
    sha: String,
    discussion_locked: Option<bool>,
}

#[derive(Default, Deserialize)]
pub(crate) struct PullEnd {
    #[serde(default)]
    pub(crate) sha: String,
    #[serde(default, rename = "ref")]
    branch: String,
    /// `None` where the fork is gone.
    repo: Option<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
}

#[derive(Deserialize)]
pub(crate) struct GitHubRun {
    id: u64,
    #[serde(default)]
    event: String,
    #[serde(default)]
    pub(crate) created_at: String,
    #[serde(default)]
    pub(crate) head_sha: String,
    head_branch: Option<String>,
    head_repository: Option<Repository>,
    path: Option<String>,
    name: Option<String>,
    run_attempt: Option<u32>,
    conclusion: Option<String>,
}

impl PullEnd {
    fn is_of(&self, slug: &Slug) -> bool {
        self.repo.as_ref().is_some_and(|repository| repository.is(slug))
    }
}

impl Repository {
    fn is(&self, slug: &Slug) -> bool {
        self.full_name.parse::<Slug>().as_ref() == Ok(slug)
    }
}

/// A pull request, open or not, as GitHub has it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPull {
    pub number: u64,
    pub head: Sha,
    pub head_branch: String,
    /// `None` where the fork is gone.
    pub head_repository: Option<Slug>,
    pub is_open: bool,
    pub is_merged: bool,
}

/// Reads a pull request. `None`: there is none of this number. Errors: GitHub, or an answer that names no head.
pub fn known(client: &Client, number: u64) -> ApiResult<Option<KnownPull>> {
    let route = client.route(&format!("/pulls/{number}"));
    let Some(pull) = client.find::<GitHubPull>(&route)? else { return Ok(None) };
    Ok(Some(KnownPull {
        number,
        head: pull.head.sha.parse().map_err(|cause: String| ApiError::unreadable(&route, cause))?,
        head_branch: pull.head.branch.clone(),
        head_repository: pull.head.repo.and_then(|repository| repository.full_name.parse().ok()),
        is_open: pull.state == "open",
        is_merged: pull.merged_at.is_some(),
    }))
}

/// A pull request that came to its branch, and the commit with which it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedPull {
    pub number: u64,
    pub merged_as: Sha,
    /// RFC 3339, as GitHub writes it: in UTC, so that later is greater.
    pub merged_at: String,
}

/// The pull requests that were merged into a branch by one of these commits, of those that changed last.
pub fn merged_by(client: &Client, branch: &str, commits: &[Sha]) -> ApiResult<Vec<MergedPull>> {
    let query = format!("state=closed&base={}&sort=updated&direction=desc", encoded(branch));
    let pulls: Vec<GitHubPull> =
        client.pages(&client.route(&format!("/pulls?{query}")), None, CLOSED_PAGES)?;
    let merged = |pull: &GitHubPull| {
        let merged_as: Sha = pull.merge_commit_sha.as_deref()?.parse().ok()?;
        let is_in = pull.merged_at.is_some() && pull.base.branch == branch && commits.contains(&merged_as);
        let merged_at = pull.merged_at.clone().unwrap_or_default();
        is_in.then_some(MergedPull { number: pull.number, merged_as, merged_at })
    };
    let mut found: Vec<MergedPull> = pulls.iter().filter_map(merged).collect();
    found.sort_by_key(|pull| pull.number);
    Ok(found)
}

#[derive(Deserialize)]
struct ComparedCommit {
    sha: Sha,
}

/// The commits after one up to another, as far as GitHub lists them: the oldest 1,000.
pub fn commits_between(client: &Client, base: &Sha, head: &Sha) -> ApiResult<Vec<Sha>> {
    let route = client.route(&format!("/compare/{base}...{head}"));
    let commits: Vec<ComparedCommit> = client.pages(&route, Some("commits"), COMPARED_PAGES)?;
    Ok(commits.into_iter().map(|commit| commit.sha).collect())
}

/// Reads a finished run, with what a `workflow_run` event would say of it. `None`: there is no such run, or it is not
/// finished.
pub fn finished_run(client: &Client, id: u64) -> ApiResult<Option<FinishedRun>> {
    let route = client.route(&format!("/actions/runs/{id}"));
    let Some(run) = client.find::<GitHubRun>(&route)? else { return Ok(None) };
    let Some(conclusion) = run.conclusion else { return Ok(None) };
    let created = humantime::parse_rfc3339(&run.created_at);
    Ok(Some(FinishedRun {
        created: created.map_err(|error| ApiError::unreadable(&route, error))?,
        run: WorkflowRun {
            id: run.id,
            attempt: run.run_attempt.unwrap_or(1),
            event: run.event,
            action: "completed".into(),
            conclusion: Some(conclusion),
            head: run.head_sha.parse().map_err(|cause: String| ApiError::unreadable(&route, cause))?,
            head_branch: run.head_branch.unwrap_or_default(),
            head_repository: run.head_repository.and_then(|repository| repository.full_name.parse().ok()),
            name: run.name.unwrap_or_default(),
            path: run.path,
        },
    }))
}

/// A run, and when GitHub made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedRun {
    pub run: WorkflowRun,
    pub created: SystemTime,
}

/// The commit that a pull request asks to merge. Errors: there is no such pull request, or its answer names none.
pub fn head_of(client: &Client, number: u64) -> ApiResult<Sha> {
    let (route, sha) = match client.host() {
        Host::GitLab => {
            let route = client.route(&format!("/merge_requests/{number}"));
            let sha = client.get::<MergeRequest>(&route)?.sha;
            (route, sha)
        }
        _ => {
            let route = client.route(&format!("/pulls/{number}"));
            let sha = client.get::<GitHubPull>(&route)?.head.sha;
            (route, sha)
        }
    };
    let unreadable = |cause| ApiError::Unreadable { request: client.asked(format!("GET {route}")), cause };
    sha.parse().map_err(unreadable)
}

/// True if the conversation of a pull request is locked: then only people with write access may comment.
pub(crate) fn is_locked(client: &Client, number: u64) -> ApiResult<bool> {
    match client.host() {
        Host::GitLab => {
            let route = client.route(&format!("/merge_requests/{number}"));
            Ok(client.get::<MergeRequest>(&route)?.discussion_locked == Some(true))
        }
        _ => client.get::<GitHubPull>(&client.route(&format!("/pulls/{number}"))).map(|pull| pull.locked),
    }
}

fn of_branch(client: &Client, from: &Slug, branch: &str) -> ApiResult<Vec<GitHubPull>> {
    let head = encoded(&format!("{}:{branch}", from.owner()));
    let mut pulls: Vec<GitHubPull> =
        client.pages(&client.route(&format!("/pulls?state=open&head={head}")), None, PAGES)?;
    // The server may have understood the query otherwise.
    pulls
        .retain(|pull| pull.head.branch == branch && pull.head.is_of(from) && pull.base.is_of(client.slug()));
    Ok(pulls)
}

fn at_commit(pulls: &[GitHubPull], head: &Sha) -> Vec<OpenPull> {
    let here = pulls.iter().filter(|pull| pull.head.sha.parse().as_ref() == Ok(head));
    let open = |pull: &GitHubPull| OpenPull {
        number: pull.number,
        head: head.clone(),
        base_branch: pull.base.branch.clone(),
    };
    let mut open: Vec<OpenPull> = here.map(open).collect();
    open.sort_by_key(|pull| pull.number);
    open
}

/// The open pull requests that share a branch and a commit, the oldest first: a check on the commit is one of all of
/// them.
pub fn sharing(client: &Client, from: &Slug, branch: &str, head: &Sha) -> ApiResult<Vec<OpenPull>> {
    Ok(at_commit(&of_branch(client, from, branch)?, head))
}

/// The reason why no pull request of a run is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPull {
    /// A sentence without a period.
    pub why: String,
    /// It went on, or was closed: no reader waits for this answer. Otherwise something is odd, and nothing may turn
    /// green.
    pub is_over: bool,
}

impl NoPull {
    fn odd(why: String) -> Self {
        Self { why, is_over: false }
    }

    fn over(why: String) -> Self {
        Self { why, is_over: true }
    }
}

/// Compares GitHub's description of a run with the event file. `Err`: the difference.
pub fn confirmed(client: &Client, run: &WorkflowRun) -> ApiResult<Result<(), NoPull>> {
    let Some(from) = &run.head_repository else {
        return Ok(Err(NoPull::odd(format!("the repository that run {} comes from is gone", run.id))));
    };
    let known: GitHubRun = client.get(&client.route(&format!("/actions/runs/{}", run.id)))?;
    Ok(match disagreement(&known, run, from) {
        Some(field) => {
            let why = format!("GitHub's `{field}` of run {} is not that of the event file", run.id);
            Err(NoPull::odd(why))
        }
        None => Ok(()),
    })
}

/// The open pull requests that a finished run may have measured, the oldest first, or why there is none that it could be.
///
/// `run` comes from the event file. GitHub is asked for the run once more and has to agree; then for the open pull
/// requests of its repository and branch whose head is its commit. There are several where one branch is to be merged
/// into several others, and GitHub does not name the one that a run is for.
pub fn of_run(client: &Client, run: &WorkflowRun) -> ApiResult<Result<Vec<OpenPull>, NoPull>> {
    let Some(from) = &run.head_repository else {
        return Ok(Err(NoPull::odd(format!("the repository that run {} comes from is gone", run.id))));
    };
    if !matches!(run.started_by(), WorkflowEvent::PullRequest | WorkflowEvent::PullRequestTarget) {
        let event = run.event.escape_debug();
        let why = format!("run {} was started by `{event}`, not by a pull request", run.id);
        return Ok(Err(NoPull::odd(why)));
    }
    if let Err(why) = confirmed(client, run)? {
        return Ok(Err(why));
    }
    let pulls = of_branch(client, from, &run.head_branch)?;
    let here = at_commit(&pulls, &run.head);
    let branch = format!("branch `{}` of {from}", run.head_branch.escape_debug());
    Ok(match (here.is_empty(), pulls.is_empty()) {
        (false, _) => Ok(here),
        (true, true) => Err(NoPull::over(format!("no open pull request comes from {branch}"))),
        (true, false) => Err(NoPull::over(format!("{branch} has moved on from {}", run.head.short()))),
    })
}

/// The first field of a run in which GitHub contradicts the event file.
fn disagreement(known: &GitHubRun, run: &WorkflowRun, from: &Slug) -> Option<&'static str> {
    // GitHub adds `@BRANCH` to the path in some answers.
    let file =
        |path: &Option<String>| path.as_deref().and_then(|path| path.split('@').next().map(str::to_owned));
    let paths = (file(&known.path), file(&run.path));
    [
        ("id", known.id == run.id),
        ("event", known.event == run.event),
        ("head_sha", known.head_sha.parse().as_ref() == Ok(&run.head)),
        ("head_branch", known.head_branch.as_deref() == Some(run.head_branch.as_str())),
        ("head_repository", known.head_repository.as_ref().is_some_and(|repository| repository.is(from))),
        ("path", paths.0.is_none() || paths.1.is_none() || paths.0 == paths.1),
    ]
    .into_iter()
    .find_map(|(field, agrees)| (!agrees).then_some(field))
}
