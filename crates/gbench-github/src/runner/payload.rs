//! The fields of an event file that matter, and nothing else of it: GitHub adds fields, `act` leaves some out.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::event::{PullRequest, WorkflowEvent, WorkflowRun};
use crate::api::address::{Sha, Slug};
use gbench_model::{Fault, Result};

/// An event file, taken apart as far as an event's kind asks for it.
pub(crate) struct Payload {
    root: Value,
    pub deleted: bool,
}

#[derive(Deserialize)]
struct RawPull {
    number: u64,
    head: RawEnd,
    base: RawEnd,
}

/// One end of a pull request.
#[derive(Deserialize)]
struct RawEnd {
    sha: String,
    #[serde(rename = "ref")]
    branch: String,
    repo: Option<RawRepository>,
}

#[derive(Deserialize)]
struct RawRepository {
    full_name: String,
}

#[derive(Deserialize)]
struct RawRun {
    id: u64,
    run_attempt: Option<u32>,
    event: String,
    conclusion: Option<String>,
    head_sha: String,
    head_branch: Option<String>,
    head_repository: Option<RawRepository>,
    name: Option<String>,
    path: Option<String>,
}

#[derive(Deserialize)]
struct RawComment {
    id: u64,
}

#[derive(Deserialize)]
struct RawGroup {
    head_sha: String,
    base_sha: String,
}

impl Payload {
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self> {
        let fault = |what: String| Fault::at_path(path, what, NEXT);
        let root: Value = serde_json::from_str(text)
            .map_err(|error| fault(format!("the event file is not JSON: {error}")))?;
        if !root.is_object() {
            return Err(fault("the event file is not a JSON object".into()));
        }
        let deleted = root.get("deleted").and_then(Value::as_bool).unwrap_or(false);
        Ok(Self { root, deleted })
    }

    /// A part of the file in its documented form; `None` where there is none, or null.
    fn part<T: serde::de::DeserializeOwned>(&self, path: &Path, name: &str) -> Result<Option<T>> {
        match self.root.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match T::deserialize(value) {
                Ok(part) => Ok(Some(part)),
                Err(error) => Err(wrong(path, name, error)),
            },
        }
    }

    /// Of any event: a review of a pull request runs its merge commit just as well.
    pub(crate) fn pull_request(&self, path: &Path, event: &WorkflowEvent) -> Result<Option<PullRequest>> {
        let Some(raw) = self.part::<RawPull>(path, "pull_request")? else {
            return match event {
                WorkflowEvent::PullRequest | WorkflowEvent::PullRequestTarget => {
                    Err(missing(path, "pull_request", event.as_ref()))
                }
                _ => Ok(None),
            };
        };
        Ok(Some(PullRequest {
            number: raw.number,
            head: sha(path, "pull_request.head.sha", &raw.head.sha)?,
            head_branch: raw.head.branch,
            head_repository: slug(path, "pull_request.head.repo.full_name", raw.head.repo)?,
            base_branch: raw.base.branch,
            base: Some(sha(path, "pull_request.base.sha", &raw.base.sha)?),
        }))
    }

    pub(crate) fn workflow_run(&self, path: &Path, event: &WorkflowEvent) -> Result<Option<WorkflowRun>> {
        if *event != WorkflowEvent::WorkflowRun {
            return Ok(None);
        }
        let raw = self.part::<RawRun>(path, "workflow_run")?;
        let raw = raw.ok_or_else(|| missing(path, "workflow_run", event.as_ref()))?;
        let action = self.root.get("action").and_then(Value::as_str);
        Ok(Some(WorkflowRun {
            id: raw.id,
            attempt: raw.run_attempt.unwrap_or(1),
            event: raw.event,
            action: action.ok_or_else(|| missing(path, "action", event.as_ref()))?.to_owned(),
            conclusion: raw.conclusion,
            head: sha(path, "workflow_run.head_sha", &raw.head_sha)?,
            head_branch: raw.head_branch.unwrap_or_default(),
            head_repository: slug(path, "workflow_run.head_repository.full_name", raw.head_repository)?,
            name: raw.name.unwrap_or_default(),
            path: raw.path,
        }))
    }

    /// The number of the comment that was written.
    pub(crate) fn comment(&self, path: &Path, event: &WorkflowEvent) -> Result<Option<u64>> {
        if *event != WorkflowEvent::IssueComment {
            return Ok(None);
        }
        let raw = self.part::<RawComment>(path, "comment")?;
        raw.map(|comment| Some(comment.id)).ok_or_else(|| missing(path, "comment", event.as_ref()))
    }

    /// Head and base of a merge group.
    pub(crate) fn merge_group(&self, path: &Path, event: &WorkflowEvent) -> Result<Option<(Sha, Sha)>> {
        if *event != WorkflowEvent::MergeGroup {
            return Ok(None);
        }
        let raw = self.part::<RawGroup>(path, "merge_group")?;
        let raw = raw.ok_or_else(|| missing(path, "merge_group", event.as_ref()))?;
        let head = sha(path, "merge_group.head_sha", &raw.head_sha)?;
        Ok(Some((head, sha(path, "merge_group.base_sha", &raw.base_sha)?)))
    }

    /// The commit of the branch before a push; `None` of a new branch: GitHub then sends zeros.
    pub(crate) fn before(&self, path: &Path) -> Result<Option<Sha>> {
        match self.root.get("before").and_then(Value::as_str) {
            None | Some("") => Ok(None),
            Some(text) if text.bytes().all(|byte| byte == b'0') => Ok(None),
            Some(text) => sha(path, "before", text).map(Some),
        }
    }

    pub(crate) fn default_branch(&self) -> Option<String> {
        let branch = self.root.get("repository")?.get("default_branch")?.as_str()?;
        Some(branch.to_owned()).filter(|branch| !branch.is_empty())
    }
}

const NEXT: &str = "give the event file as GitHub wrote it";

fn wrong(path: &Path, field: &str, what: impl std::fmt::Display) -> Fault {
    Fault::at_path(path, format!("`{field}` of the event: {what}"), NEXT)
}

fn missing(path: &Path, field: &str, event: &str) -> Fault {
    Fault::at_path(path, format!("an event `{}` has no `{field}` here", event.escape_debug()), NEXT)
}

fn sha(path: &Path, field: &str, text: &str) -> Result<Sha> {
    text.parse().map_err(|what: String| wrong(path, field, what))
}

fn slug(path: &Path, field: &str, raw: Option<RawRepository>) -> Result<Option<Slug>> {
    let read = raw.map(|raw| raw.full_name.parse::<Slug>()).transpose();
    read.map_err(|what| wrong(path, field, what))
}
