//! Issues and the comments on issues and pull requests.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::call::{Call, Handled, Reply};
use super::world::{Comment, Issue, World, now, user, written};

/// Characters of a body.
const BODY: usize = 65_536;
const TITLE: usize = 256;

pub fn handle(world: &mut World, call: &Call) -> Handled {
    match call.operation.as_str() {
        "issues/list-for-repo" => list(world, call),
        "issues/create" => create(world, call),
        "issues/get" => {
            let number = call.number("issue_number");
            let issue = issue(world, call, number)?;
            let mut value = shown(world, call, &issue);
            // A list does not say it.
            value["closed_by"] = issue.closed_by.as_deref().map_or(Value::Null, user);
            Ok(Reply::ok(value))
        }
        "issues/update" => update(world, call),
        "issues/list-events" => events(world, call),
        "issues/list-comments" => comments(world, call),
        "issues/create-comment" => create_comment(world, call),
        "issues/get-comment" => {
            let comment = comment(world, call)?.clone();
            Ok(Reply::ok(shown_comment(world, call, &comment)))
        }
        "issues/update-comment" => update_comment(world, call),
        "issues/delete-comment" => {
            let id = comment(world, call)?.id;
            call.repository(world)?.comments.remove(&id);
            Ok(Reply::empty(204))
        }
        _ => Err(Reply::not_found()),
    }
}

/// Whether the number or comment of a call belongs to a pull request: other permissions are enough then.
pub fn is_pull(world: &mut World, call: &Call) -> bool {
    let Ok(repository) = call.repository(world) else { return false };
    let number = match call.names.get("comment_id").and_then(|id| id.parse().ok()) {
        Some(id) => repository.comments.get(&id).map(|comment: &Comment| comment.number),
        None => call.names.get("issue_number").and_then(|number| number.parse().ok()),
    };
    number.and_then(|number| repository.issues.get(&number)).is_some_and(|issue| issue.pull.is_some())
}

fn issue(world: &mut World, call: &Call, number: u64) -> Result<Issue, Reply> {
    call.repository(world)?.issues.get(&number).cloned().ok_or_else(Reply::not_found)
}

fn comment<'a>(world: &'a mut World, call: &Call) -> Result<&'a mut Comment, Reply> {
    call.repository(world)?.comments.get_mut(&call.number("comment_id")).ok_or_else(Reply::not_found)
}

fn checked_body(resource: &str, body: Option<&str>) -> Result<(), Reply> {
    match body.map(|body| body.chars().count()) {
        Some(0) if resource == "IssueComment" => {
            Err(Reply::invalid(resource, "body", "missing_field", Some("Body can't be blank")))
        }
        Some(length) if length > BODY => {
            let message = format!("body is too long (maximum is {BODY} characters)");
            Err(Reply::invalid(resource, "body", "custom", Some(&message)))
        }
        _ => Ok(()),
    }
}

fn list(world: &mut World, call: &Call) -> Handled {
    let wanted = call.asked("state").unwrap_or("open").to_owned();
    let labels: Vec<&str> = call.asked("labels").unwrap_or("").split(',').filter(|l| !l.is_empty()).collect();
    let creator = call.asked("creator");
    let is_wanted = |issue: &&Issue| {
        let state = wanted == "all" || (wanted == "open") == issue.open;
        let has = |label: &&str| issue.labels.iter().any(|own| own.eq_ignore_ascii_case(label));
        state && labels.iter().all(has) && creator.is_none_or(|login| issue.login == login)
    };
    let mut found: Vec<Issue> = call.repository(world)?.issues.values().filter(is_wanted).cloned().collect();
    if call.asked("direction") != Some("asc") {
        found.reverse();
    }
    let found = found.iter().map(|issue| shown(world, call, issue)).collect();
    Ok(call.page(world, None, found))
}

fn labels(body: &Value) -> Option<Vec<String>> {
    let name = |label: &Value| label.as_str().or(label["name"].as_str()).unwrap_or("").to_owned();
    Some(body["labels"].as_array()?.iter().map(name).collect())
}

fn title(title: &str) -> Result<(), Reply> {
    if title.trim().is_empty() {
        return Err(Reply::invalid("Issue", "title", "missing_field", None));
    }
    match title.chars().count() > TITLE {
        true => {
            let message = format!("title is too long (maximum is {TITLE} characters)");
            Err(Reply::invalid("Issue", "title", "custom", Some(&message)))
        }
        false => Ok(()),
    }
}

fn create(world: &mut World, call: &Call) -> Handled {
    let text = call.body["title"].as_str().map_or_else(|| call.body["title"].to_string(), str::to_owned);
    title(&text)?;
    let body = call.text("body");
    checked_body("Issue", body.as_deref())?;
    let repository = call.repository(world)?;
    let issue = Issue {
        number: repository.next_number(),
        title: text,
        body,
        open: true,
        state_reason: None,
        closed_by: None,
        labels: labels(&call.body).unwrap_or_default(),
        labelled: Vec::new(),
        login: call.token.login.clone(),
        locked: false,
        created_at: SystemTime::now(),
        pull: None,
    };
    repository.issues.insert(issue.number, issue.clone());
    Ok(Reply::created(shown(world, call, &issue)))
}

fn update(world: &mut World, call: &Call) -> Handled {
    let number = call.number("issue_number");
    let mut issue = issue(world, call, number)?;
    if let Some(text) = call.body["title"].as_str() {
        title(text)?;
        issue.title = text.into();
    }
    if call.body.get("body").is_some() {
        issue.body = call.text("body");
        checked_body("Issue", issue.body.as_deref())?;
    }
    if let Some(state) = call.body["state"].as_str() {
        issue.open = state == "open";
        issue.closed_by = (!issue.open).then(|| call.token.login.clone());
        let usual = if issue.open { "reopened" } else { "completed" };
        issue.state_reason = Some(call.text("state_reason").unwrap_or_else(|| usual.into()));
    }
    issue.labels = labels(&call.body).unwrap_or(issue.labels);
    call.repository(world)?.issues.insert(number, issue.clone());
    Ok(Reply::ok(shown(world, call, &issue)))
}

fn comments(world: &mut World, call: &Call) -> Handled {
    let number = call.number("issue_number");
    issue(world, call, number)?;
    let all = call.repository(world)?.comments.values().filter(|comment| comment.number == number);
    let all: Vec<Comment> = all.cloned().collect();
    let all = all.iter().map(|comment| shown_comment(world, call, comment)).collect();
    Ok(call.page(world, None, all))
}

/// A workflow's token is no person with write access, whatever it may do elsewhere.
fn unlocked(issue: &Issue) -> Result<(), Reply> {
    match issue.locked {
        true => Err(Reply::refusal(403, "Unable to create comment because issue is locked.")
            .header("x-accepted-github-permissions", "issues=write; pull_requests=write")),
        false => Ok(()),
    }
}

/// Labels that were put on; of what else happens nothing is kept.
fn events(world: &mut World, call: &Call) -> Handled {
    let issue = issue(world, call, call.number("issue_number"))?;
    let event = |(id, (name, at)): (u64, &(String, SystemTime))| {
        json!({
            "id": id, "node_id": "E", "url": format!("{}/repos/{}/issues/events/{id}", world.api, call.slug()),
            "actor": user("maintainer"), "event": "labeled", "commit_id": null, "commit_url": null,
            "created_at": written(*at), "label": { "name": name, "color": "ededed" },
            "performed_via_github_app": null,
        })
    };
    let all = (1..).zip(&issue.labelled).map(event).collect();
    Ok(call.page(world, None, all))
}

fn create_comment(world: &mut World, call: &Call) -> Handled {
    let number = call.number("issue_number");
    unlocked(&issue(world, call, number)?)?;
    let body = call.text("body").unwrap_or_default();
    checked_body("IssueComment", Some(&body))?;
    let at = SystemTime::now();
    let login = call.token.login.clone();
    let comment = Comment { id: world.id(), number, login, body, created_at: at, updated_at: at };
    call.repository(world)?.comments.insert(comment.id, comment.clone());
    Ok(Reply::created(shown_comment(world, call, &comment)))
}

fn update_comment(world: &mut World, call: &Call) -> Handled {
    let body = call.text("body").unwrap_or_default();
    let number = comment(world, call)?.number;
    unlocked(&issue(world, call, number)?)?;
    let comment = comment(world, call)?;
    checked_body("IssueComment", Some(&body))?;
    comment.body = body;
    comment.updated_at = SystemTime::now();
    let comment = comment.clone();
    Ok(Reply::ok(shown_comment(world, call, &comment)))
}

fn shown_comment(world: &World, call: &Call, comment: &Comment) -> Value {
    let root = format!("{}/repos/{}", world.api, call.slug());
    let page = format!("https://github.invalid/{}/issues/{}", call.slug(), comment.number);
    json!({
        "id": comment.id,
        "node_id": format!("IC_{}", comment.id),
        "url": format!("{root}/issues/comments/{}", comment.id),
        "issue_url": format!("{root}/issues/{}", comment.number),
        "html_url": format!("{page}#issuecomment-{}", comment.id),
        "user": user(&comment.login),
        "body": comment.body,
        "author_association": "NONE",
        "created_at": written(comment.created_at),
        "updated_at": written(comment.updated_at),
    })
}

fn shown(world: &World, call: &Call, issue: &Issue) -> Value {
    let root = format!("{}/repos/{}", world.api, call.slug());
    let number = issue.number;
    let kind = if issue.pull.is_some() { "pull" } else { "issues" };
    let repository = world.repositories.iter().find(|one| one.slug.eq_ignore_ascii_case(&call.slug()));
    let comments = repository.map_or(0, |one| one.comments.values().filter(|c| c.number == number).count());
    let mut value = json!({
        "id": 5_000_000 + number,
        "number": number,
        "title": issue.title,
        "body": issue.body,
        "state": if issue.open { "open" } else { "closed" },
        "state_reason": issue.state_reason,
        "user": user(&issue.login),
        "labels": issue.labels.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>(),
        "comments": comments,
        "url": format!("{root}/issues/{number}"),
        "repository_url": root,
        "html_url": format!("https://github.invalid/{}/{kind}/{number}", call.slug()),
        "created_at": written(issue.created_at),
        "closed_at": if issue.open { Value::Null } else { now().into() },
        "locked": issue.locked,
    });
    // Pull requests are issues here; this is how one tells.
    if issue.pull.is_some() {
        let page = format!("https://github.invalid/{}/pull/{number}", call.slug());
        value["pull_request"] = json!({
            "url": format!("{root}/pulls/{number}"), "html_url": page,
            "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"),
        });
    }
    value
}
