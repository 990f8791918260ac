//! JSON documents of harnesses, with the place of each error.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

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
        // The obstacle is the file and not a place in it, such as the console output of the program.
        let first = bytes.trim_ascii_start();
        if error.classify() != Category::Data && !first.starts_with(b"{") && !first.starts_with(b"[") {
            return ReadError::new(place, format!("it is not JSON: it begins with `{}`", beginning(first)));
        }
        // serde_json appends the place, which the message already begins with.
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        ReadError::new(place, what)
    })
}

/// The first line, cut to 40 characters.
fn beginning(bytes: &[u8]) -> String {
    let bytes = bytes.get(..bytes.len().min(200)).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().next().unwrap_or_default().trim_end();
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let start: String = line.chars().take(40).map(shown).collect();
    if line.chars().count() > 40 { start + "..." } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_said_to_be_no_json_and_shown() {
        let error = |text: &str| document::<Vec<u8>>(Some("out"), text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error("\n ========= Serving Benchmark Result of today =========\nRequests: 8\n"),
            "out:2:2: it is not JSON: it begins with `========= Serving Benchmark Result of to...`"
        );
        assert_eq!(error("Namespace(a=1)"), "out:1:1: it is not JSON: it begins with `Namespace(a=1)`");
        // JSON of another type, or with a fault at a place.
        assert!(error("7").contains("invalid type"), "{}", error("7"));
        assert!(error("[1, x]").ends_with("1:5: expected value"), "{}", error("[1, x]"));
    }
}
