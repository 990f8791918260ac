//! Parses a line's bytes into an [`Event`], or explains why it is not one.
//!
//! The authors of children do not know this code, so errors must teach: which column, which key, which name was probably
//! meant. Valid lines only go through serde; only a line that failed is examined again.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::message::{Event, MAX_LINE};
use super::non_finite::{absent_everywhere, absent_if_non_finite, literal_of, quote_non_finite};
use super::shape::{self, Field, Form};
use crate::gpu::code_union::MAX_KERNELS;
use crate::gpu::device_code::KernelCode;
use crate::text::near::near;

/// Values of one output.
const MAX_ANSWER: usize = 1000;

/// Why a line is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("the line has {bytes} bytes; a line may have {MAX_LINE}")]
    TooLong { bytes: usize },
    /// `column` counts bytes from 1.
    #[error("the line is not UTF-8 at column {column}")]
    NotUtf8 { column: usize },
    /// `column` counts bytes from 1.
    #[error("the line is not JSON at column {column}: {what}")]
    NotJson { column: usize, what: String },
    #[error("the line is {got}, not a JSON object")]
    NotObject { got: String },
    #[error("the line has no key `event`")]
    NoEvent,
    #[error("there is no event `{name}`{}", did_you_mean(near))]
    UnknownEvent { name: String, near: Option<&'static str> },
    #[error("event `{event}` has no key `{key}`{}", did_you_mean(near))]
    UnknownKey { event: &'static str, key: String, near: Option<&'static str> },
    #[error("event `{event}` needs the key `{key}`")]
    MissingKey { event: &'static str, key: &'static str },
    /// `got` shows the value, truncated.
    #[error("`{key}` of event `{event}` is {got}, not {wanted}")]
    WrongType { event: &'static str, key: String, wanted: &'static str, got: String },
    /// A duplicate key, or another oddity that only serde sees.
    #[error("the line is not an event: {what}")]
    Malformed { what: String },
}

impl LineError {
    /// The next step for the author of the child, in the imperative, without a period.
    pub fn advice(&self) -> String {
        match self {
            Self::TooLong { .. } => format!("send samples in several lines of less than {MAX_LINE} bytes"),
            Self::NotUtf8 { .. } => "write the line as UTF-8".into(),
            Self::NotJson { .. } | Self::NotObject { .. } => {
                "write one whole JSON object a line, and nothing else to this channel".into()
            }
            Self::NoEvent => r#"begin the line with {"event": "sample", or another event's name"#.into(),
            Self::UnknownEvent { .. } => format!("use one of: {}", shape::names().join(", ")),
            Self::UnknownKey { event, .. } => format!("use one of: {}", shape::keys(event).join(", ")),
            Self::MissingKey { key, .. } => format!("add the key `{key}`"),
            Self::WrongType { key, wanted, .. } => format!("make `{key}` {wanted}"),
            Self::Malformed { .. } => "compare the line with docs/protocol.md".into(),
        }
    }
}

fn did_you_mean(near: &Option<&'static str>) -> String {
    near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// Reads one line, with or without its line end.
///
/// `NaN` and `Infinity`, which Python's `json.dumps` writes although JSON lacks them, and C's `nan` and `inf` become an absent
/// number in a measurement (`value`, `values`, `stddev`, `errors`) and null in `notes`. The case is then invalid, but the
/// protocol is not broken. Elsewhere they are a wrong type.
pub fn parse(line: &[u8]) -> Result<Event, LineError> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() > MAX_LINE {
        return Err(LineError::TooLong { bytes: line.len() });
    }
    let text =
        std::str::from_utf8(line).map_err(|error| LineError::NotUtf8 { column: error.valid_up_to() + 1 })?;
    let event = match serde_json::from_str(text) {
        Ok(event) => event,
        Err(error) => look_again(text, &error)?,
    };
    check_values(&event)?;
    Ok(event)
}

/// Explains a line that serde refused, or reads it if non-finite literals were the only problem.
fn look_again(text: &str, error: &serde_json::Error) -> Result<Event, LineError> {
    let quoted = quote_non_finite(text);
    let value: Value = serde_json::from_str(&quoted.text).map_err(|error| LineError::NotJson {
        column: quoted.column_before(error.column()),
        what: without_place(&error.to_string()),
    })?;
    let Value::Object(mut object) = value else {
        return Err(LineError::NotObject { got: show(&value) });
    };
    check_shape(&mut object)?;
    let malformed =
        |error: &serde_json::Error| LineError::Malformed { what: without_place(&error.to_string()) };
    if quoted.literals.is_empty() {
        // Nothing was changed, so serde saw something that a map of values cannot show, such as a duplicate key.
        Err(malformed(error))
    } else {
        serde_json::from_value(Value::Object(object)).map_err(|error| malformed(&error))
    }
}

/// serde_json ends its messages with a position in the modified text, which is not the user's.
fn without_place(message: &str) -> String {
    message.split(" at line ").next().unwrap_or(message).to_owned()
}

/// Checks event, keys and types; turns marked literals into null where they are allowed.
fn check_shape(object: &mut Map<String, Value>) -> Result<(), LineError> {
    let name = match object.get("event") {
        None => return Err(LineError::NoEvent),
        Some(Value::String(name)) => name.clone(),
        Some(other) => return Err(LineError::UnknownEvent { name: show(other), near: None }),
    };
    let Some((event, fields)) = shape::event(&name) else {
        let near = near(&name, &shape::names()).first().copied();
        return Err(LineError::UnknownEvent { name, near });
    };
    for (key, value) in object.iter_mut().filter(|(key, _)| *key != "event") {
        let Some(field) = fields.iter().find(|field| field.key == key) else {
            let near = near(key, &shape::keys(event)).first().copied();
            return Err(LineError::UnknownKey { event, key: key.clone(), near });
        };
        check_field(event, field, value)?;
    }
    let missing = fields.iter().find(|field| field.required && !object.contains_key(field.key));
    match missing {
        Some(field) => Err(LineError::MissingKey { event, key: field.key }),
        None => Ok(()),
    }
}

fn check_field(event: &'static str, field: &Field, value: &mut Value) -> Result<(), LineError> {
    let wrong = |key: String, value: &Value, wanted| {
        Err(LineError::WrongType { event, key, wanted, got: show(value) })
    };
    match (field.form, &mut *value) {
        (Form::Measurements, Value::Array(values)) => {
            for (index, value) in values.iter_mut().enumerate() {
                absent_if_non_finite(value);
                if !Form::Measurement.allows(value) {
                    return wrong(format!("values[{index}]"), value, Form::Measurement.wanted());
                }
            }
        }
        (Form::MeasurementsByName, Value::Object(values)) => {
            for (name, value) in values {
                absent_if_non_finite(value);
                if !Form::Measurement.allows(value) {
                    return wrong(format!("errors.{name}"), value, Form::Measurement.wanted());
                }
            }
        }
        (Form::SecondsByStage, Value::Object(values)) => {
            for (stage, value) in values {
                let known = Form::Stage.allows(&Value::String(stage.clone()));
                if !known || !value.is_number() {
                    let key = format!("deadlines.{stage}");
                    return wrong(key, value, if known { "a number" } else { "a stage's deadline" });
                }
            }
        }
        (Form::Kernels, Value::Object(kernels)) => {
            for (name, kernel) in kernels {
                check_kernel(event, name, kernel)?;
            }
        }
        (Form::Measurement, value) => absent_if_non_finite(value),
        (Form::Notes, value) => absent_everywhere(value),
        _ => {}
    }
    let marked = literal_of(value).is_some();
    if !marked && field.form.allows(value) || value.is_null() && !field.required {
        Ok(())
    } else {
        wrong(field.key.into(), value, field.form.wanted())
    }
}

/// Checks one kernel of a `device_code` event, whose keys are reported as `kernels.saxpy.registers`.
fn check_kernel(event: &'static str, name: &str, kernel: &Value) -> Result<(), LineError> {
    let wrong = |key: String, value: &Value, wanted| {
        Err(LineError::WrongType { event, key, wanted, got: show(value) })
    };
    let place = format!("kernels.{}", show_name(name));
    let Value::Object(given) = kernel else { return wrong(place, kernel, "an object with `sha256`") };
    if !given.contains_key("sha256") {
        return wrong(place, kernel, "an object with `sha256`");
    }
    for (key, value) in given {
        let Some(field) = shape::KERNEL.iter().find(|field| field.key == key) else {
            let keys = "a key of a kernel: sha256, registers, shared_bytes, frame_bytes, spill_store_bytes, \
                        spill_load_bytes";
            return wrong(format!("{place}.{}", show_name(key)), value, keys);
        };
        if !(field.form.allows(value) || value.is_null() && !field.required) {
            return wrong(format!("{place}.{key}"), value, field.form.wanted());
        }
    }
    Ok(())
}

fn show_name(name: &str) -> String {
    name.chars().take(60).collect()
}

/// An error for invalid device code: the key, the expected form, the value.
fn wrong_code(
    arch: &str,
    compiler: Option<&str>,
    kernels: &BTreeMap<String, KernelCode>,
) -> Option<(String, &'static str, String)> {
    /// Bytes of a kernel's name; C++ templates have long ones.
    const LONGEST_NAME: usize = 4096;
    let text = |text: &str| show(&Value::String(text.to_owned()));
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    if arch.is_empty() || arch.len() > 64 || !arch.chars().all(is_word) {
        return Some(("arch".into(), "an architecture such as \"sm_90\"", text(arch)));
    }
    let plain = |text: &str, longest| {
        !text.is_empty() && text.len() <= longest && !text.chars().any(char::is_control)
    };
    if let Some(compiler) = compiler.filter(|compiler| !plain(compiler, 200)) {
        return Some(("compiler".into(), "a text of up to 200 bytes such as \"NVRTC 13.5\"", text(compiler)));
    }
    if kernels.len() > MAX_KERNELS {
        let got = format!("an object of {}", kernels.len());
        return Some(("kernels".into(), "an object of up to 1000 kernels; several events are joined", got));
    }
    kernels.iter().find_map(|(name, kernel)| {
        if !plain(name, LONGEST_NAME) {
            let wanted = "an object whose names are kernels', of up to 4096 bytes";
            return Some(("kernels".into(), wanted, text(name)));
        }
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let is_hash = kernel.sha256.len() == 64 && kernel.sha256.chars().all(is_digit);
        let key = || format!("kernels.{}.sha256", show_name(name));
        (!is_hash).then(|| (key(), "64 digits of 0-9 and a-f", text(&kernel.sha256)))
    })
}

/// Checks bounds that types cannot express.
fn check_values(event: &Event) -> Result<(), LineError> {
    let wrong =
        |event, key: &str, wanted, got| Err(LineError::WrongType { event, key: key.into(), wanted, got });
    if let Event::Samples { values, .. } = event
        && values.is_empty()
    {
        return wrong("samples", "values", "a list with at least one measurement", "[]".into());
    }
    match event {
        Event::Sample { metric, .. } | Event::Samples { metric, .. } | Event::Summary { metric, .. } => {
            let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
            if metric.is_empty() || metric.len() > 200 || !metric.chars().all(allowed) {
                let name = match event {
                    Event::Sample { .. } => "sample",
                    Event::Samples { .. } => "samples",
                    _ => "summary",
                };
                let wanted = "a name of up to 200 letters, digits, `_`, `-`, `.` and `/`";
                return wrong(name, "metric", wanted, show(&Value::String(metric.clone())));
            }
        }
        Event::DeviceCode { arch, compiler, kernels } => {
            if let Some((key, wanted, got)) = wrong_code(arch, compiler.as_deref(), kernels) {
                return wrong("device_code", &key, wanted, got);
            }
        }
        Event::Answer { output, values, tolerance } => {
            if output.is_empty() || output.len() > 200 || output.chars().any(char::is_control) {
                let got = show(&Value::String(output.clone()));
                return wrong("answer", "output", "a name of up to 200 bytes", got);
            }
            if values.is_empty() || values.len() > MAX_ANSWER {
                let got = format!("a list of {}", values.len());
                return wrong("answer", "values", "a list of 1 to 1000 numbers", got);
            }
            if let Some(tolerance) = tolerance.filter(|share| !(0.0..=1.0).contains(share)) {
                return wrong("answer", "tolerance", "a share from 0 to 1", tolerance.to_string());
            }
        }
        Event::Config { deadlines, threshold, .. } => {
            const YEAR: f64 = 366.0 * 86400.0;
            for (stage, seconds) in deadlines {
                if !(*seconds > 0.0 && *seconds <= YEAR) {
                    let key = format!("deadlines.{stage}");
                    return wrong(
                        "config",
                        &key,
                        "a number of seconds above 0, up to a year",
                        seconds.to_string(),
                    );
                }
            }
            if let Some(threshold) = threshold.filter(|value| !(0.0..1.0).contains(value)) {
                let wanted = "a relative change below 1, such as 0.05 for 5 %";
                return wrong("config", "threshold", wanted, threshold.to_string());
            }
        }
        _ => {}
    }
    Ok(())
}

fn show(value: &Value) -> String {
    if let Some(literal) = literal_of(value) {
        return literal.to_owned();
    }
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::stage::Stage;

    fn error(line: &str) -> String {
        parse(line.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_sample_needs_no_more_than_its_value() {
        let event = parse(b"{\"event\":\"sample\",\"value\":1.5}\r\n").unwrap();
        assert!(
            matches!(event, Event::Sample { metric, value: Some(1.5), unit: None, .. } if metric == "time")
        );
        assert_eq!(parse(br#"{"event":"end"}"#), Ok(Event::End {}));
        assert_eq!(parse(br#"{"event":"stage","stage":"setup"}"#), Ok(Event::Stage { stage: Stage::Setup }));
    }

    #[test]
    fn non_finite_numbers_of_python_and_c_are_absent_measurements() {
        for number in ["NaN", "Infinity", "-Infinity", "nan", "-nan", "inf", "-inf"] {
            let line = format!("{{\"event\": \"sample\", \"value\": {number}}}");
            assert!(matches!(parse(line.as_bytes()), Ok(Event::Sample { value: None, .. })), "{number}");
        }
        let samples = parse(br#"{"event": "samples", "values": [1, -Infinity, Infinity, 2.5]}"#).unwrap();
        assert!(
            matches!(samples, Event::Samples { values, .. } if values == [Some(1.0), None, None, Some(2.5)])
        );
        let line =
            r#"{"event":"validation","passed":false,"errors":{"rmse":NaN},"message":"NaN is no \"NaN\""}"#;
        let Event::Validation { message, errors, .. } = parse(line.as_bytes()).unwrap() else { panic!() };
        assert_eq!(message.unwrap(), "NaN is no \"NaN\"");
        assert_eq!(errors["rmse"], None);
        let noted = parse(br#"{"event":"metadata","notes":{"loss":[NaN]}}"#).unwrap();
        assert!(matches!(noted, Event::Metadata { notes, .. } if notes["loss"] == serde_json::json!([null])));
    }

    #[test]
    fn a_non_finite_number_elsewhere_is_a_wrong_type() {
        let text = error(r#"{"event":"metadata","items":NaN}"#);
        assert_eq!(text, "`items` of event `metadata` is NaN, not a number");
        let text = error(r#"{"event":"skip","reason":Infinity}"#);
        assert_eq!(text, "`reason` of event `skip` is Infinity, not text");
    }

    #[test]
    fn an_error_names_what_was_probably_meant() {
        assert_eq!(
            error(r#"{"event":"sampel","value":1}"#),
            "there is no event `sampel`; did you mean `sample`?"
        );
        let text = error(r#"{"event":"sample","valeu":1}"#);
        assert_eq!(text, "event `sample` has no key `valeu`; did you mean `value`?");
        assert_eq!(error(r#"{"event":"zzzzzzzz"}"#), "there is no event `zzzzzzzz`");
        assert_eq!(error(r#"{"event":"end","reason":1}"#), "event `end` has no key `reason`");
    }

    #[test]
    fn an_error_says_where_the_json_ends_to_be_json() {
        let text = error(r#"{"event":"sample","value":}"#);
        assert_eq!(text, "the line is not JSON at column 27: expected value");
        let text = error(r#"{"event":"sample","value":NaN,"iteration":}"#);
        assert_eq!(text, "the line is not JSON at column 43: expected value");
        assert!(error(r#"{"event":"sample","val"#).starts_with("the line is not JSON at column 22: EOF"));
        assert!(error("").starts_with("the line is not JSON at column 1"));
        assert_eq!(error("[1]"), "the line is [1], not a JSON object");
        assert_eq!(parse(b"{\"event\":\"\xff\"}"), Err(LineError::NotUtf8 { column: 11 }));
    }

    #[test]
    fn a_wrong_type_is_shown_with_its_key() {
        let cases = [
            (
                r#"{"event":"sample","value":"1.5"}"#,
                r#"`value` of event `sample` is "1.5", not a number or null"#,
            ),
            (
                r#"{"event":"samples","values":[1,true]}"#,
                "`values[1]` of event `samples` is true, not a number or null",
            ),
            (r#"{"event":"sample","unit":"s"}"#, "event `sample` needs the key `value`"),
            (r#"{"event":"samples"}"#, "event `samples` needs the key `values`"),
            (
                r#"{"event":"stage","stage":"warm-up"}"#,
                r#"`stage` of event `stage` is "warm-up", not one of build, start, import, load, setup, warmup, measure, verify, profile, teardown"#,
            ),
            (
                r#"{"event":"sample","value":1,"iteration":-1}"#,
                "`iteration` of event `sample` is -1, not a whole number from 0",
            ),
            (
                r#"{"event":"config","iterations":5000000000}"#,
                "`iterations` of event `config` is 5000000000, not a whole number from 0 to 4294967295",
            ),
            (
                r#"{"event":"config","deadlines":{"mesure":1}}"#,
                "`deadlines.mesure` of event `config` is 1, not a stage's deadline",
            ),
            (
                r#"{"event":"config","deadlines":{"measure":-1}}"#,
                "`deadlines.measure` of event `config` is -1, not a number of seconds above 0, up to a year",
            ),
            (
                r#"{"event":"validation","passed":null}"#,
                "`passed` of event `validation` is null, not true or false",
            ),
            (
                r#"{"event":"sample","value":1,"metric":"a b"}"#,
                r#"`metric` of event `sample` is "a b", not a name of up to 200 letters, digits, `_`, `-`, `.` and `/`"#,
            ),
            (r#"{"value":1}"#, "the line has no key `event`"),
            (
                r#"{"event":"sample","value":1,"value":2}"#,
                "the line is not an event: duplicate field `value`",
            ),
        ];
        for (line, text) in cases {
            assert_eq!(error(line), text, "{line}");
        }
    }

    #[test]
    fn device_code_is_read_within_limits() {
        let hash = "0a".repeat(32);
        let line = |arch: &str, kernels: &str| {
            format!(
                r#"{{"event":"device_code","arch":"{arch}","compiler":"NVRTC 13.5","kernels":{{{kernels}}}}}"#
            )
        };
        let kernel = format!(r#""_Z5saxpyifPKfPf":{{"sha256":"{hash}","registers":16,"shared_bytes":null}}"#);
        let Event::DeviceCode { kernels, .. } = parse(line("sm_90a", &kernel).as_bytes()).unwrap() else {
            panic!()
        };
        assert_eq!(kernels["_Z5saxpyifPKfPf"].registers, Some(16));
        let flood: Vec<String> = (0..1001).map(|it| format!(r#""k{it}":{{"sha256":"{hash}"}}"#)).collect();
        let long = format!(r#""{}":{{"sha256":"{hash}"}}"#, "k".repeat(4097));
        for (line, text) in [
            (
                line("sm 90", &kernel),
                r#"`arch` of event `device_code` is "sm 90", not an architecture such as "sm_90""#,
            ),
            (line("sm_90", r#""f":{"registers":1}"#), "`kernels.f` of event `device_code` is"),
            (
                line("sm_90", r#""f":3"#),
                "`kernels.f` of event `device_code` is 3, not an object with `sha256`",
            ),
            (
                line("sm_90", r#""f":{"sha256":"x","registers":-1}"#),
                "`kernels.f.registers` of event `device_code` is -1, not a whole number from 0 to 4294967295",
            ),
            (
                line("sm_90", r#""f":{"sha256":"x","regs":1}"#),
                "`kernels.f.regs` of event `device_code` is 1, not a key of a kernel",
            ),
            (
                line("sm_90", r#""f":{"sha256":"AB"}"#),
                r#"`kernels.f.sha256` of event `device_code` is "AB", not 64 digits of 0-9 and a-f"#,
            ),
            (line("sm_90", &flood.join(",")), "`kernels` of event `device_code` is an object of 1001, not"),
            (line("sm_90", &long), "`kernels` of event `device_code` is \"kkk"),
        ] {
            assert!(error(&line).starts_with(text), "{}", error(&line));
        }
    }

    #[test]
    fn a_line_past_the_limit_is_not_read() {
        let line = vec![b' '; MAX_LINE + 1];
        assert_eq!(parse(&line), Err(LineError::TooLong { bytes: MAX_LINE + 1 }));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Err(error) = parse(&bytes) {
                prop_assert!(!error.to_string().is_empty() && !error.advice().is_empty());
            }
        }

        #[test]
        fn arbitrary_pieces_of_events_never_panic(pieces in proptest::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"", "\\", "NaN", "inf", "-nan", "-Infinity", "Infinity", "1", "-", "e9", "null", "true",
            "\"event\"", "\"sample\"", "\"value\"", "\"samples\"", "\"values\"", "\"errors\"", "\"config\"", "\"é\"",
            "\"deadlines\"", "\"stage\"", " ", "{\"event\":\"sample\",\"value\":", "\"notes\"", "\"metadata\"",
        ]), 0..20)) {
            let line = pieces.concat();
            if let Err(LineError::NotJson { column, .. }) = parse(line.as_bytes()) {
                prop_assert!(column >= 1 && column <= line.len() + 1);
            }
        }

        #[test]
        fn what_the_gate_writes_it_reads(value in proptest::option::of(-1e300..1e300f64), iteration in any::<Option<u64>>()) {
            let event = Event::Sample { metric: "a/b".into(), value, unit: Some("µs".into()), iteration, better: None, gate: None };
            prop_assert_eq!(parse(serde_json::to_string(&event).unwrap().as_bytes()), Ok(event));
        }
    }
}
