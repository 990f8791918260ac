//! Statistics of a time in milliseconds, by the words of their fields: `median_time_ms`, `latency_p50_ms`,
//! `percentile_95_ms`.
//!
//! Programs and their versions spell the same statistic differently. A field is recognised if every word of its name is
//! in the lists below and one of them is `ms`: without a unit it is not a time.

use crate::adapters::formats::interface::prelude::*;

const PLAIN: [&str; 5] = ["ms", "time", "latency", "dev", "percentile"];

const STATISTICS: [(&str, &str); 20] = [
    ("mean", "mean"),
    ("avg", "mean"),
    ("median", "median"),
    ("p50", "median"),
    ("50", "median"),
    ("std", "std"),
    ("stddev", "std"),
    ("min", "min"),
    ("max", "max"),
    ("p25", "p25"),
    ("25", "p25"),
    ("p75", "p75"),
    ("75", "p75"),
    ("p90", "p90"),
    ("90", "p90"),
    ("p95", "p95"),
    ("95", "p95"),
    ("p99", "p99"),
    ("99", "p99"),
    ("p999", "p99.9"),
];

/// The statistic of a field; a time without such a word is a mean.
pub(crate) fn statistic(name: &str) -> Option<&'static str> {
    let words: Vec<&str> = name.split(['_', '.']).collect();
    let known = |word: &str| STATISTICS.iter().find(|(other, _)| *other == word).map(|(_, known)| *known);
    let is_time =
        words.contains(&"ms") && words.iter().all(|word| PLAIN.contains(word) || known(word).is_some());
    let mut statistics = words.iter().filter_map(|word| known(word));
    let (first, second) = (statistics.next(), statistics.next());
    (is_time && second.is_none()).then(|| first.unwrap_or("mean"))
}

/// Reads the statistics of an object: the median, else the mean, becomes `time`, the others become shown metrics. `None`:
/// there is neither. Errors: a field is not a number, or a statistic appears twice under two names.
pub(crate) fn read_times(
    fields: &Fields,
    count: Option<u64>,
    reading: &mut Reading,
) -> Result<Option<f64>, ReadError> {
    read_as("ms", statistic, fields, count, reading)
}

/// The same for fields such as `median` and `p95`, whose unit the file does not state: their metrics have none.
pub(crate) fn read_times_without_unit(
    fields: &Fields,
    reading: &mut Reading,
) -> Result<Option<f64>, ReadError> {
    let time = read_as("", |name| statistic(&format!("{name}_ms")), fields, None, reading)?;
    reading.metrics.iter_mut().for_each(|metric| metric.better = Some(Better::Lower));
    Ok(time)
}

fn read_as(
    unit: &str,
    statistic: impl Fn(&str) -> Option<&'static str>,
    fields: &Fields,
    count: Option<u64>,
    reading: &mut Reading,
) -> Result<Option<f64>, ReadError> {
    let mut found: Vec<(&'static str, f64)> = Vec::new();
    for (name, value) in flattened(fields) {
        let Some(statistic) = statistic(&name) else { continue };
        let value = fields.number_of(&name, value)?;
        match found.iter().find(|(other, _)| *other == statistic) {
            Some((_, same)) if *same == value => {}
            Some((_, other)) => {
                return Err(fields.wrong(&name, format!("it is {value}, but another field has {other}")));
            }
            None => found.push((statistic, value)),
        }
    }
    let get = |name: &str| found.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
    let Some(value) = get("median").or(get("mean")) else { return Ok(None) };
    summarised(reading, "time", unit, summary(value, get("std"), count));
    for (statistic, value) in &found {
        let is_time = *statistic == "mean" && get("median").is_none();
        if is_time || ["median", "std"].contains(statistic) {
            continue;
        }
        summarised(reading, &format!("time_{statistic}"), unit, summary(*value, None, count)).judged = false;
    }
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::statistic;

    #[test]
    fn a_statistic_is_known_by_its_words_and_its_unit() {
        for (name, is) in [
            ("median_time_ms", "median"),
            ("std_dev_ms", "std"),
            ("percentile_95_ms", "p95"),
            ("latency_ms.p50", "median"),
            ("time_ms", "mean"),
        ] {
            assert_eq!(statistic(name), Some(is), "{name}");
        }
        for name in ["latency_p50", "mean", "kernel_ms", "mean_p50_ms", "p50_us", "ms_per_token", ""] {
            assert_eq!(statistic(name), None, "{name}");
        }
    }
}
