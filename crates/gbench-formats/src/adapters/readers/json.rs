//! JSON documents of harnesses, with the place of each error.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::loose_json::{is_loose, standard_json};
use crate::adapters::interface::output::{Place, ReadError};

/// A document of one type. `file`: its name in messages; `None`: stdout. Errors, with line and column: also an incomplete
/// text, and a key that appears twice. NaN and infinities, which JSON lacks, are texts: an error where a number is read, and not
/// in fields that are not.
pub(crate) fn document<T: DeserializeOwned>(file: Option<&str>, bytes: &[u8]) -> Result<T, ReadError> {
    // Only a document that is refused is copied: some have 400 MB.
    borrowed(file, bytes)
        .or_else(|error| if is_loose(bytes) { borrowed(file, &standard_json(bytes)) } else { Err(error) })
}

/// A document of standard JSON whose type may borrow from it.
pub(crate) fn borrowed<'a, T: Deserialize<'a>>(file: Option<&str>, bytes: &'a [u8]) -> Result<T, ReadError> {
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
