//! Units and what they say about direction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    Lower,
    Higher,
}

impl Better {
    pub fn word(self) -> &'static str {
        match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
        }
    }
}

/// The direction that a unit implies, where it implies one: times and sizes are better lower, rates
/// better higher. A percentage, a count or an unknown unit says nothing, and is not guessed at.
pub fn direction_of_unit(unit: &str) -> Option<Better> {
    const LOWER: [&str; 18] = [
        "s", "ms", "us", "µs", "ns", "ps", "min", "h", "seconds", "cycles", "B", "KB", "MB", "GB", "KiB",
        "MiB", "GiB", "J",
    ];
    if LOWER.contains(&unit) {
        return Some(Better::Lower);
    }
    let rate = unit.ends_with("/s") || unit.ends_with("/sec") || unit.ends_with("ps") && unit.len() > 3;
    let flops = ["FLOPS", "FLOP/s"].iter().any(|end| unit.to_uppercase().ends_with(end));
    (rate || flops).then_some(Better::Higher)
}

/// Whether a unit is that of a size or a count: such a figure is exact, where a time or a rate is only ever rounded.
pub fn is_counted(unit: &str) -> bool {
    const SIZES: [&str; 10] = ["B", "byte", "bytes", "KB", "kB", "MB", "GB", "KiB", "MiB", "GiB"];
    const COUNTS: [&str; 8] =
        ["count", "counts", "register", "registers", "instruction", "instructions", "allocations", "lines"];
    SIZES.contains(&unit) || COUNTS.contains(&unit)
}

/// `0.25` -> `250ms`, `90.0` -> `1m 30s`: as the suite file takes it and as reports print it.
pub fn format_duration(seconds: f64) -> String {
    let duration = std::time::Duration::from_millis((seconds.max(0.0) * 1e3).round() as u64);
    humantime::format_duration(duration).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts_are_exact_and_times_are_not() {
        assert!(["B", "KiB", "count", "registers", "instructions"].into_iter().all(is_counted));
        assert!(!["s", "ms", "GB/s", "%", "", "J"].into_iter().any(is_counted));
    }

    #[test]
    fn times_are_better_lower_and_rates_better_higher() {
        for unit in ["s", "ms", "ns", "B", "MiB"] {
            assert_eq!(direction_of_unit(unit), Some(Better::Lower), "{unit}");
        }
        for unit in ["GB/s", "GFLOP/s", "GFLOPS", "tokens/s", "iter/sec", "Gbps"] {
            assert_eq!(direction_of_unit(unit), Some(Better::Higher), "{unit}");
        }
        for unit in ["%", "", "count", "furlong", "s/iter"] {
            assert_eq!(direction_of_unit(unit), None, "{unit}");
        }
    }
}
