//! A verdict becomes a comment, a check, a summary; of a scheduled run an issue and a line of history.
//!
//! ```text
//! request       what is to be published, and for whom
//! input         the verdict, out of a folder
//! target        the repository and the commit, and by whose token
//! pull_request  comment and checks
//! recipients    the pull requests that a check is about
//! no_verdict    checks that end without a verdict
//! scheduled     issue and history of the default branch
//! local_branch  the branch and the default branch of a checkout outside of a job
//! dry_run       the same without sending anything
//! ```

mod dry_run;
mod input;
mod local_branch;
mod no_verdict;
mod pull_request;
mod recipients;
mod request;
mod scheduled;
mod target;

pub use dry_run::{DryRun, dry_run};
pub use request::{Log, PublishRequest};
pub use target::gate_name;

use crate::app::fail_on::refuse_contradiction;
use crate::app::stores::history_of;
use crate::github::{Context, WorkflowEvent};
use crate::model::{Exit, Fault, Result};
use crate::suite::Benchmark;
use input::FoundInput;
use recipients::Recipients;
use target::PublishTarget;

/// Refuses what can be told wrong before anything is sent: what comes last must not fail for a typing mistake.
pub fn check(request: &PublishRequest) -> Result<()> {
    refuse_contradiction(&request.fail_on)?;
    request.history.as_deref().map(history_of).transpose()?;
    Ok(())
}

/// Publishes by the event. `context`: none outside of GitHub Actions. Errors: of [`Exit::Unpublished`] what could not be
/// sent, of [`Exit::Machine`] an event in which nothing may be published.
pub fn publish(
    request: &PublishRequest,
    context: Option<Context>,
    builtins: &[Benchmark],
    log: &mut Log<'_>,
) -> Result<()> {
    let Some(context) = context else { return outside(request, builtins, log) };
    if context.event == WorkflowEvent::PullRequestTarget {
        let what = "pull_request_target runs beside a stranger's code with the rights of the base";
        let next = "publish from a `workflow_run` workflow: `gbench-ci init --github` writes one";
        return Err(Fault::at("the event", what, next).exits(Exit::Machine));
    }
    if context.event == WorkflowEvent::PullRequest && context.is_fork() {
        return log(
            "nothing is published: a fork's run may only read; the `workflow_run` workflow publishes it",
        );
    }
    let target = PublishTarget::open(request, context)?;
    match &target.context.workflow_run {
        Some(run) => pull_request::for_run(request, &target, run, log),
        None if request.start => pull_request::begin(request, &target, log),
        None => for_job(request, &target, builtins, log),
    }
}

/// After the job that measured, or a part of it.
fn for_job(
    request: &PublishRequest,
    target: &PublishTarget,
    builtins: &[Benchmark],
    log: &mut Log<'_>,
) -> Result<()> {
    // A gate that failed early leaves nothing, and its check must not stay in progress for ever. What an earlier run left on
    // the same machine is not its answer.
    let input = match (&request.what, request.ended) {
        (None, Some(code)) => return nothing(request, target, code, log),
        (what, code) => match (input::find(what.as_deref(), request, builtins), code) {
            (Err(fault), Some(code)) => {
                nothing(request, target, code, log)?;
                return Err(fault);
            }
            (input, _) => input?,
        },
    };
    match input {
        FoundInput::Verdict(input) => {
            pull_request::for_event(request, target, &input, log)?;
            scheduled::carry_out(request, target, &input, log)
        }
        FoundInput::Untouched(job) => {
            pull_request::same_commit(&job, &target.context.head)?;
            pull_request::untouched(request, target, &job, &Recipients::of_event(target)?, log)
        }
    }
}

/// There is no verdict, and who waits for one has to hear it.
fn nothing(request: &PublishRequest, target: &PublishTarget, code: u8, log: &mut Log<'_>) -> Result<()> {
    let ended = no_verdict::of_code(code);
    pull_request::without_verdict(request, target, &ended, &Recipients::of_event(target)?, log)?;
    scheduled::without_verdict(request, target, &ended, log)
}

/// On a laptop or another CI there is no pull request to speak to; a history may be there all the same.
fn outside(request: &PublishRequest, builtins: &[Benchmark], log: &mut Log<'_>) -> Result<()> {
    // A path that is wrong is an error here as anywhere.
    let named = request.what.as_deref().map(|what| input::find(Some(what), request, builtins)).transpose()?;
    if request.history.is_none() || request.issue || request.start || request.ended.is_some() {
        let what = "this is no job of GitHub Actions: there is no pull request and no commit to publish to";
        let next =
            "look at what would be said with `--dry-run`, or append to a branch with `--history git:BRANCH`";
        return Err(Fault::at("publish", what, next));
    }
    match named.map_or_else(|| input::find(None, request, builtins), Ok)? {
        FoundInput::Verdict(input) => scheduled::append(request, None, &input, log),
        FoundInput::Untouched(_) => log("nothing was measured, and nothing is kept"),
    }
}
