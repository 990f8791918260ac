//! The runs before a pull request's head, for the comment's table of its changed rows. The job that measures has no history
//! in its checkout, and this side does not need its word for it.

use std::borrow::Cow;

use super::input::PublishInput;
use super::recipients::Recipients;
use super::target::PublishTarget;
use crate::app::history::{RowsOfMachine, trends_of_rows, usual_branch_of};
use crate::compare::{Group, Row};
use crate::github::WorkflowEvent;
use crate::model::Result;
use crate::trend::{TrendsDocument, V1Series, V1TrendRun};

/// Rows of a machine whose history is looked up.
const MOST_ROWS: usize = 20;

/// Adds what the history of the default branch shows of the changed rows, unless the measuring job said it. A history that
/// cannot be read is told to the log. Errors: the log's.
pub(super) fn with_trends<'i>(
    target: &PublishTarget<'_>,
    input: &'i PublishInput,
    recipients: &Recipients,
) -> Result<Cow<'i, PublishInput>> {
    let machines = machines(target, input);
    if !target.has_decisions()
        || !input.trends.is_empty()
        || machines.is_empty()
        || recipients.only().is_none()
    {
        return Ok(Cow::Borrowed(input));
    }
    let address = usual_branch_of(&target.context.slug);
    let branch = target.context.default_branch.as_deref();
    let documents = match trends_of_rows(&address, branch, &machines) {
        Ok(documents) => documents,
        Err(fault) => {
            let next = "give the job `contents: read`, or see whether the branch is whole";
            target.log(&format!("history {address}: not shown with the rows: {}; {next}", fault.what))?;
            return Ok(Cow::Borrowed(input));
        }
    };
    let trends = documents.into_iter().filter_map(|document| with_head(document, input)).collect();
    Ok(Cow::Owned(PublishInput { trends, ..input.clone() }))
}

fn machines<'i>(target: &PublishTarget<'_>, input: &'i PublishInput) -> Vec<RowsOfMachine<'i>> {
    let groups = &input.merged.groups;
    // As many jobs a machine as the matrix has of each.
    let parts = (target.request.expect.unwrap_or(1) as usize / groups.len().max(1)).max(1);
    let rows = |group: &'i Group| group.verdict.changed_rows().take(MOST_ROWS).collect();
    let machine = |group: &'i Group| RowsOfMachine { label: &group.label, rows: rows(group), parts };
    let machines = groups.iter().map(machine);
    machines.filter(|machine| !machine.rows.is_empty()).collect()
}

fn with_head(document: TrendsDocument, input: &PublishInput) -> Option<TrendsDocument> {
    let label = document.series.first()?.label.clone();
    let group = input.merged.groups.iter().find(|group| group.label == label)?;
    let head = &group.verdict.head;
    let run = V1TrendRun {
        run_id: head.run_id.clone(),
        started: head.started.clone(),
        commit: head.commit.clone()?,
        branch: document.series.first()?.branch.clone(),
        label,
        host: None,
        event: WorkflowEvent::PullRequest.as_ref().into(),
        conclusion: None,
    };
    let figure = |series: &V1Series| {
        let of_series = |row: &&Row| row.case == series.case && row.metric == series.metric;
        let row = group.verdict.rows.iter().find(of_series)?;
        let [_, head] = row.centres();
        head.filter(|_| row.unit == series.unit)
    };
    Some(document.with_newest(run, figure))
}
