//! The formats of a report, and how one is to be written.

use super::layout::terminal::Style;

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
