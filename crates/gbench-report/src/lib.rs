//! Renders verdicts and records. Every report is rendered from the JSON document alone, into any [`std::io::Write`];
//! nothing here opens a file, asks a terminal or reads a clock.
//!
//! [`Input`] is any kind of document, read back; [`verdict`], [`merged`] and [`record`] render one in memory.
//!
//! All formats have the same content, computed once in `verdict/view` and `record/view`: the verdict as a sentence, the counts,
//! the changes, the command to reproduce them, and then the rest. Untrusted text passes through `layout/escape`, with a separate
//! function per destination.
//!
//! | format | for | notes |
//! |---|---|---|
//! | terminal | a person, a CI log | fits the width; colour and Unicode only if the caller allows them |
//! | markdown | a pull request, a summary page | GitHub-flavoured; long parts folded |
//! | json | programs | the document itself |
//! | jsonl | programs that read lines | one line per sample set or row |
//! | csv | spreadsheets | RFC 4180, stable columns |
//! | html | a person with a browser | a site of a history, a file of a comparison; no script, nothing external |
//! | junit | CI systems' test views | one test case per row |

#![forbid(unsafe_code)]
// User input never causes a panic. Where a panic is impossible, `#[expect]` gives the proof.
#![warn(clippy::unwrap_used, clippy::expect_used)]

mod bisect;
pub mod calibration;
pub mod explain;
mod export;
mod format;
pub mod github;
pub mod html;
mod input;
#[cfg(test)]
mod kind_tests;
mod layout;
mod profile;
mod record;
mod sweep;
#[cfg(test)]
mod test_support;
mod trends;
mod verdict;

pub use self::bisect::{BisectFormat, bisection};
pub use self::export::{ExportFormat, export};
pub use self::format::{Format, Options};
pub use self::input::Input;
pub use self::layout::escape::visible;
pub use self::layout::terminal::{Style, table};
pub use self::layout::width::{COLUMNS, fold_command, paragraph, wrap};
pub use self::profile::{V1Profiles, profile_page, profiles_document};
pub use self::record::{ranking_chart, record, summary_page};
pub use self::sweep::{SweepRequest, SweepTables, UnknownField};
pub use self::trends::{TrendsFormat, trends, trends_by_month};
pub use self::verdict::{merged, verdict};
