//! `--format`: the words of the report formats.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::report::Format;

/// Takes the words of [`Format::ALL`].
pub fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(|(_, word)| word))
        .try_map(|word| Format::from_word(&word).ok_or_else(|| format!("no such format: {word}")))
}
