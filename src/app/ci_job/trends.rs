//! Trends of the rows that a job has just measured, for the publishing job: `reports/trends.json`. Its own
//! failure fails no job: the verdict does not rest on it.

use std::collections::HashSet;
use std::path::Path;

use crate::app::compare::commits::MeasuredCommits;
use crate::app::history::{JobRun, TrendsOfJob, trends_of_job};
use crate::app::progress::Reporter;
use crate::app::reports::verdict_files::bytes_of;
use crate::app::request::SelectionRequest;
use crate::compare::VerdictDocument;
use crate::github::Context;
use crate::model::{Result, Shard};
use crate::store::write_atomically;
use crate::suite::Benchmark;

const TRENDS: &str = "trends.json";

const MOST_ROWS: usize = 64;

pub(super) struct TrendsRequest<'a> {
    /// Address of the history, else the usual one.
    pub history: Option<&'a str>,
    pub label: &'a str,
    pub shard: Option<Shard>,
    pub head: &'a str,
    pub config: &'a Path,
}

/// Writes the file where there is a history and something to say of it: of a pull request its changed rows, of a run of the
/// default branch all in which something happened.
pub(super) fn leave(
    request: &TrendsRequest<'_>,
    context: Option<&Context>,
    (measured, verdict): (&MeasuredCommits, &VerdictDocument),
    builtins: &[Benchmark],
    reporter: &Reporter,
) {
    let Some(context) = context else { return };
    if let Err(fault) = written(request, context, (measured, verdict), builtins) {
        reporter.note(&format!("history  {}: {}; {}", fault.place, fault.what, fault.next));
    }
}

fn written(
    request: &TrendsRequest<'_>,
    context: &Context,
    (measured, verdict): (&MeasuredCommits, &VerdictDocument),
    builtins: &[Benchmark],
) -> Result<()> {
    let pull = context.pull_request.as_ref();
    let branch = match (pull, &context.branch) {
        (Some(pull), _) => pull.base_branch.as_str(),
        (None, Some(branch)) if context.on_default_branch() => branch,
        _ => return Ok(()),
    };
    let rows: HashSet<_> = verdict.changed_rows().take(MOST_ROWS).collect();
    if pull.is_some() && rows.is_empty() {
        return Ok(());
    }
    let wanted = if pull.is_some() { TrendsOfJob::Rows(rows) } else { TrendsOfJob::Findings };
    let suite = SelectionRequest::of_file(Some(request.config.to_owned())).suite(builtins)?;
    let run = JobRun {
        record: measured.sides()?[1],
        commit: request.head,
        branch,
        label: request.label,
        event: context.event.as_ref(),
        shard: request.shard,
    };
    let Some(document) = trends_of_job(&suite, request.history, &run, &wanted)? else {
        return Ok(());
    };
    let bytes = bytes_of(|bytes| Ok(serde_json::to_writer(bytes, &document)?))?;
    write_atomically(&measured.reports().join(TRENDS), &bytes)
}
