//! The measuring job of CI: the event says which commit is judged and against which; the two are compared, and what the job
//! that publishes needs is left behind. Without a token: a benchmark runs as the same user.
//!
//! ```text
//! guard          events and forks that are refused; tokens that benchmarks must not find
//! base           which commit is judged, against which, and why
//! last_green     the base of a scheduled run, out of a history
//! untouched      a change that touches nothing of what is measured
//! source_lines   where each benchmark's source is
//! summary        the job's own summary and annotations
//! runner_output  outputs and summary of the step
//! note           an annotation in the log
//! ```

mod base;
pub mod guard;
mod last_green;
mod note;
mod result;
pub mod runner_output;
mod source_lines;
mod summary;
mod untouched;

use std::cell::RefCell;

pub use base::{BaseSelection, JudgedHead};
pub use note::RunnerNote;
pub use result::{CiResult, JudgedJob};

use super::compare_commits;
use super::fail_on::{FailOn, refuse_contradiction};
use super::job_flags::job_flags;
use super::progress::Reporter;
use super::request::{Audience, CommitsRequest};
use super::stores::{history_of, store_of};
use super::verdict_files::write_reports;
use crate::github::Context;
use crate::model::{Exit, Fault, Job, Result, SCHEMA_JOB};
use crate::store::write_atomically;
use crate::suite::Benchmark;
use base::BaseRequest;

/// The job, apart from what the event says.
#[derive(Clone, Debug, Default)]
pub struct CiJobRequest {
    /// The comparison, without its range.
    pub comparison: CommitsRequest,
    /// Base instead of the event's.
    pub base: Option<String>,
    /// Address of the history whose newest green commit is the base of scheduled runs.
    pub history: Option<String>,
    /// The classes that fail the job; empty: the gate's own policy.
    pub fail_on: Vec<FailOn>,
    /// The machine of a matrix; empty for the only one.
    pub label: String,
}

/// Observes the job until its measurement begins.
pub trait CiObserver {
    /// A history could not be read, or not whole.
    fn warning(&mut self, text: &str);
    /// The base is chosen; what follows may take hours.
    fn base_chosen(&mut self, base: &BaseSelection) -> Result<()>;
    /// The observer of the measurement.
    fn reporter(&mut self) -> Reporter;
}

/// From the event to the verdict. `context`: none outside of GitHub Actions.
pub fn judge(
    request: &CiJobRequest,
    context: Option<&Context>,
    builtins: &[Benchmark],
    observer: &mut dyn CiObserver,
) -> Result<CiResult> {
    let mut comparison = request.comparison.clone();
    comparison.settings.refuse_between_commits()?;
    // Also where this event asks neither: a mistake in a workflow is found in the first run and not at night.
    refuse_contradiction(&request.fail_on)?;
    request.history.as_deref().map(history_of).transpose()?;
    comparison.store.as_deref().map(store_of).transpose()?;
    let config = comparison.selection.suite_path()?;
    let root = config.parent().unwrap_or(&config);
    let observer = RefCell::new(observer);
    let newest = |address: &str| {
        let mut warn = |text: &str| observer.borrow_mut().warning(text);
        last_green::last_green(address, root, context, &request.label, &mut warn)
    };
    let asked = BaseRequest { base: request.base.as_deref(), history: request.history.as_deref() };
    let base = base::choose(root, context, &asked, &newest)?;
    observer.borrow_mut().base_chosen(&base)?;

    if let Some(untouched) = untouched::of(&config, context, &base, builtins)? {
        let job = Job { untouched: Some(untouched), ..job_of(request, context, &base, Exit::Pass.code()) };
        let page = summary::untouched_page(&job, context);
        let artifacts = comparison.output.artifacts.as_deref();
        let folder = untouched::leave(&config, artifacts, &job, &page, builtins)?;
        return Ok(CiResult::Untouched { job: Box::new(job), folder });
    }

    let is_pull = context.is_some_and(|context| context.pull_request.is_some());
    comparison.no_reference = base.missing;
    comparison.audience = if is_pull { Audience::PullRequest } else { Audience::Job };
    comparison.range = Some(base.range());
    let reporter = observer.borrow_mut().reporter();
    let measured = compare_commits::measure(&comparison, builtins, &reporter)?;
    let folder = measured.folder.root().to_owned();
    if let Some(signal) = measured.interrupted() {
        return Ok(CiResult::Interrupted { signal, folder });
    }
    let document = measured.verdict()?;
    write_reports(&document, &measured.reports())?;
    let (suite, root) = &measured.head;
    let job = Job {
        sources: source_lines::of(suite, root, base.head.commit()),
        ..job_of(request, context, &base, document.exit_code)
    };
    let bytes = serde_json::to_vec_pretty(&job).map_err(|error| Fault::defect("job.json", error))?;
    write_atomically(&folder.join("job.json"), &bytes)?;
    Ok(CiResult::Verdict(Box::new(JudgedJob { document, job, folder, missing: base.missing })))
}

/// The job beside its verdict, without the source lines of what it measured.
fn job_of(request: &CiJobRequest, context: Option<&Context>, base: &BaseSelection, exit_code: u8) -> Job {
    Job {
        schema: SCHEMA_JOB.into(),
        event: context.map_or("none", |context| context.event.as_ref()).to_owned(),
        head: Some(base.head.commit().to_owned()),
        pull_request: context.and_then(|context| context.pull_request.as_ref()).map(|pull| pull.number),
        base: base.choice.clone(),
        label: request.label.clone(),
        shard: request.comparison.selection.shard,
        exit_code,
        fail_on: request.fail_on.iter().map(|class| class.into_str().to_owned()).collect(),
        flags: job_flags(&request.comparison.selection, &request.comparison.settings),
        sources: Vec::new(),
        fork: context.is_some_and(Context::is_fork),
        untouched: None,
    }
}
