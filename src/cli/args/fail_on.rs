//! The values of `--fail-on`.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use strum::VariantArray;

use crate::app::fail_on::FailOn;

impl ValueEnum for FailOn {
    fn value_variants<'a>() -> &'a [Self] {
        Self::VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(self.into_str());
        Some(if *self == FailOn::None { value.help("Nothing: the job only reports") } else { value })
    }
}
