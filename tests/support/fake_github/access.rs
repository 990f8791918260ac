//! Who may do what: the permissions that GitHub names for each operation, and what it says to those without.

use super::call::Reply;
use super::world::{Token, TokenKind, World};

/// The sets of permissions of which one is enough, as GitHub's header writes them. Repositories are private here, so
/// that a permission to read that a workflow lacks is noticed.
fn wanted(operation: &str, is_pull: bool) -> &'static str {
    match operation {
        "issues/list-for-repo" => "issues=read",
        "issues/create" => "issues=write",
        "issues/update" if !is_pull => "issues=write",
        "issues/create-comment" | "issues/update-comment" | "issues/delete-comment" if !is_pull => {
            "issues=write"
        }
        "issues/update" | "issues/create-comment" | "issues/update-comment" | "issues/delete-comment" => {
            "issues=write; pull_requests=write"
        }
        "issues/get" | "issues/list-events" | "issues/list-comments" | "issues/get-comment" => {
            "issues=read; pull_requests=read"
        }
        "pulls/list" | "pulls/get" => "pull_requests=read",
        "checks/create" | "checks/update" => "checks=write",
        "checks/get" | "checks/list-for-ref" | "checks/list-annotations" => "checks=read",
        "repos/create-commit-status" => "statuses=write",
        "repos/list-commit-statuses-for-ref" | "repos/get-combined-status-for-ref" => "statuses=read",
        "repos/compare-commits-with-basehead" => "contents=read",
        "git/get-ref" | "git/get-blob" | "git/get-tree" | "git/get-commit" | "repos/get-content" => {
            "contents=read"
        }
        name if name.starts_with("git/") => "contents=write",
        name if name.starts_with("actions/") => "actions=read",
        _ => "metadata=read",
    }
}

/// Errors: the reply to a request whose token is missing or unknown.
pub fn known(world: &World, authorization: Option<&str>, is_write: bool) -> Result<Token, Reply> {
    let Some(authorization) = authorization else {
        return Err(match is_write {
            true => Reply::refusal(401, "Requires authentication"),
            false => Reply::not_found(),
        });
    };
    let text = authorization
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("token"));
    let found = text.and_then(|(_, text)| world.tokens.iter().find(|token| token.text == text));
    found.cloned().ok_or_else(|| Reply::refusal(401, "Bad credentials"))
}

/// Errors: the reply to a request whose token may not do this.
pub fn allowed(token: &Token, operation: &str, is_pull: bool) -> Result<(), Reply> {
    let sets = wanted(operation, is_pull);
    let is_granted = |line: &str| {
        let (name, level) = line.trim().split_once('=').unwrap();
        let has = token.permissions.get(name).map(String::as_str);
        name == "metadata" || has == Some("write") || has == Some(level)
    };
    let refusal =
        |message: &str| Err(Reply::refusal(403, message).header("x-accepted-github-permissions", sets));
    if operation == "users/get-authenticated" && token.kind == TokenKind::App {
        return refusal("Resource not accessible by integration");
    }
    // Whatever its permissions are.
    if matches!(operation, "checks/create" | "checks/update") && token.kind == TokenKind::User {
        return refusal("You must authenticate via a GitHub App.");
    }
    match (sets.split(';').any(|set| set.split(',').all(is_granted)), token.kind) {
        (true, _) => Ok(()),
        (false, TokenKind::App) => refusal("Resource not accessible by integration"),
        (false, TokenKind::User) => refusal("Resource not accessible by personal access token"),
    }
}
