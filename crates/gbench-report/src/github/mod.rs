//! A verdict as GitHub shows it: the comment of a pull request, a check, a step's summary, an issue, annotations. Pure:
//! texts from the merged verdict and what the publishing side knows beside it.
//!
//! ```text
//! accepted     rows that a person accepted, and the answer to a command
//! comment      the order of a comment, and what of it fits
//! context      the publishing side beside the verdict; limits of GitHub
//! machine      one machine: its table, its notes, its folded details
//! details      all results, environment, method and checks
//! reproduce    the command that measures the same, and advice that a job can follow
//! links        commits, runs and the footer; what may stand in an address
//! budget       names and prose in so many bytes
//! check        conclusion and texts of a check
//! annotations  one for each benchmark
//! issue        the issue of scheduled runs
//! fingerprint  whether a comment would say anything new
//! recent       the place of a changed row among the runs before it
//! trends       the issue of what a history shows
//! no_verdict   the comment of a run without a verdict
//! ```
//!
//! Names, messages and commands may come from a fork's pull request. All of them pass through `escape`, and every text
//! here stays below its limit whatever the document holds.

mod accepted;
mod annotations;
mod budget;
#[cfg(test)]
pub(crate) mod case_tests;
mod check;
mod comment;
mod context;
mod details;
mod fingerprint;
mod issue;
mod links;
mod machine;
mod no_verdict;
mod recent;
mod reproduce;
#[cfg(test)]
mod sanitizer_tests;
#[cfg(test)]
mod tests;
mod trends;

pub use accepted::{AcceptanceAnswer, AcceptanceOutcome, acceptable, acceptance_answer, kept_acceptances};
pub use annotations::{BenchmarkAnnotation, annotations_of_log};
pub use check::{CheckPage, CheckState, begun, check};
pub use comment::{comment, step_summary};
pub use context::PublishContext;
pub use fingerprint::fingerprint;
pub use issue::{closing_note, issue};
pub use no_verdict::{
    check_untouched, no_verdict, no_verdict_fingerprint, untouched, untouched_fingerprint, untouched_words,
};
pub use trends::{closing_note_of_trends, trends_issue};
