//! A verdict as GitHub shows it: the comment of a pull request, a check, a step's summary, an issue, annotations. Pure:
//! texts from the merged verdict and what the publishing side knows beside it.
//!
//! ```text
//! page       the order of a comment, and what of it fits
//! section    one machine: its table, its notes, its folded parts
//! table      rows with base, head, change, verdict and margin
//! folded     all results, environment, method and checks
//! locally    the command that measures the same, and advice that a job can follow
//! links      commits, runs and the footer; what may stand in an address
//! text       names and prose in so many bytes
//! check      conclusion and texts of a check
//! remarks    annotations, a benchmark each
//! issue      the nightly issue
//! state      whether there is something new to say
//! none       the comment of a run without an answer
//! ```
//!
//! Names, messages and commands may come from a fork's pull request. All of them pass through `escape`, and none may
//! grow beyond its share: every text here is below its limit whatever stands in the document.

mod check;
mod folded;
mod issue;
mod links;
mod locally;
mod none;
mod page;
mod remarks;
#[cfg(test)]
mod sanitizer_tests;
mod section;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub use check::{Check, Standing, begun, check};
pub use issue::{closing_note, issue};
pub use none::{check_untouched, no_verdict, state_of_none, state_of_untouched, untouched, untouched_words};
pub use remarks::{LogAnnotation, PostAnnotation, annotations_of_log};
pub use state::state;

use crate::compare::Merged;
use crate::model::{BaseChoice, SourceLine};

/// Most characters of a comment or an issue at GitHub. Kept in bytes, of which a text has at least as many.
pub const COMMENT: usize = 65_536;

/// Most bytes that a step's summary takes of the 1 MiB after which GitHub drops it whole.
pub const SUMMARY: usize = 1_000_000;

/// Most characters of each text of a check at GitHub; likewise in bytes.
pub const CHECK: usize = 65_535;

/// What the publishing side knows beside the verdict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Name of the check, and of the gate in a comment.
    pub gate: String,
    /// Full commit id of what was judged.
    pub head: Option<String>,
    pub base: BaseChoice,
    /// Address of the workflow run.
    pub run_url: Option<String>,
    /// Address of the report in full.
    pub report_url: Option<String>,
    /// The figures were computed by code that nobody here has approved.
    pub unverified: bool,
    /// What chose the benchmarks and their settings, ready for a shell, with a blank before each flag.
    pub flags: String,
    /// Where each benchmark's source is.
    pub sources: Vec<SourceLine>,
    /// What fails the job: `regression`, `inconclusive`, `failed`; empty where the gate's own exit code does.
    pub fail_on: Vec<String>,
    /// `https://github.com`.
    pub server: String,
    /// `owner/name`.
    pub slug: Option<String>,
}

/// The comment of a pull request: at most [`COMMENT`] bytes, `marker` (one line) last. What does not fit goes in this order:
/// folded parts, improved and new rows, notes, undecided rows, regressions; each place says where the rest is.
pub fn comment(merged: &Merged, facts: &Facts, marker: &str) -> String {
    let merged = &locally::for_readers(merged, facts);
    let limit = COMMENT.saturating_sub(marker.len() + 2);
    let sheet = page::Sheet { opening: page::opening(merged, facts), limit, unchanged: Some(60) };
    format!("{}\n{marker}\n", page::page(merged, facts, sheet))
}

/// The summary of a step: at most [`SUMMARY`] bytes, all results as far as they fit.
pub fn step_summary(merged: &Merged, facts: &Facts) -> String {
    let merged = &locally::for_readers(merged, facts);
    let sheet =
        page::Sheet { opening: page::opening(merged, facts), limit: SUMMARY, unchanged: Some(usize::MAX) };
    page::page(merged, facts, sheet)
}
