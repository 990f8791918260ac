//! The formats of a report, and their options.

use super::layout::terminal::Style;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub format: Format,
    /// For [`Format::Terminal`]; other formats ignore it.
    pub style: Style,
    /// Show unchanged rows in full, even if the format would only count or limit them.
    pub all: bool,
}
