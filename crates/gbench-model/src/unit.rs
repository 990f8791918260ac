//! Units, and the direction that they imply.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumIter)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Better {
    Lower,
    Higher,
}

/// The direction that a unit implies, where it implies one: times and sizes are better lower, rates
/// better higher. A percentage, a count or an unknown unit says nothing, and is not guessed at.
pub fn direction_of_unit(unit: &str) -> Option<Better> {
    const LOWER: [&str; 18] = [
        "s", "ms", "us", "µs", "ns", "ps", "min", "h", "seconds", "cycles", "B", "KB", "MB", "GB", "KiB",
        "MiB", "GiB", "J",
    ];
    if LOWER.contains(&unit) || is_time(unit) {
        return Some(Better::Lower);
    }
    // An amount per time.
    let per_time = unit.rsplit_once('/').is_some_and(|(amount, time)| !amount.is_empty() && is_time(time));
    let rate = per_time || unit.ends_with("/s") || unit.ends_with("/sec") || is_rate_word(unit);
    let flops = ["FLOPS", "FLOP/s"].iter().any(|end| unit.to_uppercase().ends_with(end));
    (rate || flops).then_some(Better::Higher)
}

/// `Gbps`, `GiBps`, `kqps`: words such as `steps` or `loops` are not rates.
fn is_rate_word(unit: &str) -> bool {
    const RATES: [&str; 12] =
        ["bps", "Bps", "eps", "fps", "qps", "rps", "tps", "iops", "IOPS", "mbps", "gbps", "tbps"];
    let rest =
        unit.strip_prefix(['k', 'K', 'M', 'G', 'T', 'P']).map(|rest| rest.strip_prefix('i').unwrap_or(rest));
    [Some(unit), rest].into_iter().flatten().any(|word| RATES.contains(&word))
}

/// Units of time and size, in seconds or bytes.
const SCALES: [(&str, f64, bool); 24] = [
    ("s", 1.0, true),
    ("sec", 1.0, true),
    ("msec", 1e-3, true),
    ("usec", 1e-6, true),
    ("\u{3bc}s", 1e-6, true),
    ("seconds", 1.0, true),
    ("ms", 1e-3, true),
    ("us", 1e-6, true),
    ("µs", 1e-6, true),
    ("ns", 1e-9, true),
    ("ps", 1e-12, true),
    ("min", 60.0, true),
    ("h", 3600.0, true),
    ("B", 1.0, false),
    ("bytes", 1.0, false),
    ("KB", 1e3, false),
    ("kB", 1e3, false),
    ("MB", 1e6, false),
    ("GB", 1e9, false),
    ("TB", 1e12, false),
    ("KiB", 1024.0, false),
    ("MiB", 1_048_576.0, false),
    ("GiB", 1_073_741_824.0, false),
    ("TiB", 1_099_511_627_776.0, false),
];

pub fn is_time(unit: &str) -> bool {
    SCALES.iter().any(|(name, _, time)| *time && *name == unit)
}

/// A value converted to another unit; `None` if the two do not measure the same quantity. Equal units, known or not, and an
/// empty `from` leave the value as it is. Rates are converted by both of their parts: `GB/s` is 0.001 `GB/ms`.
pub fn convert(value: f64, from: &str, to: &str) -> Option<f64> {
    if from.is_empty() || from == to {
        return Some(value);
    }
    if let (Some((amount, time)), Some((to_amount, to_time))) = (from.rsplit_once('/'), to.rsplit_once('/')) {
        let is_whole = [amount, time].iter().all(|part| !part.is_empty());
        let amount = convert(value, amount, to_amount).filter(|_| is_whole)?;
        return Some(amount / convert(1.0, time, to_time)?);
    }
    let scale = |unit: &str| SCALES.iter().find(|(name, ..)| *name == unit);
    let ((_, from, time), (_, to, also_time)) = (scale(from)?, scale(to)?);
    (time == also_time).then(|| value * from / to)
}

/// True for units of size or count: such a figure is exact, while times and rates are always rounded.
pub fn is_counted(unit: &str) -> bool {
    const SIZES: [&str; 10] = ["B", "byte", "bytes", "KB", "kB", "MB", "GB", "KiB", "MiB", "GiB"];
    const COUNTS: [&str; 10] = [
        "count",
        "counts",
        "cycle",
        "cycles",
        "register",
        "registers",
        "instruction",
        "instructions",
        "allocations",
        "lines",
    ];
    SIZES.contains(&unit) || COUNTS.contains(&unit)
}

/// True for a unit in which a whole number may be a count: a plural, such as `launches` or `words`, also for each of something
/// (`calls/op`). Whole times, rates, energies and shares are rounded numbers, and a number without a unit may be one.
pub fn may_count(unit: &str) -> bool {
    const MEASURED: [&str; 24] = [
        "nanoseconds",
        "microseconds",
        "milliseconds",
        "seconds",
        "minutes",
        "hours",
        "days",
        "secs",
        "msecs",
        "usecs",
        "nsecs",
        "mins",
        "hrs",
        "joules",
        "millijoules",
        "watts",
        "milliwatts",
        "volts",
        "amps",
        "celsius",
        "percents",
        "ratios",
        "gigabytes",
        "flops",
    ];
    let mut parts = unit.split('/').map(str::trim);
    let thing = parts.next().unwrap_or_default();
    let is_plural = thing.len() > 3
        && thing.ends_with('s')
        && thing.chars().all(|c| c.is_ascii_lowercase() || " _-".contains(c));
    let is_rate =
        parts.any(|part| is_time(part) || MEASURED.contains(&part) || part == "second" || part == "sec");
    let is_flops = thing.ends_with("flops") || thing.ends_with("seconds");
    is_plural && !is_rate && !is_flops && !MEASURED.contains(&thing)
}

/// `0.25` -> `250ms`, `90.0` -> `1m 30s`: the form in the suite file and in reports.
pub fn format_duration(seconds: f64) -> String {
    let duration = std::time::Duration::from_millis((seconds.max(0.0) * 1e3).round() as u64);
    humantime::format_duration(duration).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_changes_its_unit_within_its_kind() {
        assert!((convert(50.0, "us", "ns").unwrap() - 50_000.0).abs() < 1e-6);
        assert_eq!(convert(2.0, "KiB", "B"), Some(2048.0));
        assert_eq!((convert(1.0, "s", "B"), convert(1.0, "W", "s")), (None, None));
        assert_eq!(convert(3.0, "GB/s", "MB/ms"), Some(3.0));
        assert_eq!(convert(2.0, "KiB/op", "B/op"), Some(2048.0));
        assert_eq!((convert(1.0, "GB/s", "s/GB"), convert(1.0, "/s", "B/s")), (None, None));
        assert_eq!((convert(3.0, "W", "W"), convert(3.0, "", "J")), (Some(3.0), Some(3.0)));
    }

    #[test]
    fn sizes_and_counts_are_exact_and_times_are_not() {
        assert!(["B", "KiB", "count", "cycles", "registers", "instructions"].into_iter().all(is_counted));
        assert!(!["s", "ms", "GB/s", "%", "", "J"].into_iter().any(is_counted));
    }

    #[test]
    fn times_are_better_lower_and_rates_better_higher() {
        for unit in ["s", "ms", "ns", "B", "MiB"] {
            assert_eq!(direction_of_unit(unit), Some(Better::Lower), "{unit}");
        }
        for unit in
            ["GB/s", "GFLOP/s", "GFLOPS", "tokens/s", "iter/sec", "Gbps", "gbps", "GiBps", "kqps", "ops/ms"]
        {
            assert_eq!(direction_of_unit(unit), Some(Better::Higher), "{unit}");
        }
        for unit in ["%", "", "count", "furlong", "s/iter", "steps", "loops", "ns/ops"] {
            assert_eq!(direction_of_unit(unit), None, "{unit}");
        }
    }
}
