//! Open issues for runs without a watcher, at most one for each gate and topic: opened when something got slower, brought
//! up to date by every run after it, closed with a note when all is well again. A later slowdown opens a fresh one.

use std::fmt;
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::json;

use super::comments;
use super::marker::{last_line, marked};
pub use super::marker::{read_state, state_line};
use crate::api::address::encoded;
use crate::api::client::Client;
use crate::api::error::ApiResult;
use crate::api::identity::{Identity, User};
use crate::api::optimistic::{UpdateError, retry_update};
use crate::api::response::or_default;
use crate::checks::output::cut;

/// Pages of 100 open issues by our own account.
const PAGES: u32 = 30;
/// Pages of 100 issues by our own account, open and closed, the newest first.
const PAGES_OF_ALL: u32 = 5;
/// Characters of a title; counted here in bytes, which are never fewer.
const TITLE: usize = 256;

/// The outcome for the issue, with the address of its page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssueDone {
    Opened(String),
    Updated(String),
    /// It is up to date; nothing was written.
    Unchanged(String),
    Closed(String),
    /// Nothing to report, and none is open.
    Nothing,
}

impl fmt::Display for IssueDone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened(url) => write!(formatter, "opened {url}"),
            Self::Updated(url) => write!(formatter, "updated {url}"),
            Self::Unchanged(url) => write!(formatter, "is up to date {url}"),
            Self::Closed(url) => write!(formatter, "closed {url}"),
            Self::Nothing => formatter.write_str("none is open, and none is needed"),
        }
    }
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
    #[serde(default)]
    state: String,
    #[serde(default, deserialize_with = "or_default")]
    closed_by: User,
    /// GitHub lists pull requests as issues, with this.
    pull_request: Option<serde_json::Value>,
}

/// The question that an issue is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueTopic {
    /// The newest run is red, or not.
    Verdict,
    /// Lasting changes and drifts in the history.
    Trends,
}

/// The issues of a gate about a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueSubject<'a> {
    pub gate: &'a str,
    pub topic: IssueTopic,
}

impl IssueSubject<'_> {
    fn marker(&self) -> String {
        self.line(["issue", "trends"])
    }

    fn closing(&self) -> String {
        self.line(["closes", "closes_trends"])
    }

    fn line(&self, [of_verdict, of_trends]: [&str; 2]) -> String {
        let key = if self.topic == IssueTopic::Verdict { of_verdict } else { of_trends };
        state_line(&json!({ key: self.gate }))
    }
}

/// The newest issue about a subject, open or closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewestIssue {
    pub body: String,
    pub is_open: bool,
    /// A person closed it, and not a program.
    pub closed_by_person: bool,
}

/// Reports that something is wrong (`open`) or that all is well. `body` is given the marker to end with;
/// `note_when_closed` is Markdown. Never touches an issue of another author, whatever its text.
pub fn report(
    client: &Client,
    subject: IssueSubject<'_>,
    open: bool,
    title: &str,
    body: &dyn Fn(&str) -> String,
    note_when_closed: &str,
    me: &Identity,
) -> ApiResult<IssueDone> {
    let marker = subject.marker();
    if !open {
        return close(client, subject, note_when_closed, me);
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

/// The newest issue about a subject; nothing where there never was one.
pub fn newest(client: &Client, subject: IssueSubject<'_>, me: &Identity) -> ApiResult<Option<NewestIssue>> {
    let marker = subject.marker();
    let route = client.route(&format!("/issues?state=all&creator={}", encoded(me.login())));
    let mut all: Vec<Issue> = client.pages(&route, None, PAGES_OF_ALL)?;
    all.retain(|issue| issue.is_ours(&marker, me));
    let Some(issue) = all.into_iter().max_by_key(|issue| issue.number) else { return Ok(None) };
    // A list does not say who closed what is in it.
    let issue: Issue = client.get(&client.route(&format!("/issues/{}", issue.number)))?;
    let body = issue.body.trim_end().strip_suffix(&marker).unwrap_or_default().trim_end().to_owned();
    let is_open = issue.state == "open";
    let closed_by_person = !is_open && issue.closed_by.kind == "User" && !me.wrote(&issue.closed_by);
    Ok(Some(NewestIssue { body, is_open, closed_by_person }))
}

/// The time at which the open issue of a gate was opened, if one is open. Without a time that can be read it is the
/// earliest time there is.
pub fn opened(client: &Client, subject: IssueSubject<'_>, me: &Identity) -> ApiResult<Option<SystemTime>> {
    let time = |issue: &Issue| {
        let at = issue.created_at.as_deref().and_then(|text| humantime::parse_rfc3339(text).ok());
        at.unwrap_or(SystemTime::UNIX_EPOCH)
    };
    Ok(ours(client, &subject.marker(), me)?.iter().map(time).min())
}

impl Issue {
    fn is_ours(&self, marker: &str, me: &Identity) -> bool {
        last_line(&self.body) == marker && me.wrote(&self.user) && self.pull_request.is_none()
    }
}

fn ours(client: &Client, marker: &str, me: &Identity) -> ApiResult<Vec<Issue>> {
    let route = client.route(&format!("/issues?state=open&creator={}", encoded(me.login())));
    let mut all: Vec<Issue> = client.pages(&route, None, PAGES)?;
    all.retain(|issue| issue.is_ours(marker, me));
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
        return Err(UpdateError::conflict(route.into()));
    }
    for twin in now.iter().filter(|twin| twin.number != issue.number) {
        shut(client, twin.number, "not_planned")?;
    }
    Ok(IssueDone::Opened(issue.html_url))
}

/// The note comes first: an issue that is closed is not found again, and would stay without one.
fn close(client: &Client, subject: IssueSubject<'_>, note: &str, me: &Identity) -> ApiResult<IssueDone> {
    let mut done = IssueDone::Nothing;
    for issue in ours(client, &subject.marker(), me)? {
        let sign = subject.closing();
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

fn same(one: &str, other: &str) -> bool {
    one.trim_end().lines().eq(other.trim_end().lines())
}
