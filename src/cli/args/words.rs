//! The words that several flags take: report formats, and classes that fail a job.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use strum::{IntoEnumIterator, VariantArray};

use crate::adapters::formats::Repeats;
use crate::app::compare::fail_on::FailOn;
use crate::app::ingest::DatedBy;
use crate::report::{BisectFormat, ExportFormat, Format, TrendsFormat};

/// Takes the word of a [`Format`].
pub(crate) fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::iter().map(|format| format.into_str())).try_map(|word| word.parse())
}

/// A choice of another crate, as a value of a flag.
pub(crate) trait Worded: VariantArray + Copy + Send + Sync {
    fn value(self) -> PossibleValue;
}

/// Takes the word of a choice, and lists all of them in the help.
pub(crate) fn words<T: Worded>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::VARIANTS.iter().map(|choice| choice.value())).try_map(|word| {
        let named = T::VARIANTS.iter().find(|choice| choice.value().get_name() == word);
        named.copied().ok_or("not one of the words")
    })
}

/// The formats of what has but one table or page.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PageFormat {
    #[default]
    Terminal,
    Json,
}

impl Worded for ExportFormat {
    fn value(self) -> PossibleValue {
        let help = match self {
            Self::Record => "The run record, with every sample",
            Self::OperatorList => "A JSON list with one row per case",
            Self::Benchfmt => "The Go benchmark format, for benchstat",
            Self::CustomSmallerIsBetter => {
                "The list of github-action-benchmark's tool of this name: times, memory"
            }
            Self::CustomBiggerIsBetter => "The same for what is better higher: rates",
            Self::BencherMetricFormat => "Bencher's JSON: benchmarks and their measures",
        };
        PossibleValue::new(self.into_str()).help(help)
    }
}

impl Worded for BisectFormat {
    fn value(self) -> PossibleValue {
        let help = match self {
            Self::Terminal => "Text for people to read",
            Self::Markdown => "Markdown for a job summary",
            Self::Json => "The whole document (docs/schema/bisect-v1.json)",
        };
        PossibleValue::new(self.into_str()).help(help)
    }
}

impl Worded for TrendsFormat {
    fn value(self) -> PossibleValue {
        let help = match self {
            Self::Terminal => "Text for people to read",
            Self::Json => "The whole document (docs/schema/trends-v1.json)",
            Self::Csv => "One line per value",
            Self::Openmetrics => "The text format of OpenMetrics, for Prometheus",
            Self::Parquet => "One typed row per value; only in builds with the feature parquet",
        };
        PossibleValue::new(self.into_str()).help(help)
    }
}

impl ValueEnum for DatedBy {
    fn value_variants<'a>() -> &'a [Self] {
        Self::VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Content => "Use only the content of the file",
            Self::Name => "Use the date in the file's name: 2026-11-22, 20261122T0315",
            Self::Modified => "Use the time when the file was last changed",
        };
        Some(PossibleValue::new(self.into_str()).help(help))
    }
}

impl Worded for Repeats {
    fn value(self) -> PossibleValue {
        let help = match self {
            Self::Refuse => "Refuse the file",
            Self::Samples => "Samples of one process",
            Self::Processes => {
                "Each is a process: the first rows of all cases are one, the second rows the next"
            }
        };
        PossibleValue::new(self.into_str()).help(help)
    }
}

impl ValueEnum for FailOn {
    fn value_variants<'a>() -> &'a [Self] {
        Self::VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(self.into_str());
        Some(if *self == FailOn::None { value.help("Nothing fails the job; it only reports") } else { value })
    }
}
