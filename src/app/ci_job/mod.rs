//! The measuring job of CI: the event says which commit is judged and against which; the two are compared, and what the job
//! that publishes needs is left behind. Without a token: a benchmark runs as the same user.

mod base;
pub(crate) mod guard;
mod last_green;
mod note;
pub(crate) mod runner_output;
mod source_lines;
mod summary;
mod trends;
mod untouched;

use std::path::PathBuf;

pub(crate) use base::BaseSelection;
pub(crate) use note::RunnerNote;

use super::compare::commits;
use super::compare::fail_on::{FailOn, refuse_contradiction};
use super::progress::Reporter;
use super::reports::verdict_files::json_of;
use super::request::job_flags::job_flags;
use super::request::{Audience, CommitsRequest};
use super::store::stores::{history_of, store_of};
use crate::compare::VerdictDocument;
use crate::github::Context;
use crate::model::{Exit, Job, NoReference, Profile, Result, SCHEMA_JOB};
use crate::store::write_atomically;
use crate::suite::Benchmark;
use base::BaseRequest;
use trends::TrendsRequest;

/// The job, apart from what the event says.
#[derive(Clone, Debug, Default)]
pub(crate) struct CiJobRequest {
    pub comparison: CommitsRequest,
    pub base: Option<String>,
    /// Address of the history whose newest green commit is the base of scheduled runs.
    pub history: Option<String>,
    /// The classes that fail the job; empty: the gate's own policy.
    pub fail_on: Vec<FailOn>,
    /// The machine of a matrix; empty for the only one.
    pub label: String,
}

pub(crate) enum CiResult {
    Verdict(Box<JudgedJob>),
    /// The change touches nothing that is measured: the job's file is in the folder.
    Untouched {
        job: Box<Job>,
        folder: PathBuf,
    },
    Interrupted {
        signal: i32,
        folder: PathBuf,
    },
}

pub(crate) struct JudgedJob {
    pub document: VerdictDocument,
    pub job: Job,
    pub folder: PathBuf,
    /// The missing reference, where its commit was compared with itself for want of another.
    pub missing: Option<NoReference>,
    pub profiles: Vec<Profile>,
}

/// Which commit is judged, and against which. `context`: none outside of GitHub Actions. `warn`: told of a history that
/// could not be read, or not whole.
pub(crate) fn choose_base(
    request: &CiJobRequest,
    context: Option<&Context>,
    warn: &dyn Fn(&str),
) -> Result<BaseSelection> {
    request.comparison.run.settings.refuse_between_commits()?;
    // Also where this event asks neither: a mistake in a workflow is found in the first run and not at night.
    refuse_contradiction(&request.fail_on)?;
    request.history.as_deref().map(history_of).transpose()?;
    request.comparison.store.as_deref().map(store_of).transpose()?;
    let config = request.comparison.run.selection.suite_path()?;
    let root = config.parent().unwrap_or(&config);
    let newest = |address: &str| last_green::last_green(address, root, context, &request.label, warn);
    let asked = BaseRequest { base: request.base.as_deref(), history: request.history.as_deref() };
    base::choose(root, context, &asked, &newest)
}

/// From the base to the verdict, which may take hours.
pub(crate) fn judge(
    request: &CiJobRequest,
    context: Option<&Context>,
    base: &BaseSelection,
    builtins: &[Benchmark],
    reporter: &Reporter,
) -> Result<CiResult> {
    let mut comparison = request.comparison.clone();
    let config = comparison.run.selection.suite_path()?;
    if let Some(untouched) = untouched::of(&config, context, base, builtins)? {
        let job = Job { untouched: Some(untouched), ..job_of(request, context, base, Exit::Pass.code()) };
        let page = summary::untouched_page(&job, context);
        let artifacts = comparison.run.output.artifacts.as_deref();
        let folder = untouched::leave(&config, artifacts, &job, &page, builtins)?;
        return Ok(CiResult::Untouched { job: Box::new(job), folder });
    }

    let is_pull = context.is_some_and(|context| context.pull_request.is_some());
    comparison.no_reference = base.missing;
    comparison.audience = if is_pull { Audience::PullRequest } else { Audience::Job };
    comparison.range = Some(base.range());
    let mut measured = commits::measure(&comparison, builtins, reporter)?;
    let folder = measured.folder.root().to_owned();
    if let Some(signal) = measured.interrupted() {
        return Ok(CiResult::Interrupted { signal, folder });
    }
    let document = measured.profiled_verdict(reporter)?;
    let (suite, root) = &measured.head;
    let job = Job {
        sources: source_lines::of(suite, root, base.head.as_str()),
        cut: measured.cut(),
        ..job_of(request, context, base, document.exit_code)
    };
    let about = TrendsRequest {
        history: request.history.as_deref(),
        label: &request.label,
        shard: request.comparison.run.selection.shard,
        head: base.head.as_str(),
        config: &config,
    };
    trends::leave(&about, context, (&measured, &document), builtins, reporter);
    write_atomically(&folder.join("job.json"), &json_of(&job)?)?;
    let profiles = measured.profiles().cloned().collect();
    Ok(CiResult::Verdict(Box::new(JudgedJob { document, job, folder, missing: base.missing, profiles })))
}

fn job_of(request: &CiJobRequest, context: Option<&Context>, base: &BaseSelection, exit_code: u8) -> Job {
    Job {
        schema: SCHEMA_JOB.into(),
        event: context.map_or("none", |context| context.event.as_ref()).to_owned(),
        head: Some(base.head.to_string()),
        pull_request: context.and_then(|context| context.pull_request.as_ref()).map(|pull| pull.number),
        base: base.choice.clone(),
        label: request.label.clone(),
        shard: request.comparison.run.selection.shard,
        cut: None,
        exit_code,
        fail_on: request.fail_on.iter().map(|class| class.into_str().to_owned()).collect(),
        flags: job_flags(&request.comparison.run, &request.comparison.profile),
        sources: Vec::new(),
        fork: context.is_some_and(Context::is_fork),
        untouched: None,
    }
}
