//! A commit's status: less than a check, but any token that may write statuses can set one.

use serde::Deserialize;
use serde_json::json;

use super::conclusion::{CheckConclusion, CheckReport, CheckStatus, CommitState, Reported, order};
use super::output::cut;
use crate::api::address::{Sha, encoded};
use crate::api::client::Client;
use crate::api::error::ApiResult;
use gbench_model::Host;

/// Characters of a description; counted here in bytes, which are never fewer.
const DESCRIPTION: usize = 140;
const PAGES: u32 = 10;

/// As GitHub sends it. Gitea calls the state `status`, and so does GitLab, where the context is the `name`.
#[derive(Deserialize)]
struct Status {
    #[serde(default, alias = "name")]
    context: String,
    #[serde(default, alias = "status")]
    state: String,
    description: Option<String>,
    target_url: Option<String>,
}

/// The run and attempt that a status links to: `.../actions/runs/5/attempts/2`, `.../-/pipelines/5`. It has no other room
/// for them.
fn run_of(url: &str) -> Option<(u64, u32)> {
    if let Some((_, pipeline)) = url.rsplit_once("/-/pipelines/") {
        return Some((pipeline.parse().ok()?, 1));
    }
    let (_, rest) = url.rsplit_once("/actions/runs/")?;
    let mut parts = rest.split('/');
    let run = parts.next()?.parse().ok()?;
    match (parts.next(), parts.next()) {
        (None, _) => Some((run, 1)),
        (Some("attempts"), Some(attempt)) => Some((run, attempt.parse().ok()?)),
        _ => None,
    }
}

pub(super) fn stand(client: &Client, context: &str, head: &Sha) -> ApiResult<Option<CheckStatus>> {
    let last = last(client, context, head)?;
    Ok(last.and_then(|status| {
        let run = run_of(status.target_url.as_deref()?)?;
        let is = |state: CommitState| status.state == word(client.host(), state);
        let word = if is(CommitState::Success) { CheckConclusion::Success } else { CheckConclusion::Failure }
            .into_str();
        let conclusion = Some(word.to_owned()).filter(|_| !is(CommitState::Pending));
        Some(CheckStatus { run, conclusion })
    }))
}

fn last(client: &Client, context: &str, head: &Sha) -> ApiResult<Option<Status>> {
    let all: Vec<Status> = match client.host() {
        Host::GitLab => {
            let name = encoded(context);
            let route = client.route(&format!("/repository/commits/{head}/statuses?name={name}"));
            // In the order of their making, one of each name and pipeline.
            let mut all: Vec<Status> = client.pages(&route, None, PAGES)?;
            all.reverse();
            all
        }
        _ => client.pages(&client.route(&format!("/commits/{head}/status")), Some("statuses"), PAGES)?,
    };
    Ok(all.into_iter().find(|status| status.context == context))
}

/// The word for a state. GitLab would offer to run a cancelled status again.
fn word(host: Host, state: CommitState) -> &'static str {
    match (host, state) {
        (Host::GitLab, CommitState::Pending) => "running",
        (Host::GitLab, CommitState::Failure | CommitState::Error) => "failed",
        (_, state) => state.into_str(),
    }
}

/// Sets the commit's status of the check's name. The last one wins, and GitHub takes at most 1,000: an equal one is left
/// as it is, and so is one of a later run.
pub(super) fn set(report: &CheckReport<'_>) -> ApiResult<Reported> {
    let (client, context, head) = (report.client, report.name, report.head);
    let state = report.conclusion.map_or(CommitState::Pending, CheckConclusion::state);
    let state_word = word(client.host(), state);
    let description = cut(&report.output.title, DESCRIPTION);
    let says_so = |status: &Status| {
        status.state == state_word
            && status.description.as_deref().unwrap_or_default() == description
            && status.target_url.as_deref().unwrap_or_default() == report.details_url.unwrap_or_default()
    };
    if let Some(there) = last(client, context, head)? {
        if says_so(&there) {
            return Ok(Reported::Status);
        }
        let mine = order(report.external);
        let run = there.target_url.as_deref().and_then(run_of);
        if mine.is_some() && run > mine {
            return Ok(Reported::Superseded);
        }
        let has_ended = there.state != word(client.host(), CommitState::Pending);
        if mine.is_some() && run == mine && state == CommitState::Pending && has_ended {
            return Ok(Reported::Ended);
        }
    }
    let mut body = json!({ "context": context, "state": state_word, "description": description });
    // Else GitLab makes a pipeline for the branch.
    if let (Host::GitLab, Some((pipeline, _))) = (client.host(), order(report.external)) {
        body["pipeline_id"] = json!(pipeline);
    }
    if let Some(url) = report.details_url {
        body["target_url"] = json!(url);
    }
    let is_there = || Ok(last(client, context, head)?.filter(&says_so));
    client.create(&client.route(&format!("/statuses/{head}")), &body, is_there)?;
    Ok(Reported::Status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_of_a_status_is_read_from_its_link() {
        for (url, run) in [
            ("https://github.com/o/r/actions/runs/5", Some((5, 1))),
            ("https://github.com/o/r/actions/runs/5/attempts/2", Some((5, 2))),
            ("https://github.com/o/r/actions/runs/5/job/7", None),
            ("https://github.com/o/r/actions/runs/x", None),
            ("https://ci.example.com/5", None),
            ("https://gitlab.example.com/a/b/c/-/pipelines/5", Some((5, 1))),
            ("https://gitlab.example.com/a/b/c/-/pipelines/x", None),
        ] {
            assert_eq!(run_of(url), run, "{url}");
        }
    }
}
