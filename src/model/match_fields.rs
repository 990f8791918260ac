//! The match key: which facts of a machine must agree before two records may be compared.
//!
//! The suite file sets the strictness of each field and the comparison obeys it, so the list of fields
//! stands between the two rooms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a difference in one field of the match key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Strictness {
    /// A difference refuses the comparison.
    Strict,
    /// A difference is shown.
    Annotate,
    Ignore,
}

/// Every field by its name under `[gate.match]`, with the strictness it has unless the file says otherwise:
/// strict where a difference changes what the hardware can do, shown where it merely may.
pub const MATCH_FIELDS: [(&str, Strictness); 16] = [
    ("gpu_models", Strictness::Strict),
    ("gpu_count", Strictness::Strict),
    ("driver", Strictness::Strict),
    ("cuda", Strictness::Strict),
    ("power_limit", Strictness::Strict),
    ("mig", Strictness::Strict),
    ("clocks_locked", Strictness::Annotate),
    ("cpu_model", Strictness::Strict),
    ("cores", Strictness::Annotate),
    ("governor", Strictness::Annotate),
    ("memory_total", Strictness::Annotate),
    ("os", Strictness::Annotate),
    ("kernel", Strictness::Annotate),
    ("architecture", Strictness::Strict),
    ("virtualization", Strictness::Annotate),
    ("container", Strictness::Annotate),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_stands_once_and_every_word_reads_back() {
        for (index, (name, strictness)) in MATCH_FIELDS.iter().enumerate() {
            assert!(MATCH_FIELDS[index + 1..].iter().all(|(other, _)| other != name), "{name} stands twice");
            assert_eq!(strictness.into_str().parse(), Ok(*strictness));
        }
        assert!("loose".parse::<Strictness>().is_err());
    }
}
