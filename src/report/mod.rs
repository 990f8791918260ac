//! Verdicts and records into bytes. Every report is rendered from the JSON document alone, into any
//! [`io::Write`]; nothing here opens a file, asks a terminal or reads a clock.
//!
//! [`Input`] is any kind of document, read back; [`verdict`], [`merged`] and [`record`] render one at hand.
//!
//! All formats say the same things, worked out once in `rows` and `record`: the verdict as a sentence, the
//! counts, what changed, how to see it again, and then the rest. Text from outside passes through `escape` on
//! its way out, each destination with its own rule.
//!
//! | format | for | notes |
//! |---|---|---|
//! | terminal | a person, a CI log | fits the width; colour and Unicode only where the caller says so |
//! | markdown | a pull request, a summary page | GitHub-flavoured; long parts folded |
//! | json | programs | the document itself |
//! | jsonl | programs that read lines | one line a sample set or a row |
//! | csv | spreadsheets | RFC 4180, stable columns |
//! | junit | CI systems' test views | one test case a row |

mod alike;
pub mod calibration;
mod csv;
mod escape;
pub mod explain;
mod fit;
pub mod github;
mod input;
mod json;
mod jsonl;
mod junit;
mod markdown;
mod merged;
mod number;
mod page;
mod record;
mod rounds;
mod rows;
mod summary;
mod terminal;
#[cfg(test)]
mod test_support;

use std::io;

pub use input::Input;
pub use page::Style;
pub use rows::plural;

use crate::compare::{Merged, VerdictDocument};
use crate::model::RunRecord;

/// A way to write a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Terminal,
    Markdown,
    Json,
    Jsonl,
    Csv,
    Junit,
}

impl Format {
    pub const ALL: [(Format, &'static str); 6] = [
        (Format::Terminal, "terminal"),
        (Format::Markdown, "markdown"),
        (Format::Json, "json"),
        (Format::Jsonl, "jsonl"),
        (Format::Csv, "csv"),
        (Format::Junit, "junit"),
    ];

    pub fn word(self) -> &'static str {
        // Every format stands in ALL exactly once, in the order of the enum.
        Self::ALL[self as usize].1
    }

    pub fn from_word(word: &str) -> Option<Self> {
        let (format, _) = Self::ALL.into_iter().find(|(_, name)| *name == word)?;
        Some(format)
    }
}

/// How a report is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub format: Format,
    /// For [`Format::Terminal`]; the other formats do not look at it.
    pub style: Style,
    /// Show unchanged rows in full where the format would only count or cap them.
    pub all: bool,
}

/// Writes the verdict of a comparison. Errors: only those of `out`.
pub fn verdict(
    document: &VerdictDocument,
    options: &Options,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let digest = rows::Digest::new(document);
    match options.format {
        Format::Terminal => terminal::render(&digest, options.style, options.all, out),
        Format::Markdown => markdown::render(&digest, options.all, out),
        Format::Json => json::render(document, out),
        Format::Jsonl => jsonl::render(document, out),
        Format::Csv => csv::render(&digest, out),
        Format::Junit => junit::render(&digest, out),
    }
}

/// Writes the verdicts of several machines. Errors: only those of `out`.
pub fn merged(document: &Merged, options: &Options, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    merged::render(document, options, out)
}

/// Writes what one run measured, compared with nothing. Errors: only those of `out`.
pub fn record(record: &RunRecord, options: &Options, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let digest = record::Digest::new(record);
    match options.format {
        Format::Terminal => record::terminal::render(&digest, options.style, options.all, out),
        Format::Markdown => record::markdown::render(&digest, options.all, out),
        Format::Json => json::render(record, out),
        Format::Jsonl => record::jsonl::render(&digest, out),
        Format::Csv => record::csv::render(&digest, out),
        Format::Junit => record::junit::render(&digest, out),
    }
}
