//! A person's comment, and their rights by GitHub: a command in a comment is only as good as these.

use std::time::SystemTime;

use serde::Deserialize;

use crate::api::address::encoded;
use crate::api::client::Client;
use crate::api::error::{ApiError, ApiResult};
use crate::api::identity::User;
use crate::api::response::or_default;

/// A comment as GitHub has it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenComment {
    pub id: u64,
    pub number: u64,
    pub body: String,
    /// Empty where the account is gone.
    pub author: String,
    /// Neither an app nor an organization.
    pub by_a_person: bool,
    pub at: String,
    pub written: SystemTime,
    /// Since it was written; its text before that is unknown.
    pub is_edited: bool,
}

#[derive(Deserialize)]
struct RawComment {
    id: u64,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    #[serde(default, deserialize_with = "or_default")]
    user: User,
    created_at: String,
    updated_at: String,
    issue_url: String,
}

/// Reads a comment. `None`: it is gone. Errors: GitHub, or an answer without its time or its place.
pub fn comment(client: &Client, id: u64) -> ApiResult<Option<WrittenComment>> {
    let route = client.route(&format!("/issues/comments/{id}"));
    let raw: RawComment = match client.get(&route) {
        Err(error) if matches!(error.status(), Some(404 | 410)) => return Ok(None),
        raw => raw?,
    };
    let unreadable = |cause: &str| ApiError::unreadable(&route, cause);
    let number = raw.issue_url.rsplit('/').next().and_then(|number| number.parse().ok());
    let written = humantime::parse_rfc3339(&raw.created_at);
    Ok(Some(WrittenComment {
        id: raw.id,
        number: number.ok_or_else(|| unreadable("`issue_url` names no issue"))?,
        is_edited: raw.updated_at != raw.created_at,
        written: written.map_err(|_| unreadable("`created_at` is not a time"))?,
        at: raw.created_at,
        by_a_person: raw.user.kind == "User" && !raw.user.login.is_empty(),
        author: raw.user.login,
        body: raw.body,
    }))
}

#[derive(Deserialize)]
struct Permission {
    #[serde(default, deserialize_with = "or_default")]
    permission: String,
    #[serde(default, deserialize_with = "or_default")]
    user: User,
}

/// True if the person may write to the repository. For a role that an organization has made itself the base decides that
/// GitHub gives for it, not its name.
pub fn may_write(client: &Client, login: &str) -> ApiResult<bool> {
    let route = client.route(&format!("/collaborators/{}/permission", encoded(login)));
    // GitHub may know no such user.
    Ok(client.find::<Permission>(&route)?.is_some_and(|found| {
        let is_them = found.user.login.eq_ignore_ascii_case(login);
        is_them && matches!(found.permission.as_str(), "admin" | "maintain" | "write")
    }))
}
