//! The parameters of an interleaved comparison. The records of all its sides repeat them, so that the records alone yield the
//! same verdict on any machine.

pub(crate) mod bisect;
pub(crate) mod budget;
pub(crate) mod job;
pub(crate) mod reference;

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use self::budget::Budget;
use self::reference::NoReference;
use super::id::{BenchmarkId, RunId};
use super::record::facts::Strictness;
use super::record::samples::is_default;
use super::record::sandbox::SandboxState;

/// Facts shared by all records of one comparison.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Identifies the comparison; each record also has its own run id.
    pub id: RunId,
    /// The sides as the user meets them: `main (1a2b3c4d5e)`.
    pub base: String,
    pub head: String,
    /// SHA-256 over the changes of a head that is a working tree with changes; see `trees::Revision`.
    pub head_changes: Option<String>,
    /// Seed of the random order in which the sides of each round run.
    pub seed: u64,
    #[serde(rename = "way")]
    pub interleaving: Interleaving,
    /// Seconds that the rounds may take; absent: until all is decided.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub budget: Budget,
    pub rule: SequentialRule,
    pub policy: ComparisonPolicy,
    /// Present where both sides are one commit because nothing was found to judge it against, and what was missing: then
    /// the comparison decides nothing.
    pub no_reference: Option<NoReference>,
    /// Present where one suite file was measured on both sides; absent: each side's own.
    pub suite_file: Option<CommonSuite>,
    /// Use of sandboxes for the processes; absent in comparisons of earlier versions, which had none.
    pub sandbox: Option<SandboxState>,
    /// The speedups of baselines with their optimized cases are rows of the verdict; absent in comparisons without such pairs, and in those of
    /// earlier versions, which know no such rows.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pairs: bool,
    /// Benchmarks of head, and their names in base according to head's suite file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub renamed: BTreeMap<BenchmarkId, BenchmarkId>,
    /// Benchmarks that the two suite files define differently, with the keys: `gemm (build, dir)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redefined: Vec<String>,
}

/// One suite file for both sides of a comparison. Its text is kept in the comparison's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommonSuite {
    /// As the user meets it: `gbench.toml`, `bench/gbench.toml`.
    pub path: String,
    /// Of its text, in hexadecimal.
    pub sha256: String,
    /// Folder of the repository that its relative paths begin at; empty for the root.
    pub folder: String,
    pub judge: Judge,
}

/// The suite file that defines how the rows are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Judge {
    /// The base's own suite file.
    Base,
    /// The common suite file, because the base has none.
    Common,
}

impl CommonSuite {
    /// A sentence for readers of a verdict.
    pub fn sentence(&self) -> String {
        let judge = match self.judge {
            Judge::Base => "the base's own file decides how they are judged",
            Judge::Common => "it also decides how they are judged, because the base has none",
        };
        let sum: String = self.sha256.chars().take(10).collect();
        format!(
            "both sides were measured with one suite file, {} of the checkout ({sum}); {judge}",
            self.path
        )
    }
}

/// How the two processes of a round share the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Interleaving {
    /// One after the other.
    #[default]
    Alternating,
    /// Both alive, taking turns in short blocks.
    Lockstep,
}

/// Which sequential rule judges a comparison; see docs/statistics.md.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[strum(const_into_str)]
pub enum SequentialRuleName {
    /// Of records that name no rule.
    #[default]
    #[serde(rename = "seq-e")]
    #[strum(to_string = "seq-e")]
    SeqE,
    #[serde(rename = "seq-e-2")]
    #[strum(to_string = "seq-e-2")]
    SeqE2,
    #[serde(rename = "seq-e-3")]
    #[strum(to_string = "seq-e-3")]
    SeqE3,
    /// Like `seq-e-3`; also reports a head that varies far more than its base.
    #[serde(rename = "seq-e-4")]
    #[strum(to_string = "seq-e-4")]
    SeqE4,
    /// Like `seq-e-4`; also takes whole numbers of things that never vary for counts.
    #[serde(rename = "seq-e-5")]
    #[strum(to_string = "seq-e-5")]
    SeqE5,
}

/// The rule of a comparison in rounds, and what it is asked to hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SequentialRule {
    /// Absent: `seq-e`, by which records were judged before rules had names. A record is judged by the rule it names,
    /// whatever the program's own is by then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub name: SequentialRuleName,
    /// Chance of any false red in the whole suite.
    pub alpha: f64,
    /// Chance of any false "improved".
    pub alpha_improved: f64,
    /// Rounds in which every case is screened.
    pub screen_rounds: u32,
    /// Rounds after which a case that is still open is inconclusive.
    pub most_rounds: u32,
    /// The part of `alpha` that programs may spend whose cases share processes at first: their shared rounds can make the program red,
    /// without saying which case it was. Absent: none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub alpha_programs: f64,
}

impl SequentialRule {
    /// The rule of a comparison whose cases share processes at first: programs get half of `alpha`.
    pub fn with_programs(self) -> Self {
        Self { alpha_programs: self.alpha / 2.0, ..self }
    }

    /// The newest rule, with the usual figures for this number of cases.
    pub fn for_cases(cases: usize) -> Self {
        // With fewer than four cases, pooling their variances does not help, so each needs another round.
        let screen_rounds = if cases < 4 { 4 } else { 3 };
        let name = SequentialRuleName::SeqE5;
        Self { name, alpha: 0.01, alpha_improved: 0.05, screen_rounds, most_rounds: 40, alpha_programs: 0.0 }
    }
}

/// How the verdicts of the comparison become its exit code.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparisonPolicy {
    pub inconclusive_fails: bool,
    pub failed_fails: bool,
    /// Cases that are broken on both sides make the exit code 4.
    #[serde(default, skip_serializing_if = "is_default")]
    pub broken_fails: bool,
    /// From the command line; overrides every declared target.
    pub threshold: Option<f64>,
    /// Strictness by field of the match key, where it is not the usual one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_key: BTreeMap<String, Strictness>,
}
