//! A commit's status: less than a check, but any token that may write statuses can set one.

use serde::Deserialize;
use serde_json::json;

use super::conclusion::{CheckConclusion, CheckReport, CheckStatus, CommitState, Reported, order};
use super::output::cut;
use crate::api::address::Sha;
use crate::api::client::Client;
use crate::api::error::ApiResult;

/// Characters of a description; counted here in bytes, which are never fewer.
const DESCRIPTION: usize = 140;
const PAGES: u32 = 10;

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    context: String,
    #[serde(default)]
    state: String,
    description: Option<String>,
    target_url: Option<String>,
}

/// The run and attempt that a status links to: `.../actions/runs/5/attempts/2`. It has no other room for them.
fn run_of(url: &str) -> Option<(u64, u32)> {
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
        let is_success = status.state == CommitState::Success.into_str();
        let word = if is_success { CheckConclusion::Success } else { CheckConclusion::Failure }.into_str();
        let conclusion = Some(word.to_owned()).filter(|_| status.state != CommitState::Pending.into_str());
        Some(CheckStatus { run, conclusion })
    }))
}

fn last(client: &Client, context: &str, head: &Sha) -> ApiResult<Option<Status>> {
    let route = client.route(&format!("/commits/{head}/status"));
    let all: Vec<Status> = client.pages(&route, Some("statuses"), PAGES)?;
    Ok(all.into_iter().find(|status| status.context == context))
}

/// Sets the commit's status of the check's name. The last one wins, and GitHub takes at most 1,000: an equal one is left
/// as it is, and so is one of a later run.
pub(super) fn set(report: &CheckReport<'_>) -> ApiResult<Reported> {
    let (client, context, head) = (report.client, report.name, report.head);
    let state = report.conclusion.map_or(CommitState::Pending, CheckConclusion::state);
    let description = cut(&report.output.title, DESCRIPTION);
    let says_so = |status: &Status| {
        status.state == state.into_str()
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
        let has_ended = there.state != CommitState::Pending.into_str();
        if mine.is_some() && run == mine && state == CommitState::Pending && has_ended {
            return Ok(Reported::Ended);
        }
    }
    let mut body = json!({ "context": context, "state": state.into_str(), "description": description });
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
        ] {
            assert_eq!(run_of(url), run, "{url}");
        }
    }
}
