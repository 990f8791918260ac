//! A verdict on GitHub: the comment of a pull request, a check, a step's summary, an issue, annotations. Pure functions from
//! the merged verdict and the context of the publishing job to text.
//!
//! ```text
//! comment      the order of a comment, and which parts fit
//! check        conclusion and texts of a check
//! annotations  one for each benchmark
//! issue        the issue of scheduled runs
//! trends       the issue of a history's changes
//! no_verdict   the comment of a run without a verdict
//! fingerprint  detects whether a comment would change
//! parts/       shared parts
//!   context      the publishing job's facts; limits of GitHub
//!   accepted     rows that a person accepted, and the answer to a command
//!   machine      one machine: its table, its notes, its folded details
//!   details      all results, environment, method and checks
//!   recent       the place of a changed row among the runs before it
//!   reproduce    the command that repeats the measurement, and advice that a job can follow
//!   links        commits, runs and the footer; characters allowed in an address
//!   budget       names and prose within a number of bytes
//! ```
//!
//! Names, messages and commands may come from a fork's pull request. All of them pass through `escape`, and every text
//! stays below its limit for any document.

mod annotations;
#[cfg(test)]
pub(crate) mod case_tests;
mod check;
mod comment;
mod fingerprint;
mod issue;
mod no_verdict;
mod parts;
#[cfg(test)]
mod sanitizer_tests;
#[cfg(test)]
mod tests;
mod trends;

pub use annotations::{BenchmarkAnnotation, annotations_of_log};
pub use check::{CheckPage, CheckState, begun, check};
pub use comment::{comment, step_summary};
pub use fingerprint::fingerprint;
pub use issue::{closing_note, issue};
pub use no_verdict::{
    check_untouched, no_verdict, no_verdict_fingerprint, untouched, untouched_fingerprint, untouched_words,
};
pub use parts::accepted::{
    AcceptanceAnswer, AcceptanceOutcome, acceptable, acceptance_answer, kept_acceptances,
};
pub use parts::context::PublishContext;
pub use trends::{closing_note_of_trends, trends_issue};
