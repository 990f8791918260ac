//! Quantities as people write them, and suggestions for misspelt names. The suite file and the command line share these, so
//! that `2s`, `8 GiB` and `5%` have one meaning everywhere.

use gbench_model::{ClockChoice, Margin, near};

/// Seconds, from `90s`, `1m 30s`, `500ms` or a number of seconds. Not negative, at most 365 days. Error: the reason.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let seconds = match text.parse::<f64>() {
        Ok(number) => number,
        Err(_) => humantime::parse_duration(text)
            .map(|duration| duration.as_secs_f64())
            .map_err(|_| format!("`{text}` is not a duration"))?,
    };
    check_seconds(seconds)
}

/// Maximum of a duration: deadlines and their multiplier stay far from overflow.
const YEAR: f64 = 365.0 * 86_400.0;

pub(crate) fn check_seconds(seconds: f64) -> Result<f64, String> {
    match seconds {
        _ if !seconds.is_finite() => Err(format!("{seconds} is not a number of seconds")),
        _ if seconds < 0.0 => Err(format!("{seconds} s is negative")),
        _ if seconds > YEAR => Err(format!("{seconds} s is more than 365 days")),
        _ => Ok(seconds),
    }
}

/// The clock of a GPU's memory: `max`, `off` or MHz. Error: the reason.
pub fn parse_memory_clock(text: &str) -> Result<ClockChoice, String> {
    match text.parse()? {
        ClockChoice::Base => {
            Err("`base` is a clock of the multiprocessors, which the memory does not have".into())
        }
        choice => Ok(choice),
    }
}

/// The power limit of a GPU: watts, or `off`. Error: the reason.
pub fn parse_power_limit(text: &str) -> Result<Option<f64>, String> {
    match text.trim() {
        "off" => Ok(None),
        text => {
            text.parse().map_err(|_| format!("`{text}` is not a power limit")).and_then(check_power_limit)
        }
    }
}

pub(crate) fn check_power_limit(watts: f64) -> Result<Option<f64>, String> {
    // More than any card takes; the driver counts in milliwatts.
    const MOST: f64 = 100_000.0;
    let fits = (1.0..=MOST).contains(&watts);
    if fits { Ok(Some(watts)) } else { Err(format!("{watts} is not a power limit in watts")) }
}

pub(crate) const SIZE_UNITS: [(&str, u64); 10] = [
    ("B", 1),
    ("KB", 1_000),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Bytes, from `8 GiB`, `1.5MB` or a number of bytes. Error: the reason.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
    let number: f64 = number.parse().map_err(|_| format!("`{text}` does not begin with a number"))?;
    let scale = match unit {
        "" => 1,
        unit => match SIZE_UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, scale)) => *scale,
            None => return Err(format!("`{unit}` is not a unit of size")),
        },
    };
    let bytes = number * scale as f64;
    if bytes < (1u64 << 53) as f64 {
        Ok(bytes.round() as u64)
    } else {
        Err(format!("`{text}` is larger than any machine's memory"))
    }
}

/// An absolute difference, from `50 ns`, `64KiB` or a number. Error: the reason.
pub(crate) fn parse_margin(text: &str) -> Result<Margin, String> {
    let text = text.trim();
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut split = digits(text);
    // `1e-6` is a number as a whole; the `e` of a unit has no digit after it.
    if let Some(power) = text[split..].strip_prefix(['e', 'E']) {
        let sign = usize::from(power.starts_with(['-', '+']));
        let whole = power[sign..].find(|c: char| !c.is_ascii_digit()).unwrap_or(power.len() - sign);
        split += if whole > 0 { 1 + sign + whole } else { 0 };
    }
    let (number, unit) = (&text[..split], text[split..].trim());
    match number.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(Margin { value, unit: unit.to_owned() }),
        Ok(_) => Err(format!("`{text}` is not above 0")),
        Err(_) => Err(format!("`{text}` does not begin with a number")),
    }
}

/// A relative change from `5%` or `0.05`, above 0 and at most 1000 %. Without `%` it is below 1: `5` might mean 5 % as well as
/// 500 %. Error: the reason.
pub fn parse_ratio(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let number = |text: &str| -> Result<f64, String> {
        text.parse().map_err(|_| format!("`{text}` is neither `5%` nor `0.05`"))
    };
    let Some(percent) = trimmed.strip_suffix('%') else { return check_ratio(number(trimmed)?) };
    match number(percent.trim_end())? / 100.0 {
        ratio if ratio > 0.0 && ratio <= 10.0 => Ok(ratio),
        _ => Err(format!("`{text}` is not above 0 and at most 1000 %")),
    }
}

pub(crate) fn check_ratio(ratio: f64) -> Result<f64, String> {
    match ratio {
        _ if ratio > 0.0 && ratio < 1.0 => Ok(ratio),
        _ if (1.0..=1000.0).contains(&ratio) => {
            Err(format!("{ratio} is {}; for {ratio} % write \"{ratio}%\"", as_percent(ratio)))
        }
        _ => Err(format!("{ratio} is not above 0 and below 1 (100 %)")),
    }
}

/// A relative change as [`parse_ratio`] reads it.
pub fn ratio_text(ratio: f64) -> String {
    if ratio < 1.0 { ratio.to_string() } else { as_percent(ratio) }
}

fn as_percent(ratio: f64) -> String {
    // Ten digits: the product of 0.07 and 100 is not quite 7.
    let percent = format!("{:.10}", ratio * 100.0);
    let percent = percent.trim_end_matches('0').trim_end_matches('.');
    format!("{percent}%")
}

/// Advice for an unknown name: the near ones, else every known one.
pub fn advise(word: &str, known: &[&str]) -> String {
    let near = near(word, known);
    match near.as_slice() {
        [] => format!("use one of {}", listed(known)),
        [one] => format!("write `{one}`"),
        several => format!("write one of {}", listed(several)),
    }
}

/// `` `a`, `b` and 7 more ``: at most sixty names in full.
pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 60;
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| format!("`{}`", name.as_ref())).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

/// `8 GiB`, `64 kB`, `1000003 B`: the largest unit that is exact.
pub fn format_size(bytes: u64) -> String {
    let exact = SIZE_UNITS.iter().filter(|(_, scale)| bytes >= *scale && bytes.is_multiple_of(*scale));
    let (unit, scale) = exact.max_by_key(|(_, scale)| *scale).unwrap_or(&("B", 1));
    format!("{} {unit}", bytes / scale)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use case_files::Given;

    /// Input: a text that is a `duration`, a `size` or a `threshold`.
    pub(crate) fn answer(given: &Given) -> String {
        let text = given.text();
        let amount = match given.get("of").unwrap().trim_end() {
            "duration" => parse_seconds(&text).map(|seconds| format!("{seconds:?} s")),
            "size" => parse_size(&text).map(|bytes| format!("{bytes} B")),
            "threshold" => parse_ratio(&text).map(|ratio| format!("{ratio:?}")),
            other => panic!("{other}"),
        };
        amount.unwrap_or_else(|why| why)
    }

    #[test]
    fn a_size_reads_back_as_the_number_it_was() {
        for (bytes, text) in [(8 << 30, "8 GiB"), (1_500_000, "1500 kB"), (1001, "1001 B"), (0, "0 B")] {
            assert_eq!(format_size(bytes), text);
            assert_eq!(parse_size(text), Ok(bytes));
        }
    }

    #[test]
    fn n28_a_number_of_one_or_more_is_no_threshold_without_a_percent_sign() {
        for text in ["5", "1", "2.5"] {
            assert_eq!(parse_ratio(text).unwrap_err(), check_ratio(text.parse().unwrap()).unwrap_err());
        }
        assert!(check_ratio(5.0).unwrap_err().starts_with("5 is 500%"));
        for ratio in [0.05, 0.07, 0.0025, 5.0, 1.1, 10.0] {
            assert_eq!(parse_ratio(&ratio_text(ratio)), Ok(ratio), "{}", ratio_text(ratio));
        }
    }

    #[test]
    fn a_near_name_is_advised_and_a_far_one_lists_what_is_known() {
        let known = ["iterations", "processes", "warmup"];
        assert_eq!(advise("zebra", &known), "use one of `iterations`, `processes`, `warmup`");
        assert_eq!(advise("Warmup", &known), "write `warmup`");
    }
}
