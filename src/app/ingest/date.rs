//! When a run began whose file does not say it.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::model::{Fault, Result};

/// Where the date of a run is taken from that its file does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum DatedBy {
    /// The content of the file alone.
    #[default]
    Content,
    /// The date in the file's name: 2026-11-22, 20261122, 2026-11-22T03-15.
    Name,
    /// The time at which the file was last changed.
    Modified,
}

/// A day, and perhaps a time of it behind a `T`.
#[expect(clippy::unwrap_used, reason = "the pattern is a constant, and a test uses it")]
static DATE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(20\d\d)-?([01]\d)-?([0-3]\d)(?:T([0-2]\d)[:.-]?([0-5]\d)(?:[:.-]?([0-5]\d))?Z?)?").unwrap()
});

/// The one date in a file's name, as RFC 3339 in UTC with milliseconds; without a time, midnight. Errors: there is none, or
/// several.
pub(super) fn date_in_name(path: &str) -> Result<String> {
    let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    let digit_at =
        |at: Option<usize>| at.and_then(|at| name.as_bytes().get(at)).is_some_and(u8::is_ascii_digit);
    let mut dates = DATE.captures_iter(&name).filter_map(|found| {
        // A part of a longer number is not a date.
        let whole = found.get(0)?;
        if digit_at(whole.start().checked_sub(1)) || digit_at(Some(whole.end())) {
            return None;
        }
        let part = |index: usize| found.get(index).map_or("00", |part| part.as_str());
        let text = format!("{}-{}-{}T{}:{}:{}.000Z", part(1), part(2), part(3), part(4), part(5), part(6));
        humantime::parse_rfc3339(&text).is_ok().then_some(text)
    });
    let next = "name the files by their day, such as `bench-2026-11-22.json`, or use `--dated-by modified`";
    match (dates.next(), dates.next()) {
        (Some(date), None) => Ok(date),
        (None, _) => Err(Fault::at_path(path, "there is no date in its name", next)),
        _ => Err(Fault::at_path(path, "there are several dates in its name", next)),
    }
}

#[cfg(test)]
mod tests {
    use super::date_in_name;

    #[test]
    fn the_date_in_a_name_is_a_day_and_perhaps_a_time() {
        for (name, date) in [
            ("night/bench-2026-11-22.json", "2026-11-22T00:00:00.000Z"),
            ("20261122.json", "2026-11-22T00:00:00.000Z"),
            ("run_20261122T0315_a100.log", "2026-11-22T03:15:00.000Z"),
            ("2026-11-22T03-15-30.json", "2026-11-22T03:15:30.000Z"),
        ] {
            assert_eq!(date_in_name(name).unwrap(), date, "{name}");
        }
        for name in ["bench.json", "2026-13-22.json", "123202611229.json", "2026-11-22_2026-11-23.json"] {
            assert!(date_in_name(name).is_err(), "{name}");
        }
    }
}
