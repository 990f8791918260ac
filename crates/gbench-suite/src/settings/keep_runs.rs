//! How many runs of the artifacts folder `gc` keeps: `keep_runs` of `[run]`, and `--keep`.

use std::fmt;
use std::str::FromStr;

use crate::words::parse_seconds;
use gbench_model::format_duration;

/// The runs, comparisons and bisections that `gbench-ci gc` keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeepRuns {
    Newest(u32),
    /// Started within so many seconds; above 0.
    Within(f64),
}

impl KeepRuns {
    pub const FORMS: &str = "write a number of runs such as 200, or an age such as 30d";
}

impl FromStr for KeepRuns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let keep = match text.trim().parse() {
            Ok(runs) => Self::Newest(runs),
            Err(_) if text.trim().parse::<f64>().is_ok() => {
                return Err(format!("`{text}` is not a number of runs"));
            }
            Err(_) => Self::Within(parse_seconds(text)?),
        };
        match keep {
            Self::Newest(0) | Self::Within(0.0) => Err(format!("`{text}` keeps no runs")),
            keep => Ok(keep),
        }
    }
}

impl fmt::Display for KeepRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newest(runs) => runs.fmt(f),
            Self::Within(seconds) => f.write_str(&format_duration(*seconds)),
        }
    }
}
