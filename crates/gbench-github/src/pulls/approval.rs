//! Checks that a maintainer's label allows a fork's code to run. GitHub lets only people with triage rights label, and is
//! asked each time: an event file shows the state at the time of the event.
//!
//! A label stays after another push, so that it must be newer than the code that it allows. GitHub keeps no time of a
//! push to a fork that could not be forged; but the run was made by GitHub when the push arrived, so that a label that is
//! newer than the run was put on after the run's commit was there. A run that a label started carries the head that was
//! labelled. In both cases that commit must still be the head.

use std::time::SystemTime;

use serde::Deserialize;

use super::{GitHubPull, GitHubRun};
use crate::api::address::Sha;
use crate::api::client::Client;
use crate::api::error::{ApiError, ApiResult};

/// Pages of 100 events of a pull request.
const PAGES: u32 = 20;

/// A job of a pull request that asks for leave.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalRequest<'a> {
    pub number: u64,
    pub head: &'a Sha,
    pub run: u64,
    /// The very event of this run is that the label was put on.
    pub by_label: bool,
}

#[derive(Deserialize)]
struct Issue {
    #[serde(default)]
    labels: Vec<Label>,
}

#[derive(Deserialize)]
struct Label {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct IssueEvent {
    event: String,
    created_at: String,
    label: Option<Label>,
}

/// Inner `Err`: why the job may not run, a part of a sentence.
pub fn labelled(client: &Client, asked: ApprovalRequest<'_>, label: &str) -> ApiResult<Result<(), String>> {
    let refused = |why: String| Ok(Err(why));
    let shown = label.escape_debug();
    let is_it = |name: &str| name.to_lowercase() == label.to_lowercase();
    let pull: GitHubPull = client.get(&client.route(&format!("/pulls/{}", asked.number)))?;
    if pull.state != "open" {
        return refused("it is not open".into());
    }
    if pull.head.sha.parse().as_ref() != Ok(asked.head) {
        return refused(format!("it has moved on from {}", asked.head.short()));
    }
    let issue: Issue = client.get(&client.route(&format!("/issues/{}", asked.number)))?;
    if !issue.labels.iter().any(|label| is_it(&label.name)) {
        return refused(format!("it does not have the label `{shown}`"));
    }
    if asked.by_label {
        return Ok(Ok(()));
    }
    let route = client.route(&format!("/actions/runs/{}", asked.run));
    let run: GitHubRun = client.get(&route)?;
    if run.head_sha.parse().as_ref() != Ok(asked.head) {
        return refused(format!("run {} is of another commit", asked.run));
    }
    let begun = time(&route, &run.created_at)?;
    let route = client.route(&format!("/issues/{}/events", asked.number));
    let events: Vec<IssueEvent> = client.pages(&route, None, PAGES)?;
    let mut put_on = None;
    for event in events.iter().filter(|event| event.event == "labeled") {
        if event.label.as_ref().is_some_and(|label| is_it(&label.name)) {
            put_on = put_on.max(Some(time(&route, &event.created_at)?));
        }
    }
    match put_on {
        Some(at) if at > begun => Ok(Ok(())),
        Some(_) => refused(format!("the label `{shown}` is older than this push")),
        None => refused(format!("nothing shows when the label `{shown}` was put on")),
    }
}

fn time(request: &str, text: &str) -> ApiResult<SystemTime> {
    humantime::parse_rfc3339(text).map_err(|error| ApiError::unreadable(request, error))
}
