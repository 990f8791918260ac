//! What a job of GitHub Actions hears beside the log: the step's outputs, its summary, annotations.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{CameTo, Done, after, untouched};
use crate::cli::outputs;
use crate::cli::terminal::write::wrote;
use crate::github::Context;
use crate::github::commands::{self, ANNOTATIONS, Level};
use crate::model::{Exit, Fault, Job, Result};

/// A file that the runner names; `None` where it names none.
fn file(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Tells what was decided. Commands are obeyed here: nothing goes out but through them.
pub fn verdict(done: &Done, context: &Context, out: &mut impl Write) -> Result<()> {
    let judged = match &done.came_to {
        CameTo::Verdict(judged) => judged,
        CameTo::Untouched(job, folder) => return nothing_measured(job, folder, context, out),
        CameTo::Interrupted => return outputs::set(&[("exit-code", done.exit.code().to_string())]),
    };
    let document = &judged.document;
    let itself = judged.missing.map(|missing| after::compared_with_itself(&judged.job, missing));
    for note in within_limits(itself.into_iter().chain(after::annotations(document, &judged.job))) {
        annotate(&note, out)?;
    }
    if let Some(file) = file("GITHUB_STEP_SUMMARY") {
        commands::append_summary(&file, &after::step_summary(document, &judged.job, Some(context)))?;
    }
    outputs::of_answer(document.conclusion, &document.counts)?;
    let path = |name: &str| judged.folder.join(name).display().to_string();
    outputs::set(&[
        ("record", path("head/results/record.json")),
        ("report", path("reports/verdict.md")),
        ("exit-code", done.exit.code().to_string()),
        ("folder", path("").trim_end_matches('/').to_owned()),
    ])
}

fn annotate(note: &Note, out: &mut impl Write) -> Result<()> {
    let Note { level, path, line, title, message } = note;
    wrote(writeln!(out, "{}", commands::annotation(*level, path.as_deref(), *line, title, message)))
}

/// Tells that nothing was measured.
fn nothing_measured(job: &Job, folder: &Path, context: &Context, out: &mut impl Write) -> Result<()> {
    if let Some(untouched) = &job.untouched {
        annotate(&untouched::note(untouched), out)?;
    }
    if let Some(file) = file("GITHUB_STEP_SUMMARY") {
        commands::append_summary(&file, &after::untouched_page(job, Some(context)))?;
    }
    outputs::of_untouched()?;
    outputs::set(&[
        ("report", folder.join("reports/untouched.md").display().to_string()),
        ("exit-code", Exit::Pass.code().to_string()),
        ("folder", folder.display().to_string()),
    ])
}

/// An annotation in the log.
pub struct Note {
    pub level: Level,
    pub path: Option<String>,
    pub line: Option<u32>,
    pub title: String,
    pub message: String,
}

/// The first of each level: the runner drops what comes after them.
fn within_limits(notes: impl Iterator<Item = Note>) -> Vec<Note> {
    let mut told = std::collections::HashMap::new();
    let mut fits = |note: &Note| {
        let count = told.entry(note.level).or_insert(0);
        *count += 1;
        *count <= ANNOTATIONS
    };
    notes.filter(|note| fits(note)).collect()
}

/// Tells why nothing was decided, as far as there is a place for it: the fault itself goes its usual way.
pub fn fault(fault: &Fault, out: &mut impl Write) -> Result<()> {
    for one in fault.each() {
        let message = format!("{}: {}\nnext: {}", one.place, one.what, one.next);
        let line = commands::annotation(Level::Error, None, None, "gbench-ci", &message);
        wrote(writeln!(out, "{line}"))?;
    }
    wrote(out.flush())?;
    if let Some(file) = file("GITHUB_STEP_SUMMARY") {
        commands::append_summary(&file, &after::refused(fault))?;
    }
    outputs::set(&[("exit-code", fault.exit.code().to_string())])
}

/// The log cannot be written, so that nothing from it could be kept from the runner.
pub fn unheard(error: io::Error) -> Fault {
    Fault::at_path(Path::new("standard output"), error, "give the job a log that can be written")
        .exits(Exit::Internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n18_the_log_has_no_more_annotations_of_a_level_than_the_runner_takes() {
        let note = |level| Note { level, path: None, line: None, title: "t".into(), message: "m".into() };
        let notes = (0..40).map(|index| note(if index % 4 == 0 { Level::Error } else { Level::Warning }));
        let told = within_limits(notes);
        let count = |level| told.iter().filter(|note| note.level == level).count();
        assert_eq!((count(Level::Error), count(Level::Warning)), (10, 10));
    }
}
