//! `--dry-run`: the comment on standard output, and on standard error what else would be done. Nobody is asked.

use std::io::Write;

use super::place::check_name;
use super::post::{checks, facts, should_comment};
use super::source::{self, Found, Material};
use super::{PublishArgs, ended, nightly};
use crate::cli::terminal::write::wrote;
use crate::github::comments::CommentMode;
use crate::github::{Context, WorkflowEvent, commands};
use crate::model::{Fault, Job, Result};
use crate::report::github as render;
use crate::suite::Benchmark;

pub fn run(
    args: &PublishArgs,
    context: Option<&Context>,
    builtins: &[Benchmark],
    out: &mut impl Write,
) -> Result<()> {
    let without_verdict = |code| {
        let ended = ended::of_code(code);
        let name = check_name(context, &args.name, &args.label);
        tell(&[format!("check {name}: would end as {}: {}", ended.conclusion.word(), ended.text)]);
    };
    let material = match (&args.what, args.ended) {
        (None, Some(code)) => {
            without_verdict(code);
            return Ok(());
        }
        (what, code) => source::here(what.as_deref(), args, builtins)
            .inspect_err(|_| code.into_iter().for_each(without_verdict))?,
    };
    let material = match material {
        Found::Verdict(material) => material,
        Found::Untouched(job) => return untouched(args, context, &job, out),
    };
    let unverified = context.is_some_and(Context::is_fork);
    let page = render::comment(&material.merged, &facts(args, context, Some(&material), unverified), "");
    wrote(writeln!(out, "{}", page.trim_end()).and_then(|()| out.flush()))?;
    tell(&plan(args, context, &material, unverified));
    Ok(())
}

fn untouched(args: &PublishArgs, context: Option<&Context>, job: &Job, out: &mut impl Write) -> Result<()> {
    let Some(untouched) = &job.untouched else { return Ok(()) };
    let facts = facts(args, context, None, false);
    let page = render::untouched(untouched, &facts, "");
    wrote(writeln!(out, "{}", page.trim_end()).and_then(|()| out.flush()))?;
    let (name, check) =
        (check_name(context, &args.name, &args.label), render::check_untouched(untouched, &facts));
    let whose = "on the pull request, only if one is there that says otherwise";
    tell(&[
        format!("check {name}: would end as {}: {}", check.state.word(), check.title),
        format!("comment: {whose}"),
    ]);
    Ok(())
}

fn tell(lines: &[String]) {
    for line in lines {
        // Lost with standard error, which is no reason to fail.
        let _ = writeln!(std::io::stderr(), "{}", commands::line(line));
    }
}

/// What would be done beside what is printed, in the order of doing it.
fn plan(args: &PublishArgs, context: Option<&Context>, material: &Material, unverified: bool) -> Vec<String> {
    match context {
        Some(context) if context.event == WorkflowEvent::PullRequestTarget => {
            return vec!["nothing would be published: pull_request_target is refused".into()];
        }
        Some(context) if context.event == WorkflowEvent::PullRequest && unverified => {
            let whose = "the `workflow_run` workflow publishes a fork's verdict";
            return vec![format!("nothing would be published: {whose}")];
        }
        _ => {}
    }
    let mut lines = Vec::new();
    if context.is_none() {
        lines.push("this is no job of GitHub Actions: all but a history needs one; in a job:".into());
    }
    if args.summary {
        lines.push("summary: would be written".into());
    }
    let facts = facts(args, context, Some(material), unverified);
    for (name, check) in checks(args, context, &material.merged, &facts) {
        lines.push(format!("check {name}: would end as {}: {}", check.state.word(), check.title));
    }
    lines.push(format!("comment: {}", comment(args, context, material)));
    if args.issue {
        lines.push(format!("issue: {}", issue(context, material, &facts)));
    }
    if let Some(address) = &args.history {
        lines.extend(history(context, material).into_iter().map(|what| format!("history {address}: {what}")));
    }
    lines
}

fn comment(args: &PublishArgs, context: Option<&Context>, material: &Material) -> String {
    let pull = context.and_then(|context| context.pull_request.as_ref());
    let whose = match (pull, context) {
        (Some(pull), _) => format!("on #{}", pull.number),
        (None, Some(context)) if context.workflow_run.is_none() => {
            return format!("none, a run by {} is about no pull request", context.event.word());
        }
        (None, _) => "on the pull request".into(),
    };
    match args.comment {
        CommentMode::Never => "none, as asked".into(),
        CommentMode::OnChange if !should_comment(&material.merged) => {
            format!("{whose}, only if one is there that says otherwise: nothing changed")
        }
        CommentMode::OnChange => format!("{whose}, unless one is there that says so already"),
        CommentMode::Always => format!("{whose}, in any case"),
    }
}

/// Why issue and history would be left alone.
fn refused(context: Option<&Context>) -> Option<String> {
    match context {
        Some(context) if context.workflow_run.is_some() => {
            Some("left alone, a `workflow_run` workflow publishes for pull requests".into())
        }
        context => nightly::only_default_branch(context?).err().map(|fault| would_fail(&fault)),
    }
}

fn would_fail(fault: &Fault) -> String {
    format!("would fail with exit code {}: {}; {}", fault.exit.code(), fault.what, fault.next)
}

fn issue(context: Option<&Context>, material: &Material, facts: &render::PublishContext) -> String {
    if let Some(refused) = refused(context) {
        return refused;
    }
    match nightly::is_open(material) {
        Err(why) => format!("would be left as it is, {why}"),
        Ok(true) => {
            let (title, _) = render::issue(&material.merged, facts, None);
            format!("would be opened, or updated if one is open: {title}")
        }
        Ok(false) => "would be closed, if one is open".into(),
    }
}

fn history(context: Option<&Context>, material: &Material) -> Vec<String> {
    if let Some(refused) = refused(context) {
        return vec![refused];
    }
    let words = |nightly::Candidate { entry, refused }: &nightly::Candidate| match refused {
        Some(why) => format!("run {} would not be kept: {why}", entry.run_id),
        None => format!("run {} of {} would be appended", entry.run_id, entry.branch),
    };
    match nightly::candidates(material, context) {
        Err(fault) => vec![would_fail(&fault)],
        Ok(candidates) => candidates.iter().map(words).collect(),
    }
}
