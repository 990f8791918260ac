//! References to the fields of a row, and the values that they lead to.

use std::borrow::Cow;

use serde_json::Value;
use serde_json_path::JsonPath;

use crate::adapters::formats::readers::table::{number, param};
use crate::adapters::formats::readers::time::{utc, utc_millis};
use crate::adapters::formats::readers::values::param_of;
use gbench_model::ParamValue;

/// Between another name for a field and the field.
const NAMED: &str = " = ";

/// The name of a field as a parameter or a fact: `gpu` for `gpu = ^device.name`, `config.seq` for `$.config.seq` and
/// `^config.seq`.
pub(super) fn field_name(field: &str) -> String {
    match field.split_once(NAMED) {
        Some((name, _)) => name.trim().to_owned(),
        None => field.trim_start_matches(['$', '.', '^', '@', '/']).to_owned(),
    }
}

/// A field as the description names it.
pub(super) struct FieldPath {
    /// As it is written, without another name.
    pub text: String,
    pub place: FieldPlace,
}

pub(super) enum FieldPlace {
    /// A key, a column or a group, or the keys on the way to one.
    Named {
        minus: Option<Box<(FieldPath, FieldPath)>>,
    },
    Path(JsonPath),
    Document(Box<FieldPath>),
    /// A field of the object, or the list, that contains the row; of the next one around it, and so on.
    Around(usize, Box<FieldPath>),
    /// The key of the row (0), or of its n-th parent.
    Own(usize),
}

impl FieldPath {
    /// Errors: why it is not a JSON path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.split_once(NAMED).map_or(text, |(_, field)| field.trim());
        let place = if text.starts_with('$') {
            FieldPlace::Path(
                JsonPath::parse(text).map_err(|error| format!("`{text}` is not a JSON path: {error}"))?,
            )
        } else if let Some(outer) = text.strip_prefix('^') {
            FieldPlace::Document(Box::new(Self::parse(outer)?))
        } else if text.starts_with("../") {
            let parts: Vec<&str> = text.split("../").collect();
            let inner = parts.last().copied().unwrap_or_default();
            FieldPlace::Around(parts.len() - 1, Box::new(Self::parse(inner)?))
        } else if let Some(level) = own_level(text) {
            FieldPlace::Own(level)
        } else {
            let minus = match text.split_once(" - ") {
                Some((from, less)) => Some(Box::new((Self::parse(from.trim())?, Self::parse(less.trim())?))),
                None => None,
            };
            FieldPlace::Named { minus }
        };
        Ok(Self { text: text.to_owned(), place })
    }

    /// True if it needs the document around the row.
    pub(super) fn leaves_the_row(&self) -> bool {
        matches!(self.place, FieldPlace::Document(_) | FieldPlace::Around(..) | FieldPlace::Own(_))
    }
}

fn own_level(text: &str) -> Option<usize> {
    match text.strip_prefix("@key")? {
        "" => Some(0),
        level => level.strip_prefix('.')?.parse().ok(),
    }
}

/// The value of a field.
pub(super) enum FieldValue<'a> {
    Json(&'a Value),
    /// The text of a cell or a group; it is not empty.
    Text(Cow<'a, str>),
    Number(f64),
}

impl<'a> FieldValue<'a> {
    /// `None` for a text without characters.
    pub(super) fn of_text(text: &'a str) -> Option<Self> {
        (!text.is_empty()).then_some(Self::Text(Cow::Borrowed(text)))
    }

    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Json(value) => Self::Json(value).into_text(),
            Self::Number(value) => value.to_string().into(),
        }
    }

    pub(super) fn into_text(self) -> Cow<'a, str> {
        match self {
            Self::Json(Value::String(text)) => Cow::Borrowed(text),
            Self::Json(value @ Value::Array(_)) => {
                param_of(value).map_or_else(|| value.to_string(), |value| value.to_string()).into()
            }
            Self::Json(value) => value.to_string().into(),
            Self::Text(text) => text,
            Self::Number(value) => value.to_string().into(),
        }
    }

    pub(super) fn is_empty_text(&self) -> bool {
        matches!(self, Self::Json(Value::String(text)) if text.is_empty())
    }

    /// As a parameter; `None` for an object.
    pub(super) fn param(&self) -> Option<ParamValue> {
        match self {
            Self::Json(value) => param_of(value),
            Self::Text(text) => Some(param(text)),
            Self::Number(value) => Some(ParamValue::Float(*value)),
        }
    }

    /// Its number; `None` for a list.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Json(Value::Number(value)) => value.as_f64(),
            Self::Json(Value::String(text)) => number(text).filter(|value| value.is_finite()),
            Self::Text(text) => number(text),
            Self::Number(value) => Some(*value),
            Self::Json(_) => None,
        }
    }

    /// `1:02:03.5` as 3723.5.
    pub(super) fn clock(&self) -> Option<f64> {
        self.text().split(':').try_fold(0.0, |before, part| Some(before * 60.0 + number(part)?))
    }

    /// Its moment: a time with an offset, or a number of seconds or milliseconds since 1970.
    pub(super) fn moment(&self) -> Option<String> {
        /// Seconds of a year that is certainly not one of milliseconds.
        const MOST_SECONDS: f64 = 1e11;
        match self.number() {
            Some(number) if number < MOST_SECONDS => utc_millis(number * 1e3),
            Some(number) => utc_millis(number),
            None => utc(&self.text()),
        }
    }

    /// This number less another one, exactly if both are whole: nanoseconds since 1970 have more digits than a float.
    pub(super) fn minus(&self, less: &Self) -> Option<f64> {
        let whole = |cell: &Self| match cell {
            Self::Json(value) => value.as_i64(),
            Self::Text(text) => text.parse::<i64>().ok(),
            Self::Number(_) => None,
        };
        let exact = whole(self).zip(whole(less)).and_then(|(from, less)| from.checked_sub(less));
        exact.map(|value| value as f64).or_else(|| Some(self.number()? - less.number()?))
    }

    /// True for a list in which a measurement is missing.
    pub(super) fn has_gap(&self) -> bool {
        matches!(self, Self::Json(Value::Array(list)) if list.is_empty() || list.iter().any(Value::is_null))
    }

    /// Its number, or the numbers of its list.
    pub(super) fn numbers(&self) -> Option<Vec<f64>> {
        match self {
            Self::Json(Value::Array(list)) if !list.is_empty() => {
                list.iter().map(|value| FieldValue::Json(value).number()).collect()
            }
            cell => cell.number().map(|value| vec![value]),
        }
    }
}

/// The field of an object. Null is treated as absent.
pub(super) fn of_object<'a>(object: &'a Value, field: &FieldPath) -> Option<FieldValue<'a>> {
    match &field.place {
        FieldPlace::Named { minus } => {
            if let Some(value) = nested(object, &field.text) {
                return present(value);
            }
            let (from, less) =
                minus.as_deref().map(|(from, less)| (of_object(object, from), of_object(object, less)))?;
            Some(FieldValue::Number(from?.minus(&less?)?))
        }
        FieldPlace::Path(path) => present(path.query(object).exactly_one().ok()?),
        FieldPlace::Document(_) | FieldPlace::Around(..) | FieldPlace::Own(_) => None,
    }
}

/// The value of a key, or at the end of keys with dots between them, which may have dots themselves.
pub(super) fn nested<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let child = |key: &str| match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    };
    child(name).or_else(|| {
        let mut dots = name.match_indices('.');
        dots.find_map(|(dot, _)| nested(child(&name[..dot])?, &name[dot + 1..]))
    })
}

/// The names of all fields of an object, with those of the objects in it.
pub(super) fn names_of(value: &Value) -> Vec<String> {
    fn add(value: &Value, before: &str, names: &mut Vec<String>) {
        for (key, value) in value.as_object().into_iter().flatten() {
            let name = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
            match value {
                Value::Object(_) => add(value, &name, names),
                _ => names.push(name),
            }
        }
    }
    let mut names = Vec::new();
    add(value, "", &mut names);
    names
}

fn present(value: &Value) -> Option<FieldValue<'_>> {
    (!value.is_null()).then_some(FieldValue::Json(value))
}
