//! A verdict becomes a comment, a check, a summary; of a scheduled run an issue and a line of history.

mod accept;
mod annotation;
mod announcement;
mod command;
mod decisions;
mod destination;
mod dry_run;
mod facts;
mod input;
mod landing;
mod local_branch;
mod no_verdict;
mod pull_request;
mod receivers;
mod recent;
mod recipients;
mod scheduled;
mod target;
mod trends;

pub(crate) use accept::{ATTEMPT, accept};
pub(crate) use destination::Destination;
pub(crate) use dry_run::dry_run;
pub(crate) use target::{Log, PublishRequest, gate_name};

use std::cell::RefCell;

use crate::app::compare::fail_on::refuse_contradiction;
use crate::app::store::stores::history_of;
use crate::compare::AppliedAcceptances;
use crate::github::{Context, Host, WorkflowEvent};
use crate::model::{Exit, Fault, Result};
use crate::suite::Benchmark;
use annotation::BuildAnnotation;
use announcement::Announcement;
use destination::{is_service_told, webhooks};
use input::{FoundInput, PublishInput, find, find_unless_ended};
use recipients::Recipients;
use target::PublishTarget;

/// Refuses what can be recognised as wrong before anything is sent: the last step must not fail for a typing mistake.
pub(crate) fn check(request: &PublishRequest) -> Result<()> {
    refuse_contradiction(&request.fail_on)?;
    request.history.as_deref().map(history_of).transpose()?;
    Ok(())
}

/// Publishes by the event. `context`: none outside of a job of CI. Errors: of [`Exit::Unpublished`] what could not be
/// sent, of [`Exit::Machine`] an event in which nothing may be published.
pub(crate) fn publish<'a>(
    request: &'a PublishRequest,
    context: Option<Context>,
    builtins: &[Benchmark],
    log: &'a mut Log<'a>,
) -> Result<()> {
    if webhooks(&request.to).next().is_some() {
        // A missing secret is found before anything is sent.
        receivers::secret()?;
    }
    let is_service_told = is_service_told(&request.to, context.as_ref())?;
    let Some(context) = context else {
        return if is_service_told {
            outside(request, builtins, log)
        } else {
            only_receivers(request, None, builtins, log)
        };
    };
    if request.issue && context.host() != Host::GitHub {
        let what = format!("an issue is kept on GitHub alone, and this job is one of {}", context.host());
        return Err(Fault::at_flag("--issue", what, "take the flag out"));
    }
    if context.event == WorkflowEvent::PullRequestTarget {
        let what = "pull_request_target runs together with a stranger's code and has the rights of the base";
        let next = "publish from a `workflow_run` workflow: `gbench-ci init --github` writes one";
        return Err(Fault::at("the event", what, next).exits(Exit::Machine));
    }
    let is_forks = context.event == WorkflowEvent::PullRequest && context.is_fork();
    match context.host() {
        Host::GitHub if is_forks => {
            let whose = "the `workflow_run` workflow publishes it";
            return log(&format!("nothing is published: a fork's run may only read; {whose}"));
        }
        _ if is_forks && !request.allow_forks => {
            let how = "`--allow-forks` does, and calls it unverified";
            return log(&format!("a fork's result is not published: {how}"));
        }
        _ if !is_service_told => return only_receivers(request, Some(&context), builtins, log),
        Host::Buildkite => return for_build(request, &context, builtins, log),
        _ => {}
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
    let unverified = target.context.is_fork();
    if let FoundInput::Verdict(input) = &found
        && input.merged.is_pending()
    {
        pull_request::tell(target, &found, &recipients, unverified)?;
        return target.log("parts are pending: no issue and no history before all have come");
    }
    match &found {
        FoundInput::Verdict(input) if target.context.on_default_branch() => {
            let landed = landing::of_run(target, &input.merged)?;
            pull_request::summarize_verdict(target, input, false, &landed.applied)?;
            pull_request::tell_verdict(target, input, &recipients, false, &landed.applied)?;
            let told =
                receivers::notify(target.request, Some(&target.context), input, &|line| target.log(line));
            // A receiver that is down does not cost the record.
            told.and(scheduled::carry_out(target, input, &landed))
        }
        FoundInput::Verdict(input) => {
            pull_request::tell(target, &found, &recipients, unverified)?;
            scheduled::carry_out(target, input, &landing::Landed::default())
        }
        FoundInput::Untouched(_) => pull_request::tell(target, &found, &recipients, false),
    }
}

/// A service without a repository: a note with the build, and nothing else.
fn for_build(
    request: &PublishRequest,
    context: &Context,
    builtins: &[Benchmark],
    log: &mut Log<'_>,
) -> Result<()> {
    if request.start {
        return log("nothing is written yet: a build shows by itself that it runs");
    }
    let log = RefCell::new(log);
    let say = |line: &str| (log.borrow_mut())(line);
    let to = BuildAnnotation { comment: request.comment, log: &say };
    let announcement = Announcement { request, context: Some(context), unverified: context.is_fork() };
    let no_verdict = |code| announcement.no_verdict(&no_verdict::of_code(code), &to);
    let Some(found) = find_unless_ended(request, builtins, no_verdict)? else { return Ok(()) };
    found.is_about(&context.head)?;
    match &found {
        FoundInput::Verdict(input) => {
            announcement.verdict(input, &AppliedAcceptances::default(), &to)?;
            notify_and_keep(request, Some(context), input, &say)
        }
        FoundInput::Untouched(job) => {
            job.untouched.as_ref().map_or(Ok(()), |untouched| announcement.untouched(untouched, &to))
        }
    }
}

/// Sends the verdict to webhooks alone: they are all that is named.
fn only_receivers(
    request: &PublishRequest,
    context: Option<&Context>,
    builtins: &[Benchmark],
    log: &mut Log<'_>,
) -> Result<()> {
    let log = RefCell::new(log);
    let say = |line: &str| (log.borrow_mut())(line);
    if request.issue || request.start {
        let what = "a webhook alone has no issue, and no check that could be in progress";
        return Err(Fault::at_flag(
            "--issue, --start",
            what,
            "take it out, or name the service with `--to` as well",
        ));
    }
    let no_verdict = |_| say("webhook: nothing is sent, there is no verdict");
    let found = find_unless_ended(request, builtins, no_verdict)?;
    // After a `workflow_run` event the head is that of the run, which only its artifact knows.
    if let (Some(found), Some(context)) = (&found, context.filter(|it| it.workflow_run.is_none())) {
        found.is_about(&context.head)?;
    }
    match found {
        Some(FoundInput::Verdict(input)) => notify_and_keep(request, context, &input, &say),
        Some(FoundInput::Untouched(_)) => say("webhook: nothing is sent, nothing was measured"),
        None => Ok(()),
    }
}

/// Where no issue is kept: the receivers, and the history. A receiver that is down does not cost the record.
fn notify_and_keep(
    request: &PublishRequest,
    context: Option<&Context>,
    input: &PublishInput,
    say: &dyn Fn(&str) -> Result<()>,
) -> Result<()> {
    let kept = || {
        if let (Some(context), true) = (context, request.history.is_some()) {
            scheduled::only_default_branch(context)?;
        }
        scheduled::append(request, context, input, &landing::Landed::default(), &mut |line| say(line))
    };
    let told = receivers::notify(request, context, input, say);
    let kept = kept();
    told.and(kept)
}

/// On a laptop or another CI there is no pull request to speak to; a history may be there all the same.
fn outside(request: &PublishRequest, builtins: &[Benchmark], log: &mut Log<'_>) -> Result<()> {
    // A path that is wrong is an error here as anywhere.
    let named = request.what.as_deref().map(|what| find(Some(what), request, builtins)).transpose()?;
    if request.history.is_none() || request.issue || request.start || request.ended.is_some() {
        let what =
            "this is not a job of a CI that is known: there is no pull request and no commit to publish to";
        let next = "look at what would be said with `--dry-run`, append to a branch with `--history git:BRANCH`, or send \
                    the verdict to a program with `--to webhook=URL`";
        return Err(Fault::at("publish", what, next));
    }
    match named.map_or_else(|| find(None, request, builtins), Ok)? {
        FoundInput::Verdict(input) => {
            scheduled::append(request, None, &input, &landing::Landed::default(), log)
        }
        FoundInput::Untouched(_) => log("nothing was measured, and nothing is kept"),
    }
}
