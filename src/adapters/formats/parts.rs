//! What several formats share: names of cases, JSON objects in their order, top-level keys, dates.

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use serde::Deserialize;
use serde::de::{DeserializeOwned, Error, IgnoredAny, MapAccess, Visitor};

use super::format::ResultFile;
use super::table::param;
use crate::adapters::output::Place;
use crate::adapters::{CaseName, End, MetricReading, ReadError, Reading, SummaryReading, json};
use crate::model::{ParamValue, Params};

/// `name[k=v,...]`, or the name alone.
pub(super) fn named(case: &str, params: Params) -> CaseName {
    let pairs: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let native = if pairs.is_empty() { case.to_owned() } else { format!("{case}[{}]", pairs.join(",")) };
    CaseName { native, case: case.to_owned(), params }
}

/// A value of a JSON document as a parameter. `None`: it is null, a list or an object.
pub(super) fn json_param(value: &serde_json::Value) -> Option<ParamValue> {
    match value {
        serde_json::Value::Bool(value) => Some(ParamValue::Bool(*value)),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Some(ParamValue::Int(whole)),
            None => number.as_f64().map(ParamValue::Float),
        },
        serde_json::Value::String(text) => Some(ParamValue::Text(text.clone())),
        _ => None,
    }
}

/// A metric with a summary of the tool's own.
pub(super) fn summarised<'a>(
    reading: &'a mut Reading,
    name: &str,
    unit: &str,
    value: f64,
    stddev: Option<f64>,
    count: Option<u64>,
) -> &'a mut MetricReading {
    let metric = reading.metric(name, unit, None);
    let stddev = stddev.filter(|stddev| stddev.is_finite() && *stddev >= 0.0);
    metric.summary = Some(SummaryReading { value, stddev, count });
    metric
}

pub(super) fn failed(message: impl Into<String>) -> End {
    End::Failed { message: message.into() }
}

/// The case failed, for the first reason that is found.
pub(super) fn fail(reading: &mut Reading, message: impl Into<String>) {
    if reading.end == End::Measured {
        reading.end = failed(message);
    }
}

/// What failed without the numbers that stand beside it.
pub(super) fn ended(mut reading: Reading) -> Reading {
    if reading.end != End::Measured {
        reading.metrics.clear();
    }
    reading
}

/// The document of a file. Errors: as [`json::document`].
pub(super) fn document<'a, T: Deserialize<'a>>(file: &ResultFile<'a>) -> Result<T, ReadError> {
    json::document(Some(file.name), file.bytes)
}

/// A document a line. Errors: as [`json::document`].
pub(super) fn json_lines<'a, T: Deserialize<'a>>(file: &ResultFile<'a>) -> Result<Vec<T>, ReadError> {
    let lines = file.bytes.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let read = |(at, line): (usize, &'a [u8])| {
        json::document(Some(file.name), line).map_err(|mut error| {
            if let Place::Column { line, .. } = &mut error.place {
                *line = at + 1;
            }
            error
        })
    };
    lines.map(read).collect()
}

/// Whether a file is a JSON object that has these keys among its own.
pub(super) fn has_keys(file: &ResultFile, keys: &[&str]) -> bool {
    let begins = file.bytes.trim_ascii_start().starts_with(b"{");
    let named = |key: &&str| memchr::memmem::find(file.bytes, format!("\"{key}\"").as_bytes()).is_some();
    if !begins || !keys.iter().all(named) {
        return false;
    }
    let Ok(Entries(found)) = serde_json::from_slice::<Entries<IgnoredAny>>(file.bytes) else { return false };
    keys.iter().all(|key| found.iter().any(|(name, _)| name == key))
}

/// A JSON object in its order. A key that stands twice is an error.
#[derive(Clone, Debug)]
pub(super) struct Entries<T>(pub Vec<(String, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Entries<T> {
    pub fn get(&self, key: &str) -> Option<&T> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Pairs<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Pairs<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let (mut pairs, mut seen) = (Vec::new(), std::collections::HashSet::new());
                while let Some(key) = map.next_key::<String>()? {
                    if !seen.insert(key.clone()) {
                        return Err(M::Error::custom(format!("the key `{key}` stands there twice")));
                    }
                    pairs.push((key, map.next_value()?));
                }
                Ok(Entries(pairs))
            }
        }
        from.deserialize_map(Pairs(std::marker::PhantomData))
    }
}

/// A value of a document as a type. Errors: at that path, what does not fit.
pub(super) fn typed<T: DeserializeOwned>(
    file: &ResultFile,
    path: &str,
    value: &serde_json::Value,
) -> Result<T, ReadError> {
    serde_json::from_value(value.clone()).map_err(|error| file.at(path, error.to_string()))
}

/// A moment with its offset, such as `2026-11-22T10:00:00+01:00`, in UTC with milliseconds. `None`: it has no offset, or is no date.
pub(super) fn utc(text: &str) -> Option<String> {
    if text.ends_with('Z') {
        let time = humantime::parse_rfc3339(text).ok()?;
        return Some(humantime::format_rfc3339_millis(time).to_string());
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (sign, offset) = (offset.as_bytes().first()?, offset.get(1..)?);
    let (hours, minutes) = offset.split_once(':')?;
    let (hours, minutes) = (hours.parse::<u64>().ok()?, minutes.parse::<u64>().ok()?);
    let offset = Duration::from_secs(hours * 3600 + minutes * 60);
    let time = humantime::parse_rfc3339(&format!("{}Z", local.replace(' ', "T"))).ok()?;
    let time = match sign {
        b'+' => time.checked_sub(offset)?,
        b'-' => time.checked_add(offset)?,
        _ => return None,
    };
    in_range(time)
}

/// Milliseconds since 1970 likewise.
pub(super) fn utc_millis(millis: f64) -> Option<String> {
    let whole = (0.0..2.5e14).contains(&millis).then_some(millis as u64)?;
    in_range(UNIX_EPOCH.checked_add(Duration::from_millis(whole))?)
}

/// From 1970 to 9999, which is what `humantime` writes.
fn in_range(time: std::time::SystemTime) -> Option<String> {
    let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    (seconds < 253_402_300_800).then(|| humantime::format_rfc3339_millis(time).to_string())
}

/// Cells of a table as parameters, without those that are empty.
pub(super) fn params_of<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Params {
    pairs
        .filter(|(_, cell)| !cell.trim().is_empty())
        .map(|(name, cell)| (name.to_owned(), param(cell)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_with_an_offset_is_one_in_utc() {
        assert_eq!(utc("2026-11-22T10:00:00+01:30").as_deref(), Some("2026-11-22T08:30:00.000Z"));
        assert_eq!(utc("2026-11-22T10:00:00.25Z").as_deref(), Some("2026-11-22T10:00:00.250Z"));
        assert_eq!((utc("2026-11-22T10:00:00"), utc("ä+01:00"), utc("")), (None, None, None));
        assert_eq!(utc_millis(1_700_000_000_123.0).as_deref(), Some("2023-11-14T22:13:20.123Z"));
        assert_eq!((utc_millis(-1.0), utc_millis(f64::NAN), utc_millis(1e300)), (None, None, None));
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        let error = serde_json::from_str::<Entries<u8>>("{\"a\":1,\"b\":2,\"a\":3}").unwrap_err();
        assert!(error.to_string().starts_with("the key `a` stands there twice"), "{error}");
    }
}
