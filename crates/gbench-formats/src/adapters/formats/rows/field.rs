//! References to the fields of a row, and the values that they lead to.

use std::borrow::Cow;

use serde_json::Value;
use serde_json_path::JsonPath;

use crate::adapters::formats::readers::table::{number, param};
use crate::adapters::formats::readers::values::param_of;
use gbench_model::ParamValue;

/// A field as the description names it.
pub(super) struct Field {
    /// As it is written.
    pub text: String,
    pub place: Place,
}

pub(super) enum Place {
    /// A key, a column or a group.
    Named {
        /// The keys on the way, if there is no key of the whole name.
        steps: Vec<String>,
        minus: Option<Box<(Field, Field)>>,
    },
    Path(JsonPath),
    Document(Box<Field>),
    /// The key of the row, or that of its so-manieth parent.
    Own(usize),
}

impl Field {
    /// Errors: why it is not a JSON path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let place = if text.starts_with('$') {
            Place::Path(
                JsonPath::parse(text).map_err(|error| format!("`{text}` is not a JSON path: {error}"))?,
            )
        } else if let Some(outer) = text.strip_prefix('^') {
            Place::Document(Box::new(Self::parse(outer)?))
        } else if let Some(level) = own_level(text) {
            Place::Own(level)
        } else {
            let minus = match text.split_once(" - ") {
                Some((from, less)) => Some(Box::new((Self::parse(from.trim())?, Self::parse(less.trim())?))),
                None => None,
            };
            Place::Named { steps: text.split('.').map(str::to_owned).collect(), minus }
        };
        Ok(Self { text: text.to_owned(), place })
    }

    /// True if it needs the document around the row.
    pub(super) fn leaves_the_row(&self) -> bool {
        matches!(self.place, Place::Document(_) | Place::Own(_))
    }
}

fn own_level(text: &str) -> Option<usize> {
    match text.strip_prefix("@key")? {
        "" => Some(0),
        level => level.strip_prefix('.')?.parse().ok(),
    }
}

/// The value of a field.
pub(super) enum Cell<'a> {
    Json(&'a Value),
    /// Of a table or a text; it is not empty.
    Text(Cow<'a, str>),
    Number(f64),
}

impl<'a> Cell<'a> {
    /// `None` for a text without characters.
    pub(super) fn of_text(text: &'a str) -> Option<Self> {
        (!text.is_empty()).then_some(Self::Text(Cow::Borrowed(text)))
    }

    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Json(Value::String(text)) => Cow::Borrowed(text),
            Self::Json(value @ Value::Array(_)) => {
                param_of(value).map_or_else(|| value.to_string(), |value| value.to_string()).into()
            }
            Self::Json(value) => value.to_string().into(),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Number(value) => value.to_string().into(),
        }
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

    /// Its number, or the numbers of its list.
    pub(super) fn numbers(&self) -> Option<Vec<f64>> {
        match self {
            Self::Json(Value::Array(list)) if !list.is_empty() => {
                list.iter().map(|value| Cell::Json(value).number()).collect()
            }
            cell => cell.number().map(|value| vec![value]),
        }
    }
}

/// The field of an object. Null is treated as absent.
pub(super) fn of_object<'a>(object: &'a Value, field: &Field) -> Option<Cell<'a>> {
    match &field.place {
        Place::Named { steps, minus } => {
            if let Some(value) = object.get(&field.text) {
                return present(value);
            }
            if let Some(pair) = minus {
                let (from, less) = (of_object(object, &pair.0)?, of_object(object, &pair.1)?);
                return Some(Cell::Number(from.number()? - less.number()?));
            }
            let step = |value: &'a Value, step: &String| match value {
                Value::Array(list) => list.get(step.parse::<usize>().ok()?),
                value => value.get(step),
            };
            present(steps.iter().try_fold(object, step)?)
        }
        Place::Path(path) => present(path.query(object).exactly_one().ok()?),
        Place::Document(_) | Place::Own(_) => None,
    }
}

fn present(value: &Value) -> Option<Cell<'_>> {
    (!value.is_null()).then_some(Cell::Json(value))
}
