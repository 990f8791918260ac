//! A verdict becomes a comment, a check, a summary; of a scheduled run an issue and a line of history.

mod accept;
mod command;
mod decisions;
mod dry_run;
mod facts;
mod input;
mod landing;
mod local_branch;
mod no_verdict;
mod pull_request;
mod recent;
mod recipients;
mod scheduled;
mod target;
mod trends;

pub(crate) use accept::{ATTEMPT, accept};
pub(crate) use dry_run::dry_run;
pub(crate) use target::{Log, PublishRequest, gate_name};

use crate::app::compare::fail_on::refuse_contradiction;
use crate::app::store::stores::history_of;
use crate::github::{Context, WorkflowEvent};
use crate::model::{Exit, Fault, Result};
use crate::suite::Benchmark;
use input::{FoundInput, find, find_unless_ended};
use recipients::Recipients;
use target::PublishTarget;

/// Refuses what can be recognised as wrong before anything is sent: the last step must not fail for a typing mistake.
pub(crate) fn check(request: &PublishRequest) -> Result<()> {
    refuse_contradiction(&request.fail_on)?;
    request.history.as_deref().map(history_of).transpose()?;
    Ok(())
}

/// Publishes by the event. `context`: none outside of GitHub Actions. Errors: of [`Exit::Unpublished`] what could not be
/// sent, of [`Exit::Machine`] an event in which nothing may be published.
pub(crate) fn publish<'a>(
    request: &'a PublishRequest,
    context: Option<Context>,
    builtins: &[Benchmark],
    log: &'a mut Log<'a>,
) -> Result<()> {
    let Some(context) = context else { return outside(request, builtins, log) };
    if context.event == WorkflowEvent::PullRequestTarget {
        let what = "pull_request_target runs together with a stranger's code and has the rights of the base";
        let next = "publish from a `workflow_run` workflow: `gbench-ci init --github` writes one";
        return Err(Fault::at("the event", what, next).exits(Exit::Machine));
    }
    if context.event == WorkflowEvent::PullRequest && context.is_fork() {
        return log(
            "nothing is published: a fork's run may only read; the `workflow_run` workflow publishes it",
        );
    }
    let target = PublishTarget::open(request, context, log)?;
    match &target.context.workflow_run {
        Some(run) => pull_request::for_run(&target, run),
        None if request.start => pull_request::begin(&target),
        None => for_job(&target, builtins),
    }
}

fn for_job(target: &PublishTarget<'_>, builtins: &[Benchmark]) -> Result<()> {
    // Without a verdict the check has to end, too: none stays in progress.
    let no_verdict = |code| {
        let ended = no_verdict::of_code(code);
        pull_request::without_verdict(target, &ended, &Recipients::of_event(target)?)?;
        scheduled::without_verdict(target, &ended)
    };
    let Some(found) = find_unless_ended(target.request, builtins, no_verdict)? else { return Ok(()) };
    found.is_about(&target.context.head)?;
    let recipients = Recipients::of_event(target)?;
    if let FoundInput::Verdict(input) = &found
        && input.merged.is_pending()
    {
        pull_request::tell(target, &found, &recipients, false)?;
        return target.log("parts are pending: no issue and no history before all have come");
    }
    match &found {
        FoundInput::Verdict(input) if target.context.on_default_branch() => {
            let landed = landing::of_run(target, &input.merged)?;
            pull_request::summarize_verdict(target, input, false, &landed.applied)?;
            pull_request::tell_verdict(target, input, &recipients, false, &landed.applied)?;
            scheduled::carry_out(target, input, &landed)
        }
        FoundInput::Verdict(input) => {
            pull_request::tell(target, &found, &recipients, false)?;
            scheduled::carry_out(target, input, &landing::Landed::default())
        }
        FoundInput::Untouched(_) => pull_request::tell(target, &found, &recipients, false),
    }
}

/// On a laptop or another CI there is no pull request to speak to; a history may be there all the same.
fn outside(request: &PublishRequest, builtins: &[Benchmark], log: &mut Log<'_>) -> Result<()> {
    // A path that is wrong is an error here as anywhere.
    let named = request.what.as_deref().map(|what| find(Some(what), request, builtins)).transpose()?;
    if request.history.is_none() || request.issue || request.start || request.ended.is_some() {
        let what =
            "this is not a job of GitHub Actions: there is no pull request and no commit to publish to";
        let next =
            "look at what would be said with `--dry-run`, or append to a branch with `--history git:BRANCH`";
        return Err(Fault::at("publish", what, next));
    }
    match named.map_or_else(|| find(None, request, builtins), Ok)? {
        FoundInput::Verdict(input) => {
            scheduled::append(request, None, &input, &landing::Landed::default(), log)
        }
        FoundInput::Untouched(_) => log("nothing was measured, and nothing is kept"),
    }
}
