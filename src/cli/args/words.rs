//! The words that several flags take: report formats, and classes that fail a job.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::app::fail_on::FailOn;
use crate::report::Format;

/// Takes the words of [`Format::ALL`].
pub fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(|(_, word)| word))
        .try_map(|word| Format::from_word(&word).ok_or_else(|| format!("no such format: {word}")))
}

/// The formats of what has but one table or page.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFormat {
    Terminal,
    Json,
}

impl ValueEnum for FailOn {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(self.word());
        Some(if *self == FailOn::None { value.help("Nothing: the job only reports") } else { value })
    }
}
