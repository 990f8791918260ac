//! How large a JSON text may be, found out before it becomes a document: reading this needs no memory that grows with it.

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

/// Most entries of one list: rows of a verdict are one.
pub(super) const ENTRIES: usize = 20_000;
pub(super) const TEXT: usize = 4 << 10;
/// Most values in all. A row has about fifty.
pub(super) const VALUES: usize = 2_000_000;

/// Errors: the text is not JSON, not finite, too deep (128, as the reader has it), or one of its parts is too large.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut count = ValueCount(0);
    count.deserialize(&mut reader).and_then(|()| reader.end()).map_err(|error| error.to_string())
}

/// Counts values, and keeps none.
struct ValueCount(usize);

impl ValueCount {
    fn one<E: Error>(&mut self) -> Result<(), E> {
        self.0 += 1;
        if self.0 > VALUES { Err(E::custom(format!("it has more than {VALUES} values"))) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for &mut ValueCount {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut ValueCount {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.one()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.one()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.one()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.one()
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if value.is_finite() { self.one() } else { Err(E::custom("it has a number that is not finite")) }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if text.len() > TEXT {
            let bytes = text.len();
            return Err(E::custom(format!("it has a text of {bytes} bytes, and {TEXT} are allowed")));
        }
        self.one()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut entries = 0;
        while list.next_element_seed(&mut *self)?.is_some() {
            entries += 1;
            if entries > ENTRIES {
                return Err(A::Error::custom(format!("it has a list of more than {ENTRIES} entries")));
            }
        }
        self.one()
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut entries = 0;
        while map.next_key_seed(&mut *self)?.is_some() {
            map.next_value_seed(&mut *self)?;
            entries += 1;
            if entries > ENTRIES {
                return Err(A::Error::custom(format!("it has an object of more than {ENTRIES} entries")));
            }
        }
        self.one()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_large_in_any_way_is_found_before_it_is_kept() {
        assert_eq!(check(r#"{"a": [1, -2.5, null, true, "x"], "b": {}}"#), Ok(()));
        let list = |entries: usize| format!("[{}0]", "0,".repeat(entries - 1));
        assert_eq!(check(&list(ENTRIES)), Ok(()));
        assert!(check(&list(ENTRIES + 1)).unwrap_err().contains("a list of more"));
        let lists = format!("[{}0]", format!("{},", list(ENTRIES)).repeat(VALUES / ENTRIES));
        assert!(check(&lists).unwrap_err().contains("more than 2000000 values"));
        let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes));
        assert_eq!(check(&text(TEXT)), Ok(()));
        assert!(check(&text(TEXT + 1)).unwrap_err().contains("a text of 4097 bytes"));
        assert!(check(&format!("{{{}: 1}}", text(TEXT + 1))).is_err(), "a key is a text too");
        assert!(
            check(&("[".repeat(100_000) + &"]".repeat(100_000))).unwrap_err().contains("recursion limit")
        );
        for odd in ["NaN", "1e999", "-1e999", "Infinity", "{} {}", "", "{\"a\": 1,}"] {
            assert!(check(odd).is_err(), "{odd}");
        }
    }
}
