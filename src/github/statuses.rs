//! A commit's status: less than a check, but any token that may write statuses can set one.

use serde::Deserialize;
use serde_json::json;

use super::client::Client;
use super::error::ApiResult;
use super::place::Sha;

/// Characters of a description; counted here in bytes, which are never fewer.
const DESCRIPTION: usize = 140;
/// Pages of 100 contexts of one commit.
const PAGES: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    Success,
    Failure,
    /// It came to no result.
    Error,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Success => "success",
            State::Failure => "failure",
            State::Error => "error",
        }
    }
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    context: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    target_url: Option<String>,
}

/// Sets the commit's status of this name. The last one counts, and no more than 1,000 may be set: one that says the
/// same already is left as it is.
pub(super) fn set(
    client: &Client,
    context: &str,
    head: &Sha,
    state: State,
    description: &str,
    target_url: Option<&str>,
) -> ApiResult<()> {
    let description = super::checks::cut(description, DESCRIPTION);
    let says_so = || -> ApiResult<Option<Status>> {
        // The combined answer holds the last one of each name.
        let route = client.route(&format!("/commits/{head}/status"));
        let all: Vec<Status> = client.pages(&route, Some("statuses"), PAGES)?;
        Ok(all.into_iter().find(|status| {
            status.context == context
                && status.state == state.word()
                && status.description.as_deref().unwrap_or_default() == description
                && status.target_url.as_deref().unwrap_or_default() == target_url.unwrap_or_default()
        }))
    };
    if says_so()?.is_some() {
        return Ok(());
    }
    let mut body = json!({ "context": context, "state": state.word(), "description": description });
    if let Some(url) = target_url {
        body["target_url"] = json!(url);
    }
    client.create(&client.route(&format!("/statuses/{head}")), &body, says_so).map(drop)
}
