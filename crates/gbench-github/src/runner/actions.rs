//! A job of GitHub Actions, or of the actions of Gitea and Forgejo, which have the same variables and event files.
//!
//! Facts: docs.github.com, "Events that trigger workflows" and "Webhook events and payloads". docs/github.md says of each
//! field that is read where it is documented and what happens without it. Gitea: services/actions/context.go.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::context::{Context, OF_THE_RUNNER, Run, Variables, needed, number, parsed};
use super::event::WorkflowEvent;
use super::payload::Payload;
use crate::api::address::{Endpoint, Sha, Slug};
use gbench_model::{Fault, Host, Result};

/// Bytes; GitHub sends no webhook above 25 MB.
const LARGEST_EVENT: u64 = 32 << 20;

/// Errors: a variable or a field of the event file that is missing or is not what GitHub documents. Exit code 2.
pub(super) fn read(given: &Variables<'_>, host: Host) -> Result<Context> {
    let event = WorkflowEvent::from(needed(given, "GITHUB_EVENT_NAME")?.as_str());
    let slug = parsed::<Slug>(given, "GITHUB_REPOSITORY")?;
    let endpoint = Endpoint::new(given("GITHUB_API_URL").as_deref(), given("GITHUB_SERVER_URL").as_deref())
        .map_err(|what| Fault::at("GITHUB_API_URL, GITHUB_SERVER_URL", what, OF_THE_RUNNER))?
        .of(host);
    let path = PathBuf::from(needed(given, "GITHUB_EVENT_PATH")?);
    let payload = Payload::parse(&path, &text_of(&path)?)?;

    let pull_request = payload.pull_request(&path, &event)?;
    let workflow_run = payload.workflow_run(&path, &event)?;
    let merge_group = payload.merge_group(&path, &event)?;
    let comment = payload.comment(&path, &event)?;
    let deleted = event == WorkflowEvent::Push && payload.deleted;
    let before = match (&event, &merge_group) {
        (WorkflowEvent::Push, _) => payload.before(&path)?,
        (_, Some((_, base))) => Some(base.clone()),
        _ => None,
    };
    let sha = match (parsed::<Sha>(given, "GITHUB_SHA"), &before) {
        // A branch that was removed has no commit any more.
        (Err(_), Some(before)) if deleted => before.clone(),
        (sha, _) => sha?,
    };
    let head = match (&pull_request, &workflow_run, &merge_group) {
        (Some(pull), ..) => pull.head.clone(),
        (_, Some(run), _) => run.head.clone(),
        (.., Some((head, _))) => head.clone(),
        _ => sha.clone(),
    };
    let branch = given("GITHUB_REF").and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned));
    let default_branch = match (payload.default_branch(), &event) {
        // GitHub starts a schedule on the default branch alone. GitHub Enterprise Server before the autumn of 2022
        // and Gitea say nothing but the schedule in its event file.
        (None, WorkflowEvent::Schedule) => branch.clone(),
        (told, _) => told,
    };
    Ok(Context {
        event,
        slug,
        endpoint,
        sha,
        branch,
        default_branch,
        pull_request,
        workflow_run,
        comment,
        run: run(given, host)?,
        page: None,
        before,
        head,
        deleted,
    })
}

fn run(given: &Variables<'_>, host: Host) -> Result<Option<Run>> {
    let Some(id) = number(given, "GITHUB_RUN_ID")? else { return Ok(None) };
    let attempt = number(given, "GITHUB_RUN_ATTEMPT")?.unwrap_or(1).try_into().unwrap_or(u32::MAX);
    let number = number(given, "GITHUB_RUN_NUMBER")?.unwrap_or(0);
    // Gitea numbers the runs of a repository, and their pages go by that number.
    let id = if host == Host::Gitea && number > 0 { number } else { id };
    Ok(Some(Run { id, attempt, number }))
}

fn text_of(path: &Path) -> Result<String> {
    let fault = |what: String| Fault::at_path(path, what, "give the event's JSON in GITHUB_EVENT_PATH");
    let mut text = String::new();
    let opened = std::fs::File::open(path);
    let read = opened.and_then(|file| file.take(LARGEST_EVENT + 1).read_to_string(&mut text));
    match read {
        Err(error) => Err(fault(format!("the event file cannot be read: {error}"))),
        Ok(bytes) if bytes as u64 > LARGEST_EVENT => {
            Err(fault("the event file is larger than 32 MiB".into()))
        }
        Ok(_) => Ok(text),
    }
}
