//! The answer of a job of GitHub Actions beside its log: outputs and summary of the step, and annotations.

use std::path::PathBuf;

use super::note::{RunnerNote, within_limits};
use super::result::CiResult;
use super::{summary, untouched};
use crate::app::step_outputs;
use crate::github::Context;
use crate::github::commands::{Level, append_summary};
use crate::model::{Exit, Fault, Result};

/// The annotations of a result, as many as the runner takes.
pub fn annotations(result: &CiResult) -> Vec<RunnerNote> {
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

/// Writes the step's summary and outputs.
pub fn write(result: &CiResult, exit: Exit, context: &Context) -> Result<()> {
    let exit_code = ("exit-code", exit.code().to_string());
    match result {
        CiResult::Verdict(judged) => {
            let document = &judged.document;
            append(|| summary::step_summary(document, &judged.job, Some(context)))?;
            step_outputs::of_answer(document.conclusion, &document.counts)?;
            let path = |name: &str| judged.folder.join(name).display().to_string();
            step_outputs::set(&[
                ("record", path("head/results/record.json")),
                ("report", path("reports/verdict.md")),
                exit_code,
                ("folder", path("").trim_end_matches('/').to_owned()),
            ])
        }
        CiResult::Untouched { job, folder } => {
            append(|| summary::untouched_page(job, Some(context)))?;
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

/// The annotations of a fault: why nothing was decided.
pub fn fault_annotations(fault: &Fault) -> Vec<RunnerNote> {
    let note = |one: &Fault| {
        let message = format!("{}: {}\nnext: {}", one.place, one.what, one.next);
        RunnerNote { level: Level::Error, ..RunnerNote::warning("gbench-ci", message) }
    };
    fault.each().map(note).collect()
}

/// Writes summary and outputs of a step that decided nothing.
pub fn write_fault(fault: &Fault) -> Result<()> {
    append(|| summary::refused(fault))?;
    step_outputs::set(&[("exit-code", fault.exit.code().to_string())])
}

/// Appends to the step's summary, where the runner names a file for it.
fn append(page: impl FnOnce() -> String) -> Result<()> {
    let file = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|file| !file.is_empty()).map(PathBuf::from);
    file.map_or(Ok(()), |file| append_summary(&file, &page()))
}
