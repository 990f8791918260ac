//! Reads the list of benchmarks: each entry is folded into its case and dropped.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::cases::Cases;
use super::entry::Entry;
use crate::adapters::readers::loose_json::is_no_number;

impl<'de> Deserialize<'de> for Cases {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(CasesVisitor)
    }
}

struct CasesVisitor;

impl<'de> Visitor<'de> for CasesVisitor {
    type Value = Cases;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of benchmarks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Cases, A::Error> {
        let mut cases = Cases::default();
        let mut index = 0_usize;
        while entries.next_element_seed(EntrySeed { cases: &mut cases, index })?.is_some() {
            index += 1;
        }
        Ok(cases)
    }
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A value of a user-defined key: a counter is a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Number(f64),
    Text(String),
    Other(IgnoredAny),
}

impl Value {
    /// Some versions write `NaN`, which is a text here. `None`: it is not a counter.
    fn number(self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(value),
            Self::Text(text) => is_no_number(&text).then_some(f64::NAN),
            Self::Other(_) => None,
        }
    }

    /// Only the entries that are used need one.
    fn time(self) -> f64 {
        self.number().unwrap_or(f64::NAN)
    }
}

struct EntrySeed<'c> {
    cases: &'c mut Cases,
    index: usize,
}

impl<'de> DeserializeSeed<'de> for EntrySeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

fn set<'de, A: MapAccess<'de>, T: Deserialize<'de>, U>(
    field: &mut Option<U>,
    key: &str,
    map: &mut A,
    from: impl Fn(T) -> U,
) -> Result<(), A::Error> {
    let value: Option<T> = map.next_value()?;
    if field.is_some() {
        return Err(A::Error::custom(format_args!("`{key}` appears twice")));
    }
    *field = value.map(from);
    Ok(())
}

impl<'de> Visitor<'de> for EntrySeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a benchmark")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut entry = Entry::default();
        while let Some(Text(key)) = map.next_key()? {
            let map = &mut map;
            let text = |Text(text): Text<'de>| text;
            match &*key {
                "name" => set(&mut entry.name, &key, map, text)?,
                "run_name" => set(&mut entry.run_name, &key, map, text)?,
                "run_type" => set(&mut entry.run_type, &key, map, text)?,
                "aggregate_name" => set(&mut entry.aggregate_name, &key, map, text)?,
                "label" => set(&mut entry.label, &key, map, text)?,
                "time_unit" => set(&mut entry.time_unit, &key, map, text)?,
                "error_message" => set(&mut entry.error_message, &key, map, text)?,
                "skip_message" => set(&mut entry.skip_message, &key, map, text)?,
                "error_occurred" => set(&mut entry.error_occurred, &key, map, |yes: bool| yes)?,
                "skipped" => set(&mut entry.skipped, &key, map, |yes: bool| yes)?,
                "repetition_index" => set(&mut entry.repetition_index, &key, map, |count: u64| count)?,
                "threads" => set(&mut entry.threads, &key, map, |count: u64| count)?,
                "iterations" => set(&mut entry.iterations, &key, map, |count: u64| count)?,
                "real_time" => set(&mut entry.real_time, &key, map, Value::time)?,
                "cpu_time" => set(&mut entry.cpu_time, &key, map, Value::time)?,
                "family_index" | "per_family_instance_index" | "repetitions" | "aggregate_unit" => {
                    map.next_value::<IgnoredAny>()?;
                }
                _ => {
                    let value: Value = map.next_value()?;
                    entry.counters.extend(value.number().map(|value| (key, value)));
                }
            }
        }
        let index = self.index;
        self.cases.add(entry).map_err(|what| A::Error::custom(format_args!("benchmarks[{index}]: {what}")))
    }
}
