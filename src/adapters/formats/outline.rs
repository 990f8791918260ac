//! The outline of a JSON document: which keys it has and what its lists begin with. A file is known by that; its numbers are not kept.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::format::ResultFile;
use crate::adapters::loose_json::standard_json;

/// Keys of an object that are kept.
const MAX_KEYS: usize = 100;

pub(super) enum Outline {
    Object(Vec<(String, Outline)>),
    /// With its first element.
    List(Option<Box<Outline>>),
    Text(String),
    Flag(bool),
    Other,
}

impl Outline {
    /// The outline of a file in which each of these stands. `None`: one does not, or it is no JSON.
    pub fn of(file: &ResultFile, stand: &[&str]) -> Option<Self> {
        let begins = file.bytes.trim_ascii_start().first()?;
        let all = stand.iter().all(|word| memchr::memmem::find(file.bytes, word.as_bytes()).is_some());
        if !all || !b"{[".contains(begins) {
            return None;
        }
        Self::parse(file.bytes)
    }

    /// Of a text, such as a line.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).or_else(|_| serde_json::from_slice(&standard_json(bytes))).ok()
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Outline::Object(keys) => keys.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.get(key).is_some())
    }

    pub fn first(&self) -> Option<&Self> {
        match self {
            Outline::List(first) => first.as_deref(),
            _ => None,
        }
    }

    /// The first element of a list of this name.
    pub fn first_of(&self, key: &str) -> Option<&Self> {
        self.get(key)?.first()
    }

    /// Whether there is a list of this name whose first element has these keys.
    pub fn rows_have(&self, key: &str, keys: &[&str]) -> bool {
        self.first_of(key).is_some_and(|row| row.has(keys))
    }

    /// The text at a path of keys.
    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        path.iter().try_fold(self, |outline, key| outline.get(key))?.text()
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Outline::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OutlineVisitor)
    }
}

struct OutlineVisitor;

impl<'de> Visitor<'de> for OutlineVisitor {
    type Value = Outline;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any value of JSON")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Outline, E> {
        Ok(Outline::Flag(flag))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_unit<E>(self) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<Outline, E> {
        Ok(Outline::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Outline, A::Error> {
        let first = list.next_element::<Outline>()?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Outline::List(first.map(Box::new)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline, A::Error> {
        let mut keys = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if keys.len() < MAX_KEYS {
                keys.push((key, map.next_value::<Outline>()?));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Outline::Object(keys))
    }
}
