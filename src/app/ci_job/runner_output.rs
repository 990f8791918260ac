//! The answer of a job of GitHub Actions next to its log: outputs and summary of the step, and annotations.

use super::note::{RunnerNote, within_limits};
use super::{CiResult, summary, untouched};
use crate::app::github::step_outputs;
use crate::github::Context;
use crate::github::commands::Level;
use crate::model::{Exit, Fault, Result};

pub(crate) fn annotations(result: &CiResult) -> Vec<RunnerNote> {
    match result {
        CiResult::Verdict(judged) => {
            let itself = judged.missing.map(|missing| summary::compared_with_itself(&judged.job, missing));
            let notes = summary::annotations(&judged.document, &judged.job);
            within_limits(itself.into_iter().chain(notes))
        }
        CiResult::Untouched { job, .. } => job.untouched.iter().map(untouched::note).collect(),
        CiResult::Interrupted { .. } => Vec::new(),
    }
}

pub(crate) fn write(result: &CiResult, exit: Exit, context: &Context) -> Result<()> {
    let exit_code = ("exit-code", exit.code().to_string());
    match result {
        CiResult::Verdict(judged) => {
            let document = &judged.document;
            step_outputs::append_summary(&summary::step_summary(document, &judged.job, Some(context)))?;
            step_outputs::answer(document.conclusion.into_str(), &document.counts)?;
            let path = |name: &str| judged.folder.join(name).display().to_string();
            step_outputs::set(&[
                ("record", path("head/results/record.json")),
                ("report", path("reports/verdict.md")),
                exit_code,
                ("folder", path("").trim_end_matches('/').to_owned()),
            ])
        }
        CiResult::Untouched { job, folder } => {
            step_outputs::append_summary(&summary::untouched_page(job, Some(context)))?;
            step_outputs::of_untouched()?;
            step_outputs::set(&[
                ("report", folder.join("reports/untouched.md").display().to_string()),
                exit_code,
                ("folder", folder.display().to_string()),
            ])
        }
        CiResult::Interrupted { .. } => step_outputs::set(&[exit_code]),
    }
}

pub(crate) fn fault_annotations(fault: &Fault) -> Vec<RunnerNote> {
    let note = |one: &Fault| RunnerNote {
        level: Level::Error,
        ..RunnerNote::warning("gbench-ci", summary::words_of(one))
    };
    fault.each().map(note).collect()
}

/// Writes summary and outputs of a step that decided nothing.
pub(crate) fn write_fault(fault: &Fault) -> Result<()> {
    step_outputs::append_summary(&summary::refused(fault))?;
    step_outputs::set(&[("exit-code", fault.exit.code().to_string())])
}
