//! Facts of the publishing side about a verdict, for its texts.

use super::input::PublishInput;
use super::target::{PublishRequest, PublishTarget, run_url};
use crate::app::request::job_flags::shell_job_flags;
use crate::github::{Context, WorkflowEvent};
use crate::model::BaseChoice;
use crate::report::github::PublishContext;

pub(super) fn shown(
    target: &PublishTarget<'_>,
    input: Option<&PublishInput>,
    unverified: bool,
) -> PublishContext {
    publish_context(target.request, Some(&target.context), input, unverified)
}

/// The publishing side next to the verdict. Of another workflow's job only what cannot mislead is taken: the policy is this
/// command line's, the links are ours.
pub(super) fn publish_context(
    request: &PublishRequest,
    context: Option<&Context>,
    input: Option<&PublishInput>,
    unverified: bool,
) -> PublishContext {
    let job = input.and_then(|input| input.job.as_ref());
    let ours = context.is_none_or(|context| context.event != WorkflowEvent::WorkflowRun);
    let fail_on = match job {
        _ if !request.fail_on.is_empty() => {
            request.fail_on.iter().map(|class| class.into_str().to_owned()).collect()
        }
        Some(job) if ours => job.fail_on.clone(),
        _ => Vec::new(),
    };
    let run_url = context.and_then(run_url);
    PublishContext {
        gate: request.name.clone(),
        head: context
            .map(|context| context.head.to_string())
            .or_else(|| job.and_then(|job| job.head.clone())),
        base: job.map_or_else(BaseChoice::default, |job| job.base.clone()),
        report_url: run_url.clone(),
        run_url,
        unverified,
        flags: job.map_or_else(String::new, |job| shell_job_flags(&job.flags)),
        sources: job.map_or_else(Vec::new, |job| job.sources.clone()),
        fail_on,
        server: context
            .map_or_else(|| "https://github.com".into(), |context| context.endpoint.server.clone()),
        host: context.map(Context::host).unwrap_or_default(),
        slug: context.and_then(Context::repository),
        pages: request.pages.clone(),
        trends: input.map_or_else(Vec::new, |input| input.trends.clone()),
        ..PublishContext::default()
    }
}
