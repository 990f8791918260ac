//! What the job says and asks elsewhere: the words of its summary and annotations, and the history that scheduled runs go
//! by.

use std::path::Path;

use super::tell::Note;
use crate::cli::compare::rendered;
use crate::compare::{Row, Verdict, VerdictDocument};
use crate::github::Context;
use crate::github::commands::Level;
use crate::model::{Fault, Job, Result};
use crate::report::{Format, Style};

/// The newest commit that a history calls green, for one branch and machine.
pub fn newest_green(
    address: &str,
    _home: &Path,
    _context: Option<&Context>,
    _label: &str,
) -> Result<Option<String>> {
    let what = "no history can be read yet";
    Err(Fault::at_flag(format!("--history {address}"), what, "take it out, and name a base with `--base`"))
}

/// The step's summary in Markdown: the whole report, and what it was measured against.
pub fn step_summary(document: &VerdictDocument, job: &Job) -> Result<String> {
    let report = rendered(document, Format::Markdown, Style::PLAIN, true)?;
    let commit = job.base.commit.as_deref().and_then(|commit| commit.get(..10)).unwrap_or("?");
    let base = block(&format!("base {commit}: {}", job.base.why));
    Ok(format!("{base}\n{}", String::from_utf8_lossy(&report)))
}

/// The summary of a step that decided nothing.
pub fn refused(fault: &Fault) -> String {
    let each = fault.each().map(|one| format!("{}: {}\nnext: {}", one.place, one.what, one.next));
    format!("### gbench-ci measured nothing\n\n{}", block(&each.collect::<Vec<_>>().join("\n\n")))
}

/// Text in a fence longer than any within it.
fn block(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let shown = |c: char| if c.is_control() && c != '\n' { '\u{fffd}' } else { c };
    format!("{fence}text\n{}\n{fence}\n", text.chars().map(shown).collect::<String>())
}

/// What failed and what stayed open, gravest first, as annotations at its source.
pub fn annotations(document: &VerdictDocument, job: &Job) -> Vec<Note> {
    let note = |row: &Row| {
        let level = match row.verdict {
            Verdict::Regressed | Verdict::Invalid | Verdict::Missing => Level::Error,
            Verdict::Inconclusive => Level::Warning,
            Verdict::Improved | Verdict::New | Verdict::Unchanged => return None,
        };
        let source = job.sources.iter().find(|source| source.benchmark == row.case.benchmark.as_str());
        let change = row.change.as_ref().map(|change| {
            let percent = |value: f64| format!("{:+.1} %", value * 100.0);
            let [change, low, high] = [change.slowdown, change.low, change.high].map(percent);
            format!("{change} slower, between {low} and {high}")
        });
        let parts = [change.as_deref().unwrap_or_default(), &row.reason, &row.next];
        let said: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Some(Note {
            level,
            path: source.map(|source| source.path.clone()),
            line: source.map(|source| source.line),
            title: format!("{} {}: {}", row.case, row.metric, row.verdict.word()),
            message: said.join("; "),
        })
    };
    document.rows.iter().filter_map(note).collect()
}
