//! A job of GitLab CI.
//!
//! Facts: docs.gitlab.com, "Predefined CI/CD variables reference".

use super::context::{Context, OF_THE_RUNNER, Run, Variables, needed, number, parsed};
use super::event::{PullRequest, WorkflowEvent};
use crate::api::address::{Endpoint, Sha, Slug};
use gbench_model::{Fault, Host, Result};

pub(super) fn read(given: &Variables<'_>) -> Result<Context> {
    let endpoint =
        Endpoint::new(Some(&needed(given, "CI_API_V4_URL")?), Some(&needed(given, "CI_SERVER_URL")?))
            .map_err(|what| Fault::at("CI_API_V4_URL, CI_SERVER_URL", what, OF_THE_RUNNER))?
            .of(Host::GitLab);
    let sha = parsed::<Sha>(given, "CI_COMMIT_SHA")?;
    let pull_request = merge_request(given, &sha)?;
    let event = match needed(given, "CI_PIPELINE_SOURCE")?.as_str() {
        _ if pull_request.is_some() => WorkflowEvent::PullRequest,
        "push" => WorkflowEvent::Push,
        "schedule" => WorkflowEvent::Schedule,
        _ => WorkflowEvent::WorkflowDispatch,
    };
    // A fork's pipeline may be one of the fork's project.
    let project = if pull_request.is_some() { "CI_MERGE_REQUEST_PROJECT_PATH" } else { "CI_PROJECT_PATH" };
    let before = given("CI_COMMIT_BEFORE_SHA").and_then(|text| text.parse::<Sha>().ok());
    let id = number(given, "CI_PIPELINE_ID")?;
    let iid = number(given, "CI_PIPELINE_IID")?.unwrap_or(0);
    Ok(Context {
        before: before.filter(|_| event == WorkflowEvent::Push),
        event,
        slug: path(given, project)?,
        endpoint,
        branch: given("CI_COMMIT_BRANCH"),
        default_branch: given("CI_DEFAULT_BRANCH"),
        head: pull_request.as_ref().map_or_else(|| sha.clone(), |pull| pull.head.clone()),
        sha,
        pull_request,
        workflow_run: None,
        comment: None,
        // A job that is run again is one of the same pipeline, and its answer replaces the earlier one.
        run: id.map(|id| Run { id, attempt: 1, number: iid }),
        page: given("CI_PIPELINE_URL"),
        deleted: false,
    })
}

fn merge_request(given: &Variables<'_>, sha: &Sha) -> Result<Option<PullRequest>> {
    let Some(number) = number(given, "CI_MERGE_REQUEST_IID")? else { return Ok(None) };
    // Only the pipeline of a merged result has another commit.
    let head = match given("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") {
        Some(_) => parsed::<Sha>(given, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")?,
        None => sha.clone(),
    };
    Ok(Some(PullRequest {
        number,
        head,
        head_branch: needed(given, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME")?,
        // Not set where the fork is gone.
        head_repository: match given("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH") {
            Some(_) => Some(path(given, "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH")?),
            None => None,
        },
        base_branch: needed(given, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME")?,
        base: Some(parsed::<Sha>(given, "CI_MERGE_REQUEST_DIFF_BASE_SHA")?),
    }))
}

/// Groups may contain groups.
fn path(given: &Variables<'_>, name: &str) -> Result<Slug> {
    Slug::nested(&needed(given, name)?).map_err(|what| Fault::at(name, what, OF_THE_RUNNER))
}
