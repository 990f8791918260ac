//! The formats of a report, and how one is to be written.

use super::layout::terminal::Style;

/// A way to write a report.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString, strum::EnumIter,
)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Format {
    #[default]
    Terminal,
    Markdown,
    Json,
    Jsonl,
    Csv,
    Junit,
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
