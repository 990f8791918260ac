//! Moments in UTC, from texts or numbers that determine them unambiguously.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Normalises an RFC 3339 moment with its offset, such as `2026-11-22T10:00:00+01:00`, to UTC with milliseconds. `None`:
/// no offset, or not a moment between 1970 and 9999.
pub(crate) fn utc(text: &str) -> Option<String> {
    let (local, offset) = match text.strip_suffix(['Z', 'z']) {
        Some(local) => (local, 0),
        None => {
            let (local, offset) = text.split_at_checked(text.len().checked_sub("+00:00".len())?)?;
            (local, seconds(offset)?)
        }
    };
    // A local time that already contains an offset would have two.
    let local = Some(local).filter(|local| local.ends_with(|c: char| c.is_ascii_digit()))?;
    let local = humantime::parse_rfc3339_weak(local).ok()?;
    let shift = Duration::from_secs(offset.unsigned_abs());
    written(if offset > 0 { local.checked_sub(shift)? } else { local.checked_add(shift)? })
}

/// The same for milliseconds since 1970.
pub(crate) fn utc_millis(millis: f64) -> Option<String> {
    let whole = (0.0..2.6e14).contains(&millis).then_some(millis as u64)?;
    written(UNIX_EPOCH.checked_add(Duration::from_millis(whole))?)
}

fn seconds(offset: &str) -> Option<i64> {
    let [sign, clock @ ..] = offset.as_bytes() else { return None };
    let [ten_hours, hours, b':', ten_minutes, minutes] = clock else { return None };
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    let hours = 10 * digit(ten_hours)? + digit(hours)?;
    let minutes = 10 * digit(ten_minutes)? + digit(minutes)?;
    let seconds = (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)?;
    match sign {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

/// `humantime` writes years up to 9999.
fn written(time: SystemTime) -> Option<String> {
    let since = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    (since < 253_402_300_800).then(|| humantime::format_rfc3339_millis(time).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_with_an_offset_is_one_in_utc() {
        for (text, moment) in [
            ("2026-11-22T10:00:00Z", "2026-11-22T10:00:00.000Z"),
            ("2026-11-22T10:00:00.25Z", "2026-11-22T10:00:00.250Z"),
            ("2026-11-22T10:00:00.25+02:30", "2026-11-22T07:30:00.250Z"),
            ("2026-11-22T23:30:00-01:00", "2026-11-23T00:30:00.000Z"),
            ("2026-11-22 10:00:00+01:00", "2026-11-22T09:00:00.000Z"),
        ] {
            assert_eq!(utc(text).as_deref(), Some(moment), "{text}");
        }
        assert_eq!(utc_millis(1_700_000_000_123.0).as_deref(), Some("2023-11-14T22:13:20.123Z"));
    }

    #[test]
    fn what_is_not_certain_is_none() {
        for text in [
            "2026-11-22T10:00:00",
            "2026-11-22T10:00:00ZZ",
            "2026-11-22T10:00:00Z+01:00",
            "2026-11-22T10:00:00+01:-5",
            "2026-11-22T10:00:00+1:000",
            "2026-11-22T10:00:00+01:60",
            "1970-01-01T00:00:00+01:00",
            "2026-11-22",
            "22.11.2026 10:00 Z",
            "ééé+01:00",
            "ä+01:00",
            "é",
            "",
        ] {
            assert_eq!(utc(text), None, "{text}");
        }
        assert_eq!((utc_millis(-1.0), utc_millis(f64::NAN), utc_millis(1e300)), (None, None, None));
    }
}
