//! `--format`: the words of the report formats.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use strum::IntoEnumIterator;

use crate::report::Format;

/// Takes the word of a [`Format`].
pub fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::iter().map(|format| format.into_str())).try_map(|word| word.parse())
}
