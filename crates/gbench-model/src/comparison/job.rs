//! The facts of a CI job in addition to its verdict: `job.json` in the folder of a comparison, passed from the measuring job
//! to the one that publishes or merges.
//!
//! The publishing job does not trust it about identities: repository, pull request and head commit come from that job's own
//! event and the API. At worst, a forged file makes an unverified report look odd.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub const SCHEMA_JOB: &str = "gbench-ci/job/v1";

/// One measuring job.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `gbench-ci/job/v1`.
    pub schema: String,
    /// The event's name: `pull_request`, `schedule`; `none` outside of CI.
    pub event: String,
    /// Full commit id of what was judged.
    pub head: Option<String>,
    /// The pull request that it was measured for, where the event is about one.
    pub pull_request: Option<u64>,
    pub base: BaseChoice,
    /// Which machine of a matrix this is: `h100`. Names the check and a section of the comment; empty for the only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    pub shard: Option<Shard>,
    /// Digest of the cases of all shards, 16 hexadecimal digits: the jobs of one machine must have the same. Absent in jobs
    /// of earlier versions, and where the suite is not cut.
    pub cut: Option<String>,
    /// The gate's own exit code, before `fail-on` looked at it.
    pub exit_code: u8,
    /// Words of `--fail-on`; empty if the gate's own exit code decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fail_on: Vec<String>,
    /// Flags that chose the benchmarks and their settings, one word each: `--benchmark=k/*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Where each benchmark's source is, for annotations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceLine>,
    /// True if the judged commit came from a fork.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fork: bool,
    /// Nothing was measured, because the change touches nothing that the suite measures. There is no verdict then.
    pub untouched: Option<Untouched>,
}

/// A change that touches nothing that a suite measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Untouched {
    /// How many files it changes.
    pub files: u32,
    /// The path patterns that matched nothing: `[gate] paths` of the base's suite file.
    pub paths: Vec<String>,
}

/// Which baseline was taken, and why.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BaseChoice {
    /// Full commit id.
    pub commit: Option<String>,
    /// When it was committed, RFC 3339.
    pub committed: Option<String>,
    /// One sentence without a period: `the merge base of main and this branch, 3 days old`.
    pub why: String,
    /// True if `--base` chose it instead of the event: such a verdict is not part of the nightly series.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
}

/// A part of a suite: `2/3`, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shard {
    pub index: u32,
    pub of: u32,
}

impl Shard {
    /// The most shards of a suite: GitHub runs at most 256 jobs of a matrix.
    pub const MAX: u32 = 256;

    /// True if such a part can exist; the fields alone do not guarantee it.
    pub fn is_one(self) -> bool {
        (1..=self.of).contains(&self.index) && self.of <= Self::MAX
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u32>().ok();
        let parts = text.split_once('/').and_then(|(index, of)| Some((number(index)?, number(of)?)));
        match parts.map(|(index, of)| Self { index, of }).filter(|shard| shard.is_one()) {
            Some(shard) => Ok(shard),
            None => Err(format!(
                "write it as 2/3: a number from 1, and how many there are, at most {}",
                Self::MAX
            )),
        }
    }
}

/// A line of the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourceLine {
    /// `kernels/gemm`: a benchmark's id.
    pub benchmark: String,
    /// Path from the repository's root, with `/`.
    pub path: String,
    /// Counted from one.
    pub line: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_so_many() {
        assert_eq!("2/3".parse(), Ok(Shard { index: 2, of: 3 }));
        assert_eq!(Shard { index: 2, of: 3 }.to_string(), "2/3");
        for wrong in ["", "2", "0/3", "4/3", "1/257", "a/b", "-1/2", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
