//! Check runs, whose annotations grow with each request, and commit statuses.

use serde_json::{Value, json};

use super::call::{Call, Handled, Reply};
use super::pulls::repository;
use super::world::{Check, Status, World, now, user};

/// Annotations of one request; characters of a summary or a text, of an annotation's message and its title; of a
/// status's description; statuses of one commit and context.
const ANNOTATIONS: usize = 50;
const TEXT: usize = 65_535;
const MESSAGE: usize = 64 << 10;
const TITLE: usize = 255;
const DESCRIPTION: usize = 140;
const STATUSES: usize = 1000;

pub fn handle(world: &mut World, call: &Call) -> Handled {
    match call.operation.as_str() {
        "checks/create" => create(world, call),
        "checks/update" => update(world, call),
        "checks/get" => {
            let check = check(world, call)?;
            Ok(Reply::ok(shown(world, call, &check)))
        }
        "checks/list-for-ref" => list(world, call),
        "checks/list-annotations" => {
            let check = check(world, call)?;
            Ok(call.page(world, None, check.annotations))
        }
        "repos/create-commit-status" => create_status(world, call),
        "repos/list-commit-statuses-for-ref" => {
            let found = statuses(world, call)?.iter().map(|one| shown_status(world, call, one)).collect();
            Ok(call.page(world, None, found))
        }
        "repos/get-combined-status-for-ref" => combined(world, call),
        _ => Err(Reply::not_found()),
    }
}

fn check(world: &mut World, call: &Call) -> Result<Check, Reply> {
    let id = call.number("check_run_id");
    call.repository(world)?.checks.get(&id).cloned().ok_or_else(Reply::not_found)
}

fn create(world: &mut World, call: &Call) -> Handled {
    let sha = call.text("head_sha").unwrap_or_default();
    if call.repository(world)?.commit_of(&sha).is_none() {
        return Err(Reply::refusal(422, &format!("No commit found for SHA: {sha}")));
    }
    let mut check = Check {
        id: world.id(),
        name: call.text("name").unwrap_or_default(),
        head_sha: sha,
        external_id: None,
        details_url: None,
        status: "queued".into(),
        conclusion: None,
        title: None,
        summary: None,
        text: None,
        annotations: Vec::new(),
        started_at: Some(now()),
        completed_at: None,
        app: call.token.login.clone(),
    };
    change(&mut check, call)?;
    call.repository(world)?.checks.insert(check.id, check.clone());
    Ok(Reply::created(shown(world, call, &check)))
}

fn update(world: &mut World, call: &Call) -> Handled {
    let mut check = check(world, call)?;
    if check.app != call.token.login {
        let message = "Invalid app_id - check run can only be modified by the GitHub App that created it.";
        return Err(Reply::refusal(403, message));
    }
    change(&mut check, call)?;
    call.repository(world)?.checks.insert(check.id, check.clone());
    Ok(Reply::ok(shown(world, call, &check)))
}

/// What the body says, onto the check. A conclusion completes it, and another status takes the conclusion back.
fn change(check: &mut Check, call: &Call) -> Result<(), Reply> {
    let body = &call.body;
    let refuse = |message: &str| Err(Reply::refusal(422, message));
    check.name = call.text("name").unwrap_or(std::mem::take(&mut check.name));
    check.external_id = call.text("external_id").or(check.external_id.take());
    check.details_url = call.text("details_url").or(check.details_url.take());
    check.started_at = call.text("started_at").or(check.started_at.take());
    match (call.text("status").as_deref(), call.text("conclusion")) {
        (_, Some(conclusion)) => {
            check.status = "completed".into();
            check.conclusion = Some(conclusion);
            check.completed_at = Some(call.text("completed_at").unwrap_or_else(now));
        }
        (Some("completed"), None) => return refuse("Invalid request.\n\n\"conclusion\" wasn't supplied."),
        (Some(status), None) => {
            check.status = status.into();
            check.conclusion = None;
            check.completed_at = None;
        }
        (None, None) => {}
    }
    let Some(output) = body.get("output") else { return Ok(()) };
    for name in ["summary", "text"] {
        let length = output[name].as_str().unwrap_or("").chars().count();
        if length > TEXT {
            return refuse(&format!(
                "Invalid request.\n\nOnly {TEXT} characters are allowed; {length} were supplied."
            ));
        }
    }
    let annotations = output["annotations"].as_array().cloned().unwrap_or_default();
    if annotations.len() > ANNOTATIONS {
        let length = annotations.len();
        return refuse(&format!(
            "Invalid request.\n\nNo more than {ANNOTATIONS} items are allowed; {length} were supplied."
        ));
    }
    for annotation in &annotations {
        let of = |name: &str| annotation[name].as_str().unwrap_or("");
        if of("message").len() > MESSAGE || of("raw_details").len() > MESSAGE {
            return refuse("Invalid request.\n\nThe message of an annotation is longer than 64 KB.");
        }
        if of("title").chars().count() > TITLE {
            return refuse("Invalid request.\n\nOnly 255 characters are allowed in a title.");
        }
        let is_one_line = annotation["start_line"] == annotation["end_line"];
        if !is_one_line && !annotation["start_column"].is_null() {
            return refuse("Invalid request.\n\nColumns are for annotations of one line.");
        }
    }
    let text = |name: &str| output[name].as_str().map(str::to_owned);
    check.title = text("title").or(check.title.take());
    check.summary = text("summary").or(check.summary.take());
    check.text = text("text").or(check.text.take());
    check.annotations.extend(annotations.into_iter().map(|annotation| {
        let mut whole = json!({
            "blob_href": "", "start_column": null, "end_column": null, "title": null, "raw_details": null,
        });
        let whole_object = whole.as_object_mut().unwrap();
        whole_object.extend(annotation.as_object().cloned().unwrap_or_default());
        whole
    }));
    Ok(())
}

fn list(world: &mut World, call: &Call) -> Handled {
    let repository = call.repository(world)?;
    let named = call.name("ref");
    let Some(sha) = repository.commit_of(named) else {
        return Err(Reply::refusal(422, &format!("No commit found for SHA: {named}")));
    };
    let fits = |check: &&Check| {
        let equal = |asked: &str, own: &str| call.asked(asked).is_none_or(|text| text == own);
        check.head_sha == sha && equal("check_name", &check.name) && equal("status", &check.status)
    };
    let all: Vec<Check> = repository.checks.values().rev().filter(fits).cloned().collect();
    let is_latest = |at: usize| {
        let same = |check: &Check| (&check.name, &check.app) == (&all[at].name, &all[at].app);
        !all[..at].iter().any(same)
    };
    let every = call.asked("filter") == Some("all");
    let kept = all.iter().enumerate().filter(|(at, _)| every || is_latest(*at));
    let kept = kept.map(|(_, check)| shown(world, call, check)).collect();
    Ok(call.page(world, Some("check_runs"), kept))
}

fn shown(world: &World, call: &Call, check: &Check) -> Value {
    let id = check.id;
    let address = format!("{}/repos/{}/check-runs/{id}", world.api, call.slug());
    json!({
        "id": id,
        "node_id": format!("CR_{id}"),
        "name": check.name,
        "head_sha": check.head_sha,
        "external_id": check.external_id.clone().unwrap_or_default(),
        "details_url": check.details_url,
        "url": address,
        "html_url": format!("https://github.invalid/{}/runs/{id}", call.slug()),
        "status": check.status,
        "conclusion": check.conclusion,
        "started_at": check.started_at,
        "completed_at": check.completed_at,
        "check_suite": { "id": 7 },
        "app": {
            "id": 15368, "slug": check.app.trim_end_matches("[bot]"), "name": "GitHub Actions", "description": "",
            "node_id": "", "owner": user("github"), "events": [], "permissions": {},
            "external_url": "https://github.invalid/", "html_url": "https://github.invalid/",
            "created_at": now(), "updated_at": now(),
        },
        "pull_requests": [],
        "output": {
            "title": check.title, "summary": check.summary, "text": check.text,
            "annotations_count": check.annotations.len(), "annotations_url": format!("{address}/annotations"),
        },
    })
}

fn create_status(world: &mut World, call: &Call) -> Handled {
    let sha = call.name("sha").to_owned();
    let description = call.text("description");
    let id = world.id();
    let repository = call.repository(world)?;
    if repository.commit_of(&sha).is_none() {
        return Err(Reply::refusal(422, &format!("No commit found for SHA: {sha}")));
    }
    if description.as_deref().unwrap_or("").chars().count() > DESCRIPTION {
        let message = format!("description is too long (maximum is {DESCRIPTION} characters)");
        return Err(Reply::invalid("Status", "description", "custom", Some(&message)));
    }
    let context = call.text("context").unwrap_or_else(|| "default".into());
    let same = repository.statuses.iter().filter(|one| one.sha == sha && one.context == context);
    if same.count() >= STATUSES {
        let message = "This SHA and context has reached the maximum number of statuses.";
        return Err(Reply::invalid("Status", "context", "custom", Some(message)));
    }
    let status = Status {
        id,
        sha,
        state: call.text("state").unwrap_or_default(),
        context,
        description,
        target_url: call.text("target_url"),
        login: call.token.login.clone(),
    };
    repository.statuses.push(status.clone());
    Ok(Reply::created(shown_status(world, call, &status)))
}

/// Those of a commit, the newest first.
fn statuses(world: &mut World, call: &Call) -> Result<Vec<Status>, Reply> {
    let repository = call.repository(world)?;
    let sha = repository.commit_of(call.name("ref")).ok_or_else(Reply::not_found)?;
    Ok(repository.statuses.iter().rev().filter(|one| one.sha == sha).cloned().collect())
}

fn combined(world: &mut World, call: &Call) -> Handled {
    let mut latest: Vec<Status> = Vec::new();
    for status in statuses(world, call)? {
        if !latest.iter().any(|other| other.context == status.context) {
            latest.push(status);
        }
    }
    let any = |states: &[&str]| latest.iter().any(|one| states.contains(&one.state.as_str()));
    let state = match (any(&["failure", "error"]), any(&["pending"]) || latest.is_empty()) {
        (true, _) => "failure",
        (false, true) => "pending",
        (false, false) => "success",
    };
    let sha = call.repository(world)?.commit_of(call.name("ref"));
    let shown = latest.iter().map(|one| shown_simple_status(world, call, one)).collect();
    let mut reply = call.page(world, Some("statuses"), shown);
    let rest = json!({ "state": state, "sha": sha, "repository": repository(world, &call.slug()) });
    reply.body.as_mut().unwrap().as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    Ok(reply)
}

fn shown_status(world: &World, call: &Call, status: &Status) -> Value {
    let mut value = shown_simple_status(world, call, status);
    value["creator"] = user(&status.login);
    value
}

fn shown_simple_status(world: &World, call: &Call, status: &Status) -> Value {
    json!({
        "id": status.id,
        "url": format!("{}/repos/{}/statuses/{}", world.api, call.slug(), status.sha),
        "state": status.state,
        "context": status.context,
        "description": status.description,
        "target_url": status.target_url,
        "created_at": now(),
        "updated_at": now(),
    })
}
