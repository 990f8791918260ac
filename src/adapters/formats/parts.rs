//! What several formats share: JSON objects in their order, top-level keys, summaries, and how a case fails.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Error, IgnoredAny, MapAccess, Visitor};

use super::format::ResultFile;
use super::table::param;
use crate::adapters::output::Place;
use crate::adapters::{End, MetricReading, ReadError, Reading, SummaryReading, json};
use crate::model::{ParamValue, Params};

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
    fn a_key_that_stands_twice_is_refused() {
        let error = serde_json::from_str::<Entries<u8>>("{\"a\":1,\"b\":2,\"a\":3}").unwrap_err();
        assert!(error.to_string().starts_with("the key `a` stands there twice"), "{error}");
    }
}
