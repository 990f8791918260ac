//! Verdicts and records into bytes. Every report is rendered from the JSON document alone, into any
//! [`std::io::Write`]; nothing here opens a file, asks a terminal or reads a clock.
//!
//! [`Input`] is any kind of document, read back; [`verdict`], [`merged`] and [`record`] render one at hand.
//!
//! All formats say the same things, worked out once in `verdict/view` and `record/view`: the verdict as a sentence, the
//! counts, what changed, how to see it again, and then the rest. Text from outside passes through `layout/escape` on
//! its way out, each destination with its own rule.
//!
//! | format | for | notes |
//! |---|---|---|
//! | terminal | a person, a CI log | fits the width; colour and Unicode only where the caller says so |
//! | markdown | a pull request, a summary page | GitHub-flavoured; long parts folded |
//! | json | programs | the document itself |
//! | jsonl | programs that read lines | one line a sample set or a row |
//! | csv | spreadsheets | RFC 4180, stable columns |
//! | html | a person with a browser | a site of a history, a file of a comparison; no script, nothing loaded |
//! | junit | CI systems' test views | one test case a row |

#![forbid(unsafe_code)]
// A user's input never ends in a panic; where one is impossible, `#[expect]` stands beside the proof.
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
pub use self::layout::terminal::{Style, table};
pub use self::layout::width::{COLUMNS, paragraph, wrap};
pub use self::profile::{V1Profiles, profile_page, profiles_document};
pub use self::record::{ranking_chart, record, summary_page};
pub use self::sweep::{SweepRequest, SweepTables, UnknownField};
pub use self::trends::{TrendsFormat, trends};
pub use self::verdict::{merged, verdict};
