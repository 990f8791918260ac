//! One comment of ours for each pull request and gate that answers commands. Its marker also says at which commit the
//! decisions are kept: see [`crate::kept`].

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_with::skip_serializing_none;

use super::comments;
use super::marker::{marked, read_state, state_line};
use crate::api::address::Sha;
use crate::api::client::Client;
use crate::api::error::{ApiError, ApiResult};
use crate::api::identity::Identity;

#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerMarker {
    answers: String,
    /// The commit whose check keeps the decisions; absent while there is none.
    kept_at: Option<Sha>,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    html_url: String,
}

fn ours(client: &Client, number: u64, gate: &str, me: &Identity) -> ApiResult<Vec<(u64, AnswerMarker)>> {
    let mine = |comment: comments::Comment| {
        let marker = read_state::<AnswerMarker>(&comment.body).filter(|marker| marker.answers == gate)?;
        me.wrote(&comment.user).then_some((comment.id, marker))
    };
    Ok(comments::list(client, number)?.into_iter().filter_map(mine).collect())
}

/// The commits at which decisions about a pull request may be kept. There is one, unless another workflow writes under
/// the same account: the document at a commit shows which one is right.
pub fn kept_at(client: &Client, number: u64, gate: &str, me: &Identity) -> ApiResult<Vec<Sha>> {
    let mut commits: Vec<Sha> = Vec::new();
    for (_, marker) in ours(client, number, gate, me)? {
        commits.extend(marker.kept_at.filter(|commit| !commits.contains(commit)));
    }
    Ok(commits)
}

/// Writes the answer into the only comment for answers, and returns its page.
pub fn post(
    client: &Client,
    number: u64,
    gate: &str,
    kept_at: Option<&Sha>,
    text: &str,
    me: &Identity,
) -> ApiResult<String> {
    let marker = AnswerMarker { answers: gate.to_owned(), kept_at: kept_at.cloned() };
    let body = json!({ "body": marked(text.to_owned(), &state_line(&marker)) });
    let at = |id: u64| client.route(&format!("/issues/comments/{id}"));
    let change = |id: u64| client.patch::<Page>(&at(id), &body).map(|page| page.html_url);
    if let Some((id, _)) = ours(client, number, gate, me)?.first() {
        return change(*id);
    }
    let route = client.route(&format!("/issues/{number}/comments"));
    let find = || {
        let found = !ours(client, number, gate, me)?.is_empty();
        Ok(found.then(|| Page { html_url: String::new() }))
    };
    let page: Page = client.create(&route, &body, find)?;
    // A job that ran at the same time found none either: the oldest one stays.
    let all = ours(client, number, gate, me)?;
    let Some(((oldest, _), twins)) = all.split_first().filter(|(_, twins)| !twins.is_empty()) else {
        return Ok(page.html_url);
    };
    for (twin, _) in twins {
        match client.delete(&at(*twin)) {
            // Another job has deleted it, or this token may not: then the text loses its marker and is no longer read as
            // an answer.
            Err(ApiError::Refused { .. }) => {
                let said = json!({ "body": "Answered in the other comment of this gate." });
                match client.patch::<Page>(&at(*twin), &said) {
                    Ok(_) | Err(ApiError::Refused { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            deleted => deleted?,
        }
    }
    change(*oldest)
}
