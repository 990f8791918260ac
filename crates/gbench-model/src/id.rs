//! Names that address things: benchmarks, runs, stored baselines.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde_with::{DeserializeFromStr, SerializeDisplay};

/// `suite/name`, the address of a benchmark everywhere.
///
/// Both parts hold letters, digits, `_`, `-`, `.` and `+`; the name may hold further `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct BenchmarkId(String);

impl BenchmarkId {
    pub fn suite(&self) -> &str {
        self.0.split_once('/').map_or("", |(suite, _)| suite)
    }

    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, name)| name)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_word(part: &str) -> bool {
    !part.is_empty()
        && part != "."
        && part != ".."
        && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+".contains(c))
}

impl FromStr for BenchmarkId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > 200 {
            return Err("a benchmark id holds at most 200 characters".into());
        }
        let parts: Vec<_> = text.split('/').collect();
        if parts.len() < 2 {
            return Err(format!("`{text}` is not of the form suite/name"));
        }
        match parts.iter().find(|part| !is_word(part)) {
            Some(part) => {
                Err(format!("`{part}` in `{text}` may hold letters, digits, `_`, `-`, `.` and `+` only"))
            }
            None => Ok(Self(text.into())),
        }
    }
}

impl fmt::Display for BenchmarkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The name of one run: `20261121T100102.345Z-3f9a2c`. Sorts by time; the tail keeps two runs of one millisecond apart.
/// It names folders, so it contains no separator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct RunId(String);

impl RunId {
    /// `time`: the run's start. `salt`: a random number.
    pub fn new(time: std::time::SystemTime, salt: u32) -> Self {
        let stamp: String = humantime::format_rfc3339_millis(time)
            .to_string()
            .chars()
            .filter(|c| !"-:".contains(*c))
            .collect();
        Self(format!("{stamp}-{:06x}", salt & 0xff_ffff))
    }

    /// When the run started; `None` if the id does not have the form of [`RunId::new`].
    pub fn started(&self) -> Option<std::time::SystemTime> {
        let (stamp, salt) = self.0.split_once('-')?;
        let part = |range: std::ops::Range<usize>| stamp.get(range);
        let [year, month, day] = [part(0..4)?, part(4..6)?, part(6..8)?];
        let [hour, minute, second] = [part(9..11)?, part(11..13)?, stamp.get(13..)?];
        let time = format!("{year}-{month}-{day}T{hour}:{minute}:{second}");
        let time = humantime::parse_rfc3339(&time).ok()?;
        (*self == Self::new(time, u32::from_str_radix(salt, 16).ok()?)).then_some(time)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if is_word(text) && text.len() <= 100 {
            Ok(Self(text.into()))
        } else {
            Err(format!("`{text}` is not a run id"))
        }
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The name of a stored reference: `main`, `v1.2`. One path component.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BaselineName(String);

impl BaselineName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BaselineName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if is_word(text) && text.len() <= 100 && !text.starts_with('.') {
            Ok(Self(text.into()))
        } else {
            Err(format!(
                "`{text}` cannot name a baseline: letters, digits, `_`, `-`, `.` and `+`, at most 100"
            ))
        }
    }
}

impl fmt::Display for BaselineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_id_has_a_suite_and_a_name() {
        let id: BenchmarkId = "kernels/gemm/fp16".parse().unwrap();
        assert_eq!((id.suite(), id.name()), ("kernels", "gemm/fp16"));
    }

    #[test]
    fn ids_that_could_leave_their_folder_are_refused() {
        for bad in ["gemm", "a/../b", "/b", "a/", "a/b c", "a/b\n", "a//b"] {
            assert!(bad.parse::<BenchmarkId>().is_err(), "{bad:?}");
        }
        for bad in ["../x", "", ".", ".hidden", "a/b"] {
            assert!(bad.parse::<BaselineName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn two_runs_of_one_moment_have_two_names() {
        let now = std::time::UNIX_EPOCH;
        assert_eq!(RunId::new(now, 1).as_str(), "19700101T000000.000Z-000001");
        assert_ne!(RunId::new(now, 1), RunId::new(now, 2));
    }

    #[test]
    fn an_id_says_when_its_run_started_and_a_name_that_a_user_chose_does_not() {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_795_253_662_345);
        assert_eq!(RunId::new(time, 7).started(), Some(time));
        for other in [
            "notes",
            "20261121T100102.345Z",
            "20261121T100102.345Z-3f9a2c-copy",
            "20261321T100102.345Z-3f9a2c",
        ] {
            assert_eq!(other.parse::<RunId>().unwrap().started(), None, "{other}");
        }
    }
}
