//! The events as a table, which yields better error messages than serde.
//!
//! A test compares the table with the schema that the types yield.

use serde_json::Value;

use crate::record::stage::Stage;

pub(super) struct Field {
    pub key: &'static str,
    pub form: Form,
    pub required: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Flag,
    Number,
    Count,
    Count32,
    /// A number, or null for a measurement that is not a number.
    Measurement,
    Measurements,
    MeasurementsByName,
    Stage,
    Better,
    Lack,
    Texts,
    SecondsByStage,
    Notes,
    Kernels,
}

impl Form {
    pub(super) fn wanted(self) -> &'static str {
        match self {
            Form::Text => "text",
            Form::Flag => "true or false",
            Form::Number => "a number",
            Form::Count => "a whole number from 0",
            Form::Count32 => "a whole number from 0 to 4294967295",
            Form::Measurement => "a number or null",
            Form::Measurements => "a list of numbers",
            Form::MeasurementsByName => "an object of numbers",
            Form::Stage => {
                "one of build, start, import, load, setup, warmup, measure, verify, profile, teardown"
            }
            Form::Better => "\"lower\" or \"higher\"",
            Form::Lack => "\"gpu\"",
            Form::Texts => "a list of texts",
            Form::SecondsByStage => "an object of stages and seconds",
            Form::Notes => "an object",
            Form::Kernels => "an object of kernels",
        }
    }

    /// Checks only the outer type; the caller walks lists and objects.
    pub(super) fn allows(self, value: &Value) -> bool {
        match self {
            Form::Text => value.is_string(),
            Form::Flag => value.is_boolean(),
            Form::Number => value.is_number(),
            Form::Count => value.is_u64(),
            Form::Count32 => value.as_u64().is_some_and(|count| u32::try_from(count).is_ok()),
            Form::Measurement => value.is_number() || value.is_null(),
            Form::Measurements => value.is_array(),
            Form::Stage => value.as_str().is_some_and(|word| word.parse::<Stage>().is_ok()),
            Form::Better => value.as_str().is_some_and(|word| word == "lower" || word == "higher"),
            Form::Lack => value.as_str() == Some("gpu"),
            Form::Texts => value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string)),
            Form::MeasurementsByName | Form::SecondsByStage | Form::Notes | Form::Kernels => {
                value.is_object()
            }
        }
    }
}

const fn need(key: &'static str, form: Form) -> Field {
    Field { key, form, required: true }
}

const fn may(key: &'static str, form: Form) -> Field {
    Field { key, form, required: false }
}

const METRIC: Field = may("metric", Form::Text);
const UNIT: Field = may("unit", Form::Text);
const BETTER: Field = may("better", Form::Better);
const GATE: Field = may("gate", Form::Flag);
const VALUE: Field = need("value", Form::Measurement);

/// The keys of one kernel in `kernels`.
pub(super) const KERNEL: &[Field] = &[
    need("sha256", Form::Text),
    may("registers", Form::Count32),
    may("shared_bytes", Form::Count),
    may("frame_bytes", Form::Count),
    may("spill_store_bytes", Form::Count),
    may("spill_load_bytes", Form::Count),
];

const EVENTS: [(&str, &[Field]); 16] = [
    ("stage", &[need("stage", Form::Stage)]),
    ("sample", &[METRIC, VALUE, UNIT, may("iteration", Form::Count), BETTER, GATE]),
    ("samples", &[METRIC, need("values", Form::Measurements), UNIT, BETTER, GATE]),
    (
        "summary",
        &[METRIC, VALUE, may("stddev", Form::Measurement), may("count", Form::Count), UNIT, BETTER, GATE],
    ),
    (
        "metadata",
        &[
            may("items", Form::Number),
            may("bytes", Form::Number),
            may("flops", Form::Number),
            may("tokens", Form::Number),
            may("device", Form::Text),
            may("notes", Form::Notes),
        ],
    ),
    (
        "config",
        &[
            may("iterations", Form::Count32),
            may("warmup", Form::Count32),
            may("deadlines", Form::SecondsByStage),
            may("threshold", Form::Number),
        ],
    ),
    ("memory", &[may("host_peak_bytes", Form::Count), may("device_peak_bytes", Form::Count)]),
    ("device_code", &[need("arch", Form::Text), may("compiler", Form::Text), need("kernels", Form::Kernels)]),
    (
        "validation",
        &[need("passed", Form::Flag), may("message", Form::Text), may("errors", Form::MeasurementsByName)],
    ),
    (
        "answer",
        &[need("output", Form::Text), need("values", Form::Measurements), may("tolerance", Form::Number)],
    ),
    ("skip", &[need("reason", Form::Text), may("lacks", Form::Lack), may("next", Form::Text)]),
    (
        "throttled",
        &[
            need("samples", Form::Count32),
            need("of", Form::Count32),
            may("reasons", Form::Texts),
            need("spoilt", Form::Flag),
        ],
    ),
    (
        "error",
        &[
            need("message", Form::Text),
            may("kind", Form::Text),
            may("trace", Form::Text),
            may("next", Form::Text),
        ],
    ),
    ("case", &[need("index", Form::Count32)]),
    ("yield", &[]),
    ("end", &[]),
];

pub(super) fn event(name: &str) -> Option<(&'static str, &'static [Field])> {
    EVENTS.iter().find(|(event, _)| *event == name).copied()
}

pub(super) fn names() -> Vec<&'static str> {
    EVENTS.iter().map(|(event, _)| *event).collect()
}

/// The keys of an event in addition to `event`; empty for an unknown event.
pub(super) fn keys(event: &str) -> Vec<&'static str> {
    self::event(event).map(|(_, fields)| fields.iter().map(|field| field.key).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::line::message::Event;

    #[test]
    fn the_table_says_what_the_types_say() {
        let schema = serde_json::to_value(schemars::schema_for!(Event)).unwrap();
        let mut from_types = BTreeMap::new();
        for variant in schema["oneOf"].as_array().unwrap() {
            let properties = variant["properties"].as_object().unwrap();
            let required: Vec<_> =
                variant["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let keys: BTreeMap<_, _> = properties
                .keys()
                .filter(|key| *key != "event")
                .map(|key| (key.clone(), required.contains(&key.as_str())))
                .collect();
            from_types.insert(properties["event"]["const"].as_str().unwrap().to_owned(), keys);
        }
        let from_table: BTreeMap<_, BTreeMap<_, _>> = EVENTS
            .iter()
            .map(|(event, fields)| {
                let keys = fields.iter().map(|field| (field.key.to_owned(), field.required)).collect();
                (event.to_string(), keys)
            })
            .collect();
        assert_eq!(from_table, from_types);
        let kernel =
            serde_json::to_value(schemars::schema_for!(crate::gpu::device_code::KernelCode)).unwrap();
        let keys: Vec<_> = kernel["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut of_table: Vec<_> = KERNEL.iter().map(|field| field.key).collect();
        of_table.sort_unstable();
        assert_eq!(of_table, keys);
    }
}
