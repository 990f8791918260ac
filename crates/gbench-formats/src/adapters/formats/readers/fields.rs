//! JSON objects whose fields a reader knows by name: each error contains its path.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::values::param_of;
use crate::adapters::formats::interface::format::ResultFile;
use crate::adapters::interface::output::ReadError;
use gbench_model::Params;

/// An object of a document. A `null` field is treated as absent.
#[derive(Clone)]
pub(crate) struct Fields<'a> {
    file: ResultFile<'a>,
    /// Empty for the document itself.
    path: String,
    object: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Errors: the value is not an object.
    pub(crate) fn of(
        file: &ResultFile<'a>,
        path: impl Into<String>,
        value: &'a Value,
    ) -> Result<Self, ReadError> {
        let path = path.into();
        match value.as_object() {
            Some(object) => Ok(Self { file: *file, path, object }),
            None if path.is_empty() => Err(file.wrong("not a JSON object")),
            None => Err(file.at(path, "not an object")),
        }
    }

    /// The elements of a list. Errors: the value is not a list, or an element is not an object.
    pub(crate) fn each(file: &ResultFile<'a>, path: &str, value: &'a Value) -> Result<Vec<Self>, ReadError> {
        let list = value.as_array().ok_or_else(|| match path {
            "" => file.wrong("not a JSON list"),
            path => file.at(path, "not a list"),
        })?;
        let of = |(index, element)| Self::of(file, format!("{path}[{index}]"), element);
        list.iter().enumerate().map(of).collect()
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(crate) fn wrong(&self, key: &str, what: impl Into<String>) -> ReadError {
        self.file.at(self.path_of(key), what)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.object.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.as_str(), value))
    }

    fn typed<T>(
        &self,
        key: &str,
        kind: &str,
        of: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ReadError> {
        let typed = |value| of(value).ok_or_else(|| self.wrong(key, format!("{value} is not a {kind}")));
        self.get(key).map(typed).transpose()
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>, ReadError> {
        self.typed(key, "text", Value::as_str)
    }

    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>, ReadError> {
        self.typed(key, "number", Value::as_f64)
    }

    pub(crate) fn count(&self, key: &str) -> Result<Option<u64>, ReadError> {
        self.typed(key, "count", Value::as_u64)
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, ReadError> {
        self.typed(key, "boolean", Value::as_bool)
    }

    pub(crate) fn numbers(&self, key: &str) -> Result<Option<Vec<f64>>, ReadError> {
        self.typed(key, "list of numbers", |value| value.as_array()?.iter().map(Value::as_f64).collect())
    }

    pub(crate) fn object(&self, key: &str) -> Result<Option<Self>, ReadError> {
        self.get(key).map(|value| Self::of(&self.file, self.path_of(key), value)).transpose()
    }

    pub(crate) fn objects(&self, key: &str) -> Result<Vec<Self>, ReadError> {
        match self.get(key) {
            Some(value) => Self::each(&self.file, &self.path_of(key), value),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn params(&self) -> Params {
        flattened(self).into_iter().filter_map(|(name, value)| Some((name, param_of(value)?))).collect()
    }

    /// Its texts, flags and numbers, as facts of a run.
    pub(crate) fn facts(&self) -> BTreeMap<String, Value> {
        let plain = self.all().filter(|(_, value)| !value.is_object() && !value.is_array());
        plain.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    /// The number of a field that [`flattened`] returned. Errors: it is not a number.
    pub(crate) fn number_of(&self, name: &str, value: &Value) -> Result<f64, ReadError> {
        value.as_f64().ok_or_else(|| self.wrong(name, format!("{value} is not a number")))
    }

    /// Errors: those of the reader, or the field is missing.
    pub(crate) fn need<T>(&self, key: &str, found: Option<T>) -> Result<T, ReadError> {
        found.ok_or_else(|| self.wrong(key, "it is missing"))
    }
}

/// Fields, including those of nested objects, with dotted names.
pub(crate) fn flattened<'a>(fields: &Fields<'a>) -> Vec<(String, &'a Value)> {
    fn add<'a>(prefix: &str, key: &str, value: &'a Value, flat: &mut Vec<(String, &'a Value)>) {
        let name = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        match value {
            Value::Null => {}
            Value::Object(inner) => inner.iter().for_each(|(key, value)| add(&name, key, value, flat)),
            _ => flat.push((name, value)),
        }
    }
    let mut flat = Vec::new();
    fields.all().for_each(|(key, value)| add("", key, value, &mut flat));
    flat
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::formats::readers::values::document;
    use crate::adapters::interface::output::OutputFiles;

    #[test]
    fn an_error_names_the_path() {
        let none = OutputFiles::default();
        let file =
            ResultFile { name: "r.json", bytes: br#"{"a": [{"b": NaN, "c": [2, 3]}]}"#, beside: &none };
        let value = document(&file).unwrap();
        let rows = Fields::of(&file, "", &value).unwrap().objects("a").unwrap();
        assert_eq!(rows[0].number("b").unwrap_err().to_string(), "r.json: a[0].b: \"NaN\" is not a number");
        let missing = rows[0].need("d", rows[0].text("d").unwrap());
        assert_eq!(missing.unwrap_err().to_string(), "r.json: a[0].d: it is missing");
        assert_eq!(rows[0].params().get("c").map(ToString::to_string).as_deref(), Some("2x3"));
    }
}
