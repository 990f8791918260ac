//! One open issue for each gate, for runs without a watcher: opened when something got slower, brought up to date by
//! every run after it, closed with a note when all is well again. A later slowdown opens a fresh one.

use std::time::SystemTime;

use serde::Deserialize;
use serde_json::json;

use super::address::encoded;
use super::answer::or_default;
use super::checks::cut;
use super::client::Client;
use super::comments;
use super::error::ApiResult;
use super::identity::{Identity, User};
use super::marker::{last_line, marked, of_closing, of_issue};
use super::optimistic::{UpdateError, retry_update};

/// Pages of 100 open issues by our own account.
const PAGES: u32 = 30;
/// Characters of a title; counted here in bytes, which are never fewer.
const TITLE: usize = 256;

/// The outcome for the issue, with the address of its page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssueDone {
    Opened(String),
    Updated(String),
    /// It says so already; nothing was written.
    Unchanged(String),
    Closed(String),
    /// Nothing to say, and none is open.
    Nothing,
}

#[derive(Deserialize)]
struct Issue {
    number: u64,
    #[serde(default)]
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    #[serde(default, deserialize_with = "or_default")]
    user: User,
    #[serde(default)]
    html_url: String,
    created_at: Option<String>,
    /// GitHub lists pull requests as issues, with this.
    pull_request: Option<serde_json::Value>,
}

/// Says that something is wrong (`open`) or that all is well. `body` is given the marker to end with;
/// `note_when_closed` is Markdown. Never touches an issue of another author, whatever stands in it.
pub fn report(
    client: &Client,
    gate: &str,
    open: bool,
    title: &str,
    body: &dyn Fn(&str) -> String,
    note_when_closed: &str,
    me: &Identity,
) -> ApiResult<IssueDone> {
    let marker = of_issue(gate);
    if !open {
        return close(client, gate, &marker, note_when_closed, me);
    }
    let text = marked(body(&marker), &marker);
    let title = &cut(title, TITLE);
    let mut sent = false;
    retry_update(client, || {
        let found = ours(client, &marker, me)?;
        let Some((issue, twins)) = found.split_first() else {
            let done = create(client, title, &text, &marker, me);
            sent = !matches!(done, Err(UpdateError::Conflict(_)));
            return done;
        };
        for twin in twins {
            shut(client, twin.number, "not_planned")?;
        }
        let url = issue.html_url.clone();
        if issue.title == *title && same(&issue.body, &text) {
            return Ok(if sent { IssueDone::Opened(url) } else { IssueDone::Unchanged(url) });
        }
        let route = client.route(&format!("/issues/{}", issue.number));
        client.patch::<Issue>(&route, &json!({ "title": title, "body": text }))?;
        Ok(IssueDone::Updated(url))
    })
}

/// When the open issue of a gate was opened; nothing where none is open. What has no time that can be read was opened at the
/// beginning of all time.
pub fn opened(client: &Client, gate: &str, me: &Identity) -> ApiResult<Option<SystemTime>> {
    let time = |issue: &Issue| {
        let at = issue.created_at.as_deref().and_then(|text| humantime::parse_rfc3339(text).ok());
        at.unwrap_or(SystemTime::UNIX_EPOCH)
    };
    Ok(ours(client, &of_issue(gate), me)?.iter().map(time).min())
}

/// This gate's open issues, oldest first: there are two where two jobs were equally fast.
fn ours(client: &Client, marker: &str, me: &Identity) -> ApiResult<Vec<Issue>> {
    let route = client.route(&format!("/issues?state=open&creator={}", encoded(me.login())));
    let mut all: Vec<Issue> = client.pages(&route, None, PAGES)?;
    all.retain(|issue| {
        last_line(&issue.body) == marker && me.wrote(&issue.user) && issue.pull_request.is_none()
    });
    all.sort_by_key(|issue| issue.number);
    Ok(all)
}

fn create(
    client: &Client,
    title: &str,
    text: &str,
    marker: &str,
    me: &Identity,
) -> Result<IssueDone, UpdateError> {
    let route = client.route("/issues");
    let issue: Issue =
        client.post_once(&route, &json!({ "title": title, "body": text })).map_err(UpdateError::of_write)?;
    // An issue cannot be taken back, but the second one closes its own; see `comments`.
    let now = ours(client, marker, me)?;
    if now.first().is_some_and(|first| first.number < issue.number) {
        shut(client, issue.number, "not_planned")?;
        return Err(UpdateError::conflict(format!("POST {route}")));
    }
    for twin in now.iter().filter(|twin| twin.number != issue.number) {
        shut(client, twin.number, "not_planned")?;
    }
    Ok(IssueDone::Opened(issue.html_url))
}

/// The note comes first: an issue that is closed is not found again, and would stay without one.
fn close(client: &Client, gate: &str, marker: &str, note: &str, me: &Identity) -> ApiResult<IssueDone> {
    let mut done = IssueDone::Nothing;
    for issue in ours(client, marker, me)? {
        let sign = of_closing(gate);
        let notes = || -> ApiResult<Vec<u64>> {
            let all = comments::list(client, issue.number)?.into_iter();
            let by_us = all.filter(|comment| me.wrote(&comment.user));
            Ok(by_us.filter(|comment| last_line(&comment.body) == sign).map(|comment| comment.id).collect())
        };
        // One that was opened again has a note from the first time.
        let before = notes()?;
        let route = client.route(&format!("/issues/{}/comments", issue.number));
        let body = json!({ "body": marked(note.to_owned(), &sign) });
        client.create::<serde_json::Value>(&route, &body, || {
            let new = notes()?.into_iter().any(|id| !before.contains(&id));
            Ok(new.then_some(serde_json::Value::Null))
        })?;
        shut(client, issue.number, "completed")?;
        done = IssueDone::Closed(issue.html_url);
    }
    Ok(done)
}

fn shut(client: &Client, number: u64, reason: &str) -> ApiResult<()> {
    let route = client.route(&format!("/issues/{number}"));
    client.patch::<Issue>(&route, &json!({ "state": "closed", "state_reason": reason })).map(drop)
}

/// Whether two texts differ in more than line ends and what follows the last line.
fn same(one: &str, other: &str) -> bool {
    one.trim_end().lines().eq(other.trim_end().lines())
}
