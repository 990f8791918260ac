//! JSON documents of harnesses, with the place of what is wrong in them.

use serde::Deserialize;

use crate::adapters::interface::output::{Place, ReadError};

/// A document of one type. `file`: its name in messages; `None`: stdout. Errors: with line and column, what is wrong: also
/// a text that ends too early, a key that stands twice, and NaN, which JSON does not have.
pub(crate) fn document<'a, T: Deserialize<'a>>(file: Option<&str>, bytes: &'a [u8]) -> Result<T, ReadError> {
    let file = file.map(str::to_owned);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        let place = file.map_or(Place::Stdout, Place::File);
        return Err(ReadError::new(place, "it is empty"));
    }
    // UTF-8 is checked once for the whole, which is a fifth faster than string by string.
    let parsed =
        std::str::from_utf8(bytes).map_or_else(|_| serde_json::from_slice(bytes), serde_json::from_str);
    parsed.map_err(|error| {
        let place = Place::Column { file, line: error.line(), column: error.column() };
        // serde_json appends the place, which stands in front already.
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        ReadError::new(place, what)
    })
}
