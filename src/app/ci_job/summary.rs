//! The job's own summary and annotations.

use super::note::RunnerNote;
use crate::app::request::job_flags::shell_job_flags;
use crate::compare::{Merged, VerdictDocument};
use crate::github::Context;
use crate::github::commands::{self, Level};
use crate::model::{Fault, Job, NoReference};
use crate::report::github::{self as render, PublishContext};

/// The step's summary in Markdown: the whole report, and what it was measured against.
pub(super) fn step_summary(document: &VerdictDocument, job: &Job, context: Option<&Context>) -> String {
    render::step_summary(&merged(document, job), &publish_context(job, context))
}

fn merged(document: &VerdictDocument, job: &Job) -> Merged {
    Merged::single(&job.label, document.clone())
}

/// Nothing that needs a token: what the event and the job say.
fn publish_context(job: &Job, context: Option<&Context>) -> PublishContext {
    PublishContext {
        gate: String::new(),
        head: job.head.clone(),
        base: job.base.clone(),
        run_url: context.and_then(Context::run_url),
        report_url: None,
        unverified: job.fork,
        flags: shell_job_flags(&job.flags)
            + &job.shard.map_or(String::new(), |shard| format!(" --shard {shard}")),
        sources: job.sources.clone(),
        fail_on: job.fail_on.clone(),
        server: context.map_or_else(String::new, |context| context.endpoint.server.clone()),
        host: context.map(Context::host).unwrap_or_default(),
        slug: context.and_then(Context::repository),
        ..PublishContext::default()
    }
}

/// The page of a change that touches nothing that is measured.
pub(super) fn untouched_page(job: &Job, context: Option<&Context>) -> String {
    let page = |untouched| render::untouched(untouched, &publish_context(job, context), "");
    job.untouched.as_ref().map_or(String::new(), page)
}

pub(super) fn refused(fault: &Fault) -> String {
    let each: Vec<String> = fault.each().map(words_of).collect();
    format!("### gbench-ci measured nothing\n\n{}", block(&each.join("\n\n")))
}

pub(super) fn words_of(fault: &Fault) -> String {
    format!("{}: {}\nnext: {}", fault.place, fault.what, fault.next)
}

/// Text in a fence longer than any within it.
fn block(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", commands::seen(text, |c| c == '\n'))
}

/// Rows that failed or stayed undecided, most severe first, as annotations at their source.
pub(super) fn annotations(document: &VerdictDocument, job: &Job) -> Vec<RunnerNote> {
    let annotations = render::annotations_of_log(&merged(document, job), &publish_context(job, None));
    let note = |annotation: render::BenchmarkAnnotation| {
        let (path, line) = annotation.place.unzip();
        let level = if annotation.failure { Level::Error } else { Level::Warning };
        RunnerNote { level, path, line, title: annotation.title, message: annotation.message }
    };
    annotations.into_iter().map(note).collect()
}

/// A commit that was compared with itself, for want of another: nothing is decided then.
pub(super) fn compared_with_itself(job: &Job, missing: NoReference) -> RunnerNote {
    let message = format!("base: {}\nnext: {}", job.base.why, missing.next());
    RunnerNote::warning("compared with itself", message)
}
