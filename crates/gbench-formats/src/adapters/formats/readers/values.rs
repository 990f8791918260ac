//! JSON documents: whole or line by line; objects in order; values as types and as parameters.
//!
//! Use [`Entries`] if the document's order is that of its cases, [`super::fields::Fields`] if errors should contain the
//! field's path, and [`super::outline::Outline`] to recognise a file.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde_json::Value;

use crate::adapters::formats::interface::format::ResultFile;
use crate::adapters::interface::output::Place;
use crate::adapters::interface::output::ReadError;
use crate::adapters::readers::json;
use gbench_model::ParamValue;

pub(crate) fn document<T: DeserializeOwned>(file: &ResultFile) -> Result<T, ReadError> {
    json::document(Some(file.name), file.bytes)
}

/// One document per line. Errors: as [`json::document`].
pub(crate) fn json_lines<T: DeserializeOwned>(file: &ResultFile) -> Result<Vec<T>, ReadError> {
    let lines = file.bytes.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let read = |(at, line): (usize, &[u8])| {
        json::document(Some(file.name), line).map_err(|mut error| {
            if let Place::Column { line, .. } = &mut error.place {
                *line = at + 1;
            }
            error
        })
    };
    lines.map(read).collect()
}

/// A value of a document as a type. Errors: the mismatch, with the path.
pub(crate) fn typed<T: DeserializeOwned>(
    file: &ResultFile,
    path: &str,
    value: &Value,
) -> Result<T, ReadError> {
    T::deserialize(value).map_err(|error| file.at(path, error.to_string()))
}

/// A text, a number or a boolean as a parameter. `None` for null, a list or an object.
pub(crate) fn scalar(value: &Value) -> Option<ParamValue> {
    match value {
        Value::Bool(value) => Some(ParamValue::Bool(*value)),
        Value::String(text) => Some(ParamValue::Text(text.clone())),
        Value::Number(number) => {
            let whole = number.as_i64().map(ParamValue::Int);
            // A float has not all of its digits: two seeds would be one.
            let large = || number.is_u64().then(|| ParamValue::Text(number.to_string()));
            whole.or_else(large).or_else(|| number.as_f64().map(ParamValue::Float))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Like [`scalar`], and a list as one text: `2x1024`, and a list of lists `2x1024,8`. `None` for null or an object, also
/// within a list.
pub(crate) fn param_of(value: &Value) -> Option<ParamValue> {
    let Value::Array(list) = value else { return scalar(value) };
    let between = if list.iter().any(Value::is_array) { "," } else { "x" };
    let parts: Option<Vec<String>> = list.iter().map(|value| Some(param_of(value)?.to_string())).collect();
    Some(ParamValue::Text(parts?.join(between)))
}

/// True if the value of a field changes from run to run, whatever ran: a date, a temperature, the number of a run, its outcome.
pub fn changes_by_itself(name: &str) -> bool {
    const IDS: &str = "benchmark_id|id|job_id|run_id|session_id|trace_id";
    const UNITS: &str = "c|celsius|gb|gib|iso|mb|mib|mhz|ms|ns|pct|percent|s|us|utc|w|watts";
    const WORDS: &str = "available|clock|created|date|datetime|dir|elapsed|ended|error|errors|failed|file|filename|finished|\
        free|load|message|mhz|output|passed|path|pid|port|power|reason|run|seconds|skipped|started|status|\
        success|temp|temperature|time|timestamp|uptime|url|usage|used|uuid";
    let is = |words: &str, part: &str| words.split('|').any(|word| word == part);
    let name = name.to_ascii_lowercase();
    let parts: Vec<&str> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    // A file of the workload, wherever it is.
    let is_workload = parts.iter().any(|part| is("checkpoint|dataset|model|tokenizer", part));
    // The last word determines the meaning: that of `start_time` is a time, that of `time_steps` is not.
    let last = parts.iter().rev().find(|part| !is(UNITS, part) || is(WORDS, part));
    is(IDS, &name) || !is_workload && last.is_some_and(|part| is(WORDS, part))
}

/// True if a field is how often, or for how long, a program measures.
pub(crate) fn is_setting(name: &str) -> bool {
    has_word(
        name,
        "burnin|iteration|iterations|iters|repetitions|reps|runs|samples|seed|timeout|trials|warmup|warmups",
    )
}

fn has_word(name: &str, words: &str) -> bool {
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase);
    parts.any(|part| words.split('|').any(|word| word == part))
}

/// True if a field that is not read may be a figure: a number, a list of numbers, or a number with its unit.
pub(crate) fn has_number(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::Array(list) => list.iter().any(Value::is_number),
        Value::Object(object) => object.get("value").is_some_and(Value::is_number),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The texts and flags of a record that its reader does not know, as facts. A number may be a figure, and is not a fact.
pub(crate) fn unknown<'a>(
    fields: impl IntoIterator<Item = (&'a str, &'a Value)>,
    is_known: impl Fn(&str) -> bool,
) -> Vec<(String, Value)> {
    let is_fact = |name: &str, value: &Value| {
        (value.is_string() || value.is_boolean()) && !is_known(name) && !changes_by_itself(name)
    };
    let facts = fields.into_iter().filter(|(name, value)| is_fact(name, value) && value.as_str() != Some(""));
    facts.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// A JSON object in its order. A key that appears twice is an error.
#[derive(Clone, Debug)]
pub(crate) struct Entries<T>(pub Vec<(String, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Entries<T> {
    pub(crate) fn get(&self, key: &str) -> Option<&T> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }
}

impl Entries<Value> {
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// The value of a key as a type; `None` if missing or null. Errors: it has another type.
    pub(crate) fn typed<T: DeserializeOwned>(
        &self,
        file: &ResultFile,
        key: &str,
    ) -> Result<Option<T>, ReadError> {
        let there = self.get(key).filter(|value| !value.is_null());
        there.map(|value| typed(file, key, value)).transpose()
    }

    /// The same for a required key.
    pub(crate) fn need<T: DeserializeOwned>(&self, file: &ResultFile, key: &str) -> Result<T, ReadError> {
        self.typed(file, key)?.ok_or_else(|| file.at(key, "it is missing"))
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
                        return Err(M::Error::custom(format!("`{key}` appears twice")));
                    }
                    pairs.push((key, map.next_value()?));
                }
                Ok(Entries(pairs))
            }
        }
        from.deserialize_map(Pairs(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_that_appears_twice_is_refused() {
        let error = serde_json::from_str::<Entries<u8>>("{\"a\":1,\"b\":2,\"a\":3}").unwrap_err();
        assert!(error.to_string().starts_with("`a` appears twice"), "{error}");
    }

    #[test]
    fn a_field_changes_by_itself_by_what_its_last_word_says() {
        for name in
            ["date", "start_time", "gpu.temperature_c", "elapsed-s", "run_id", "log_path", "exit_status"]
        {
            assert!(changes_by_itself(name), "{name}");
        }
        for name in [
            "time_steps",
            "output_dtype",
            "run_mode",
            "load_balance",
            "file_size",
            "clock_locked",
            "base_model_path",
        ] {
            assert!(!changes_by_itself(name), "{name}");
        }
    }

    #[test]
    fn a_list_is_one_parameter_and_lists_of_different_shapes_are_different() {
        let text = |value: Value| param_of(&value).map(|param| param.to_string());
        assert_eq!(text(json!([2, 3])).as_deref(), Some("2x3"));
        assert_eq!(text(json!([[2, 3], [4]])).as_deref(), Some("2x3,4"));
        assert_ne!(text(json!([[2], [3]])), text(json!([[2, 3]])));
        assert_eq!((text(json!([{}])), text(Value::Null), scalar(&json!([1]))), (None, None, None));
        assert_eq!(
            (param_of(&json!(8)), scalar(&json!(0.5))),
            (Some(ParamValue::Int(8)), Some(ParamValue::Float(0.5)))
        );
    }
}
