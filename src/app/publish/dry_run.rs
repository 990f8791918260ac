//! `--dry-run`: the comment on standard output, and on standard error what else would be done. It sends no request.

use super::announcement::{checks, should_comment};
use super::destination::{is_service_told, webhooks};
use super::facts::publish_context;
use super::input::{FoundInput, PublishInput, find_unless_ended};
use super::landing::Landed;
use super::target::{Log, PublishRequest, check_name};
use super::{no_verdict, scheduled};
use crate::github::comments::CommentMode;
use crate::github::{Context, Host, WorkflowEvent};
use crate::model::{Fault, Result};
use crate::report::github::{self as render, CheckPage, PublishContext};
use crate::suite::Benchmark;

/// The comment, and the other requests that would be sent. `None`: there is no verdict, and `log` received the end of the check.
pub(crate) fn dry_run(
    request: &PublishRequest,
    context: Option<&Context>,
    builtins: &[Benchmark],
    log: &mut Log<'_>,
) -> Result<Option<(String, Vec<String>)>> {
    let is_service_told = is_service_told(&request.to, context)?;
    let name = check_name(context, &request.name, &request.label);
    let no_verdict = |code| {
        let ended = no_verdict::of_code(code);
        log(&format!("check {name}: would end as {}: {}", ended.conclusion.into_str(), ended.text))
    };
    let Some(found) = find_unless_ended(request, builtins, no_verdict)? else { return Ok(None) };
    Ok(match found {
        FoundInput::Verdict(input) => {
            let unverified = context.is_some_and(Context::is_fork);
            let shown = publish_context(request, context, Some(&input), unverified);
            let page = render::comment(&input.merged, &shown, "");
            Some((page, plan(request, context, &input, &shown, is_service_told)))
        }
        FoundInput::Untouched(job) => job.untouched.as_ref().map(|untouched| {
            let shown = publish_context(request, context, None, false);
            let plan = vec![
                would_end(&name, &render::check_untouched(untouched, &shown)),
                "comment: on the pull request, only if an existing one differs".into(),
            ];
            (render::untouched(untouched, &shown, ""), plan)
        }),
    })
}

fn would_end(name: &str, check: &CheckPage) -> String {
    format!("check {name}: would end as {}: {}", check.state.into_str(), check.title)
}

fn plan(
    request: &PublishRequest,
    context: Option<&Context>,
    input: &PublishInput,
    shown: &PublishContext,
    is_service_told: bool,
) -> Vec<String> {
    match context {
        Some(context) if context.event == WorkflowEvent::PullRequestTarget => {
            return vec!["nothing would be published: pull_request_target is refused".into()];
        }
        Some(context)
            if context.host() == Host::GitHub
                && context.event == WorkflowEvent::PullRequest
                && shown.unverified =>
        {
            let whose = "the `workflow_run` workflow publishes a fork's verdict";
            return vec![format!("nothing would be published: {whose}")];
        }
        _ => {}
    }
    let mut lines = Vec::new();
    if context.is_none() {
        lines.push(
            "this is not a job of a CI that is known: all but a history and webhooks needs one; in a job:"
                .into(),
        );
    }
    if request.summary {
        lines.push("summary: would be written".into());
    }
    lines
        .extend(webhooks(&request.to).map(|address| format!("webhook {address}: would be sent the verdict")));
    if !is_service_told {
        return lines;
    }
    if context.is_some_and(|context| context.host() == Host::Buildkite) {
        lines.push(format!(
            "annotation {}: would be written",
            check_name(context, &request.name, &request.label)
        ));
        return lines;
    }
    let checks = checks(request, context, &input.merged, shown);
    lines.extend(checks.iter().map(|(name, check)| would_end(name, check)));
    lines.push(format!("comment: {}", comment(request, context, input)));
    if request.issue {
        lines.push(format!("issue: {}", issue(context, input, shown)));
    }
    if let Some(address) = &request.history {
        lines.extend(history(context, input).into_iter().map(|what| format!("history {address}: {what}")));
    }
    lines
}

fn comment(request: &PublishRequest, context: Option<&Context>, input: &PublishInput) -> String {
    let pull = context.and_then(|context| context.pull_request.as_ref());
    let whose = match (pull, context) {
        (Some(pull), _) => format!("on #{}", pull.number),
        (None, Some(context)) if context.workflow_run.is_none() => {
            return format!("none, a run by {} is about no pull request", context.event.as_ref());
        }
        (None, _) => "on the pull request".into(),
    };
    match request.comment {
        CommentMode::Never => "none, as asked".into(),
        CommentMode::OnChange if !should_comment(&input.merged) => {
            format!("{whose}, only if an existing one differs: nothing changed")
        }
        CommentMode::OnChange => format!("{whose}, unless an existing one is the same"),
        CommentMode::Always => format!("{whose}, in any case"),
    }
}

fn refused(context: Option<&Context>) -> Option<String> {
    match context {
        Some(context) if context.workflow_run.is_some() => {
            Some("left alone, a `workflow_run` workflow publishes for pull requests".into())
        }
        context => scheduled::only_default_branch(context?).err().map(|fault| would_fail(&fault)),
    }
}

fn would_fail(fault: &Fault) -> String {
    format!("would fail with exit code {}: {}; {}", fault.exit.code(), fault.what, fault.next)
}

fn issue(context: Option<&Context>, input: &PublishInput, shown: &PublishContext) -> String {
    if let Some(refused) = refused(context) {
        return refused;
    }
    match scheduled::is_open(input, &Landed::default()) {
        Err(why) => format!("would be left as it is, {why}"),
        Ok(true) => {
            let (title, _) = render::issue(&input.merged, shown, None);
            format!("would be opened, or updated if one is open: {title}")
        }
        Ok(false) => "would be closed, if one is open".into(),
    }
}

fn history(context: Option<&Context>, input: &PublishInput) -> Vec<String> {
    if let Some(refused) = refused(context) {
        return vec![refused];
    }
    let words = |scheduled::HistoryCandidate { entry, refused }: &scheduled::HistoryCandidate| match refused {
        Some(why) => format!("run {} would not be kept: {why}", entry.run_id),
        None => format!("run {} of {} would be appended", entry.run_id, entry.branch),
    };
    match scheduled::candidates(input, context, &Landed::default()) {
        Err(fault) => vec![would_fail(&fault)],
        Ok(candidates) => candidates.iter().map(words).collect(),
    }
}
