//! Records that were read from files of other programs, not measured by gbench-ci.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::facts::{HOST, names_card};

/// Where the figures of a record come from that no process of this gate gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ingested {
    /// The format that the files were read as: `nccl-tests`.
    pub format: String,
    /// One for every process of the record, in order.
    pub files: Vec<IngestedFile>,
    /// Facts about the machine, the software and the workload in the files, and how often they measured; values that differ from
    /// file to file are joined by ` | `.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

impl Ingested {
    /// Its cards, its processor and its host, as the files name them; `None` if they name none.
    pub fn machine(&self) -> Option<String> {
        let cards = self.facts.iter().filter(|(name, _)| names_card(name));
        let host = ["cpu_model", HOST].into_iter().filter_map(|name| self.facts.get_key_value(name));
        let parts: Vec<&str> = cards.chain(host).map(|(_, text)| text.as_str()).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// One file.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IngestedFile {
    /// As it was given.
    pub path: String,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// The measured commit according to the file.
    pub commit: Option<String>,
}
