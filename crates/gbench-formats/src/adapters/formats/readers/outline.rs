//! The outline of a JSON document: its keys, their plain values, and the first elements of its lists. It suffices to
//! recognise a file; reading stops after the last requested key.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use serde_json::{Number, Value};

use crate::adapters::formats::interface::format::ResultFile;
use crate::adapters::readers::loose_json::{is_loose, standard_json};

const MAX_KEYS: usize = 100;

pub(crate) enum Outline {
    Object(Vec<(String, Outline)>),
    List(Option<Box<Outline>>),
    Text(String),
    Flag(bool),
    Number(Number),
    Null,
}

impl Outline {
    /// The outline of a file whose first document has these keys: an object, up to the last of them; a list, up to its
    /// first element, which has them. `within`: keys anywhere in the file. `None`: a key is missing, or the file is not
    /// JSON.
    pub(crate) fn of(file: &ResultFile, keys: &[&str], within: &[&str]) -> Option<Self> {
        let stands = |key: &&str| file.holds(&[&format!("\"{key}\"")]);
        let is_json = file.begins(b'{') || file.begins(b'[');
        if !is_json || !keys.iter().chain(within).all(stands) {
            return None;
        }
        let outline = Self::up_to(file.bytes, keys)?;
        outline.first().unwrap_or(&outline).has(keys).then_some(outline)
    }

    /// True if an object, or the first one of a list, has these keys.
    pub(crate) fn has_keys(file: &ResultFile, keys: &[&str]) -> bool {
        Self::of(file, keys, &[]).is_some()
    }

    /// True if the first document of a file has these keys, and within it all of these paths.
    pub(crate) fn shows(file: &ResultFile, keys: &[&str], paths: &[&str]) -> bool {
        let within: Vec<&str> =
            paths.iter().flat_map(|path| path.split('.')).map(|key| key.trim_end_matches("[]")).collect();
        Self::of(file, keys, &within).is_some_and(|outline| outline.has(paths))
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        Self::up_to(bytes, &[])
    }

    fn up_to(bytes: &[u8], keys: &[&str]) -> Option<Self> {
        let read = |bytes: &[u8]| {
            let done = RefCell::default();
            let seed = Seed { keys, depth: 0, is_last: false, done: &done };
            let read = seed.deserialize(&mut serde_json::Deserializer::from_slice(bytes));
            read.ok().or_else(|| done.take())
        };
        read(bytes).or_else(|| is_loose(bytes).then(|| read(&standard_json(bytes))).flatten())
    }

    pub(crate) fn entries(&self) -> &[(String, Self)] {
        match self {
            Outline::Object(keys) => keys,
            _ => &[],
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value at a path of keys; `[]` after a list means its first element: `results[].spec.id`.
    pub(crate) fn at(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |outline, key| match key.strip_suffix("[]") {
            Some(list) => outline.first_of(list),
            None => outline.get(key),
        })
    }

    /// True if it has these keys or paths.
    pub(crate) fn has(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| self.at(path).is_some())
    }

    pub(crate) fn first(&self) -> Option<&Self> {
        match self {
            Outline::List(first) => first.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn first_of(&self, key: &str) -> Option<&Self> {
        self.get(key)?.first()
    }

    /// True if there is a list of this name whose first element has these keys.
    pub(crate) fn rows_have(&self, key: &str, keys: &[&str]) -> bool {
        self.first_of(key).is_some_and(|row| row.has(keys))
    }

    /// A text, a flag or a number as it is.
    pub(crate) fn scalar(&self) -> Option<Value> {
        match self {
            Outline::Text(text) => Some(text.as_str().into()),
            Outline::Flag(flag) => Some((*flag).into()),
            Outline::Number(number) => Some(number.clone().into()),
            Outline::Object(_) | Outline::List(_) | Outline::Null => None,
        }
    }

    /// The text at a path.
    pub(crate) fn text_at(&self, path: &str) -> Option<&str> {
        match self.at(path)? {
            Outline::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads a value. When nothing more is requested, it leaves the outline in `done`, and an error ends the reading.
struct Seed<'s> {
    /// The requested keys of the document itself; empty: all.
    keys: &'s [&'s str],
    depth: usize,
    is_last: bool,
    done: &'s RefCell<Option<Outline>>,
}

impl Seed<'_> {
    fn within(&self, is_last: bool) -> Self {
        Self { depth: self.depth + 1, is_last, ..*self }
    }

    fn stop<E: Error>(&self, outline: Outline) -> Result<Outline, E> {
        self.done.replace(Some(outline));
        Err(E::custom("nothing more is asked for"))
    }

    fn add_entry<'de, A: MapAccess<'de>>(
        &self,
        map: &mut A,
        keys: &mut Vec<(String, Outline)>,
    ) -> Result<Entry, A::Error> {
        let Some(key) = map.next_key::<String>()? else { return Ok(Entry::End) };
        let is_last = self.is_last_key(&key, keys);
        let read = map.next_value_seed(self.within(is_last));
        let value = read.or_else(|error| self.done.take().ok_or(error))?;
        keys.push((key, value));
        Ok(if is_last { Entry::Last } else { Entry::More })
    }

    fn is_last_key(&self, key: &str, before: &[(String, Outline)]) -> bool {
        let is_before = |name: &str| before.iter().any(|(other, _)| other == name);
        self.depth == 0
            && self.keys.contains(&key)
            && self.keys.iter().all(|name| *name == key || is_before(name))
    }
}

enum Entry {
    More,
    Last,
    End,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Outline;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Outline, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Outline;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any value of JSON")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Outline, E> {
        Ok(Outline::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Outline, E> {
        Ok(Outline::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Outline, E> {
        Ok(Outline::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Outline, E> {
        Ok(Number::from_f64(number).map_or(Outline::Null, Outline::Number))
    }

    fn visit_unit<E>(self) -> Result<Outline, E> {
        Ok(Outline::Null)
    }

    fn visit_str<E>(self, text: &str) -> Result<Outline, E> {
        Ok(Outline::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Outline, A::Error> {
        let first = list.next_element_seed(self.within(false))?;
        let outline = Outline::List(first.map(Box::new));
        if self.is_last || self.depth == 0 {
            return self.stop(outline);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(outline)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline, A::Error> {
        let mut keys = Vec::new();
        while self.depth == 0 || keys.len() < MAX_KEYS {
            match self.add_entry(&mut map, &mut keys) {
                Ok(Entry::More) => {}
                Ok(Entry::End) => return Ok(Outline::Object(keys)),
                Ok(Entry::Last) => return self.stop(Outline::Object(keys)),
                // An incomplete document is recognised by its beginning.
                Err(_) if self.is_last => break,
                Err(error) => return Err(error),
            }
        }
        if self.is_last {
            return self.stop(Outline::Object(keys));
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Outline::Object(keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::interface::output::OutputFiles;

    fn of(text: &str, keys: &[&str]) -> Option<Outline> {
        let none = OutputFiles::default();
        Outline::of(&ResultFile { name: "f", bytes: text.as_bytes(), beside: &none }, keys, &[])
    }

    #[test]
    fn a_document_is_read_up_to_what_is_asked_for() {
        let outline = of(r#"{"a": 1, "b": [{"c": "x", "d": [1, 2]}, ???"#, &["a", "b"]).unwrap();
        assert_eq!(outline.first_of("b").and_then(|row| row.text_at("c")), Some("x"));
        assert!(outline.rows_have("b", &["d"]));
        assert!(
            of(r#"[{"a": 1}, ???"#, &["a"])
                .is_some_and(|list| list.first().is_some_and(|row| row.has(&["a"])))
        );
        let many: Vec<String> = (0..200).map(|at| format!("\"k{at}\": {{}}")).collect();
        let outline = of(&format!("{{\"a\": {{{}, ???", many.join(",")), &["a"]).unwrap();
        assert_eq!(outline.get("a").map(|inner| inner.entries().len()), Some(MAX_KEYS));
        assert!(
            of(r#"{"b": 1, "a": {"c": {}, "#, &["a"])
                .is_some_and(|outline| outline.get("a").is_some_and(|a| a.has(&["c"])))
        );
        assert!(of(r#"{"a": {"c": {}}, "b": "#, &["a", "b"]).is_none());
        assert!(of(&format!("{{{}, \"z\": 1}}", many.join(",")), &["z"]).is_some());
    }

    #[test]
    fn a_key_within_is_none_of_the_document() {
        for text in [
            r#"{"b": {"a": 1}}"#,
            r#"{"b": "\"a\""}"#,
            r#"[[{"a": 1}]]"#,
            r#"["a"]"#,
            r#""a""#,
            r#"{"b" 1, "a": 1}"#,
        ] {
            assert!(of(text, &["a"]).is_none(), "{text}");
        }
        assert!(of(r#"{"b": NaN, "a": -Infinity}"#, &["a"]).is_some());
    }
}
