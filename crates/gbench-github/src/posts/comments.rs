//! One comment of ours for each pull request and gate: found on any page by marker and author, written over in place, and
//! never by a run that knows less.

use serde::Deserialize;
use serde_json::{Value, json};

pub use super::marker::Marker;
use super::marker::marked;
use crate::api::client::Client;
use crate::api::error::{ApiError, ApiResult};
use crate::api::identity::{Identity, User};
use crate::api::optimistic::{UpdateError, retry_update};
use crate::api::response::or_default;
use crate::pulls;
use gbench_model::Host;

/// Pages of 100. GitHub takes at most 2,500 comments on one pull request.
const PAGES: u32 = 30;

/// A comment on a pull request or an issue.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Comment {
    /// Grows with time.
    pub id: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) body: String,
    #[serde(default, alias = "author", deserialize_with = "or_default")]
    pub(crate) user: User,
    #[serde(default, deserialize_with = "or_default")]
    html_url: String,
}

impl Comment {
    fn page(&self, client: &Client, number: u64) -> String {
        match client.host() {
            // The answer has no address.
            Host::GitLab => {
                format!("{}/-/merge_requests/{number}#note_{}", client.repository_page(), self.id)
            }
            _ => self.html_url.clone(),
        }
    }
}

/// When a comment is written at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentMode {
    /// Where there is something to say, or something was said that is no longer so.
    OnChange,
    /// Also where all is well, and again for every commit.
    Always,
    Never,
}

/// The outcome for a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// With the address of its page.
    Created(String),
    Updated(String),
    /// It is up to date; nothing was written.
    Unchanged,
    /// There is nothing worth saying, and nothing was said before.
    Quiet,
    /// A newer commit or run speaks already.
    Stale,
    /// As was asked.
    Never,
}

pub(crate) fn list(client: &Client, number: u64) -> ApiResult<Vec<Comment>> {
    let route = comments_route(client, number);
    let mut all: Vec<Comment> = match client.host() {
        // Gitea gives all of them at once, whatever page is asked for.
        Host::Gitea => client.get(&route)?,
        _ => client.pages(&route, None, PAGES)?,
    };
    all.sort_by_key(|comment| comment.id);
    Ok(all)
}

fn comments_route(client: &Client, number: u64) -> String {
    client.route(&match client.host() {
        Host::GitLab => format!("/merge_requests/{number}/notes"),
        _ => format!("/issues/{number}/comments"),
    })
}

/// This gate's comment. Errors: the comments cannot be read.
pub fn find(client: &Client, number: u64, gate: &str, me: &Identity) -> ApiResult<Option<(Comment, Marker)>> {
    Ok(ours(client, number, gate, me)?.into_iter().next())
}

fn ours(client: &Client, number: u64, gate: &str, me: &Identity) -> ApiResult<Vec<(Comment, Marker)>> {
    let mine = |comment: Comment| {
        let marker = Marker::find(&comment.body).filter(|marker| marker.gate == gate)?;
        me.wrote(&comment.user).then_some((comment, marker))
    };
    Ok(list(client, number)?.into_iter().filter_map(mine).collect())
}

/// The text of a comment, and whether a later run has already commented.
pub struct CommentRequest<'a> {
    /// The text, for a marker that it ends with.
    pub body: &'a dyn Fn(&Marker) -> String,
    pub should_comment: bool,
    /// True if a later run has reported elsewhere.
    pub is_overtaken: &'a dyn Fn() -> ApiResult<bool>,
}

/// Says it, in one comment. `should_comment` is false for plain green, about which [`CommentMode::OnChange`] opens no
/// comment.
///
/// Nothing is written for a commit that is not the pull request's head any more, nor over what a later run says of the
/// same commit, in its comment or, as `is_overtaken` knows, elsewhere. Both are asked last before writing. `body` is
/// asked only where something is written; the marker's line is added where it is not the last one.
pub fn post(
    client: &Client,
    number: u64,
    mode: CommentMode,
    marker: &Marker,
    request: &CommentRequest,
    me: &Identity,
) -> ApiResult<Posted> {
    if mode == CommentMode::Never {
        return Ok(Posted::Never);
    }
    if Marker::find(&marker.comment()).as_ref() != Some(marker) {
        // The comment would never be found again, and every run would leave another one.
        let cause = "its marker cannot be read back".to_owned();
        return Err(ApiError::Unfit {
            request: client.asked(format!("a comment on pull request {number}")),
            cause,
        });
    }
    let post = Post { client, number, marker, request, me };
    let mut tried = None;
    retry_update(client, || post.step(mode, &mut tried))
}

struct Post<'a> {
    client: &'a Client,
    number: u64,
    marker: &'a Marker,
    request: &'a CommentRequest<'a>,
    me: &'a Identity,
}

#[derive(Clone, Copy)]
enum Sent {
    New,
    Change,
}

impl Post<'_> {
    fn step(&self, mode: CommentMode, sent: &mut Option<Sent>) -> Result<Posted, UpdateError> {
        let quiet = mode == CommentMode::OnChange && !self.request.should_comment;
        let found = ours(self.client, self.number, &self.marker.gate, self.me)?;
        if found.iter().any(|(_, there)| self.marker.is_older_than(there)) {
            return Ok(Posted::Stale);
        }
        let Some(((comment, there), twins)) = found.split_first() else {
            return if quiet { Ok(Posted::Quiet) } else { self.create(sent) };
        };
        if let (Some(sent), true) = (*sent, there == self.marker) {
            self.tidy(twins)?;
            return Ok(match sent {
                Sent::New => Posted::Created(comment.page(self.client, self.number)),
                Sent::Change => Posted::Updated(comment.page(self.client, self.number)),
            });
        }
        if there.state == self.marker.state && (there.head == self.marker.head || quiet) {
            return Ok(Posted::Unchanged);
        }
        let Some(body) = self.request_body()? else { return Ok(Posted::Stale) };
        *sent = Some(Sent::Change);
        let route = self.route(comment.id);
        let written: Comment = match self.client.change_once(&route, &body) {
            // It may have been deleted since it was found: then a new one is made.
            Err(refused) if matches!(refused.status(), Some(403 | 404 | 410)) => {
                let now = ours(self.client, self.number, &self.marker.gate, self.me)?;
                return Err(if now.iter().any(|(there, _)| there.id == comment.id) {
                    self.of_write(refused)
                } else {
                    UpdateError::conflict(self.client.asked(route))
                });
            }
            written => written.map_err(|error| self.of_write(error))?,
        };
        self.tidy(twins)?;
        Ok(Posted::Updated(written.page(self.client, self.number)))
    }

    /// The body of the request; `None` where the pull request has moved on to another commit, or a later run has spoken.
    fn request_body(&self) -> ApiResult<Option<Value>> {
        let text = marked((self.request.body)(self.marker), &self.marker.comment());
        let stands =
            pulls::head_of(self.client, self.number)? == self.marker.head && !(self.request.is_overtaken)()?;
        Ok(stands.then(|| json!({ "body": text })))
    }

    /// The host refuses both a token that may not write and a place where nothing may be written.
    fn of_write(&self, error: ApiError) -> UpdateError {
        let is_locked = || pulls::is_locked(self.client, self.number).unwrap_or(false);
        match error {
            ApiError::Refused { request, status: 403, .. } if is_locked() => {
                UpdateError::Final(ApiError::Locked { request })
            }
            error => UpdateError::of_write(error),
        }
    }

    fn create(&self, sent: &mut Option<Sent>) -> Result<Posted, UpdateError> {
        let Some(body) = self.request_body()? else { return Ok(Posted::Stale) };
        *sent = Some(Sent::New);
        let route = comments_route(self.client, self.number);
        let created: Comment = self.client.post_once(&route, &body).map_err(|error| self.of_write(error))?;
        // Another job may have looked at the same time and found none either. The second one removes its own: it looks
        // after writing, so that it sees the first.
        let now = ours(self.client, self.number, &self.marker.gate, self.me)?;
        if now.first().is_some_and(|(first, _)| first.id < created.id) {
            self.remove(created.id)?;
            *sent = None;
            return Err(UpdateError::conflict(self.client.asked(route)));
        }
        let twins: Vec<_> = now.into_iter().filter(|(comment, _)| comment.id != created.id).collect();
        self.tidy(&twins)?;
        Ok(Posted::Created(created.page(self.client, self.number)))
    }

    fn tidy(&self, twins: &[(Comment, Marker)]) -> ApiResult<()> {
        twins.iter().try_for_each(|(twin, _)| self.remove(twin.id))
    }

    /// A twin that may not be removed does not fail the job: the next change tries again.
    fn remove(&self, twin: u64) -> ApiResult<()> {
        match self.client.delete(&self.route(twin)) {
            Err(ApiError::Refused { .. }) => Ok(()),
            gone => gone,
        }
    }

    fn route(&self, comment: u64) -> String {
        match self.client.host() {
            Host::GitLab => format!("{}/{comment}", comments_route(self.client, self.number)),
            _ => self.client.route(&format!("/issues/comments/{comment}")),
        }
    }
}
