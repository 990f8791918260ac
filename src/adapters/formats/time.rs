//! Moments as files write them, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time of RFC 3339 with its offset, as UTC with milliseconds. `None`: it is of another form, or does not say its offset.
pub(super) fn utc(text: &str) -> Option<String> {
    let (local, offset) = match text.strip_suffix(['Z', 'z']) {
        Some(local) => (local, 0),
        None => {
            let at = text.len().checked_sub(6)?;
            let (local, offset) = (text.get(..at)?, text.get(at..)?);
            let (sign, clock) = match offset.strip_prefix('-') {
                Some(clock) => (-1, clock),
                None => (1, offset.strip_prefix('+')?),
            };
            let (hours, minutes) = clock.split_once(':')?;
            (local, sign * (hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60))
        }
    };
    let local = humantime::parse_rfc3339_weak(local).ok()?;
    let shift = Duration::from_secs(offset.unsigned_abs());
    let time = if offset > 0 { local.checked_sub(shift)? } else { local.checked_add(shift)? };
    in_range(time)
}

/// Milliseconds since 1970 likewise. `None`: before 1970, or behind the years that have such a form.
pub(super) fn utc_millis(millis: f64) -> Option<String> {
    let whole = (0.0..2.5e14).contains(&millis).then_some(millis as u64)?;
    in_range(UNIX_EPOCH.checked_add(Duration::from_millis(whole))?)
}

/// From 1970 to 9999, which is what `humantime` writes.
fn in_range(time: SystemTime) -> Option<String> {
    let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    (seconds < 253_402_300_800).then(|| humantime::format_rfc3339_millis(time).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_an_offset_is_none() {
        assert_eq!(utc("2026-11-22T10:00:00Z").as_deref(), Some("2026-11-22T10:00:00.000Z"));
        assert_eq!(utc("2026-11-22T10:00:00.25+02:30").as_deref(), Some("2026-11-22T07:30:00.250Z"));
        assert_eq!(utc("2026-11-22T23:30:00-01:00").as_deref(), Some("2026-11-23T00:30:00.000Z"));
        for text in ["2026-11-22T10:00:00", "2026-11-22", "", "é", "22.11.2026 10:00 Z", "ééé+01:00"] {
            assert_eq!(utc(text), None, "{text}");
        }
    }

    #[test]
    fn a_moment_with_an_offset_is_one_in_utc() {
        assert_eq!(utc("2026-11-22T10:00:00+01:30").as_deref(), Some("2026-11-22T08:30:00.000Z"));
        assert_eq!(utc("2026-11-22T10:00:00.25Z").as_deref(), Some("2026-11-22T10:00:00.250Z"));
        assert_eq!((utc("2026-11-22T10:00:00"), utc("ä+01:00"), utc("")), (None, None, None));
        assert_eq!(utc_millis(1_700_000_000_123.0).as_deref(), Some("2023-11-14T22:13:20.123Z"));
        assert_eq!((utc_millis(-1.0), utc_millis(f64::NAN), utc_millis(1e300)), (None, None, None));
    }
}
