//! The next step for the reader of a row, as a value. `Row::next` holds its text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One next step, with the figures that its text names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Advice {
    /// Further rounds would probably decide the row. Only the owner of the records can resume their comparison.
    Resume {
        /// Further rounds of this row.
        more_rounds: u32,
        /// The value of `--rounds` that allows them.
        rounds: u32,
    },
}
