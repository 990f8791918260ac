//! Converts JSON as Python or people write it to standard JSON.

use std::borrow::Cow;

/// Words for numbers that JSON lacks, as Python and C++ programs write them.
const NO_NUMBERS: [&str; 4] = ["NaN", "-NaN", "Infinity", "-Infinity"];

/// True if such a word may occur.
pub(crate) fn is_loose(bytes: &[u8]) -> bool {
    NO_NUMBERS.iter().any(|word| memchr::memmem::find(bytes, word.as_bytes()).is_some())
}

/// True if a text is such a word.
pub(crate) fn is_no_number(text: &str) -> bool {
    NO_NUMBERS.contains(&text)
}

/// A document of standard JSON: the same unless such a word may occur.
pub(crate) fn readable(bytes: &[u8]) -> Cow<'_, [u8]> {
    if is_loose(bytes) { Cow::Owned(standard_json(bytes)) } else { Cow::Borrowed(bytes) }
}

/// Python's JSON as JSON: NaN and infinities become texts.
pub(crate) fn standard_json(bytes: &[u8]) -> Vec<u8> {
    outside_texts(bytes, |rest| {
        // Most bytes begin no such word.
        rest.first().filter(|byte| b"NI-".contains(byte))?;
        let word = NO_NUMBERS.into_iter().find(|word| rest.starts_with(word.as_bytes()))?;
        Some((word.len(), format!("\"{word}\"").into_bytes()))
    })
}

/// A configuration as JSON: it may have comments and trailing commas.
pub(crate) fn without_comments(text: &str) -> String {
    let until = |rest: &[u8], end: &[u8]| memchr::memmem::find(rest, end).unwrap_or(rest.len());
    let bare = outside_texts(text.as_bytes(), |rest| {
        let length = match rest {
            [b'/', b'/', ..] => until(rest, b"\n"),
            [b'/', b'*', ..] => (until(rest, b"*/") + 2).min(rest.len()),
            _ => return None,
        };
        Some((length, Vec::new()))
    });
    let bare = outside_texts(&bare, |rest| {
        let next = rest.strip_prefix(b",")?.trim_ascii_start();
        next.starts_with(b"]").then_some(()).or_else(|| next.starts_with(b"}").then_some(()))?;
        Some((1, Vec::new()))
    });
    String::from_utf8_lossy(&bare).into_owned()
}

/// Replaces bytes outside of strings: `replace` returns how many, and the replacement.
fn outside_texts(bytes: &[u8], replace: impl Fn(&[u8]) -> Option<(usize, Vec<u8>)>) -> Vec<u8> {
    let mut made = Vec::with_capacity(bytes.len());
    let (mut at, mut inside) = (0, false);
    while at < bytes.len() {
        let byte = bytes[at];
        if inside && byte == b'\\' {
            let end = (at + 2).min(bytes.len());
            made.extend_from_slice(&bytes[at..end]);
            at = end;
            continue;
        }
        inside ^= byte == b'"';
        let other = if inside || byte == b'"' { None } else { replace(&bytes[at..]) };
        match other {
            Some((length, other)) => {
                made.extend(other);
                at += length.max(1);
            }
            None => {
                made.push(byte);
                at += 1;
            }
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_becomes_a_text_and_texts_stay() {
        let text = br#"{"NaN":[NaN,-Infinity,Infinity,-1],"a\"Nan NaN":"\\"}"#;
        let made = String::from_utf8(standard_json(text)).unwrap();
        assert_eq!(made, r#"{"NaN":["NaN","-Infinity","Infinity",-1],"a\"Nan NaN":"\\"}"#);
    }

    #[test]
    fn comments_and_last_commas_go_and_texts_stay() {
        let text = "{ // don't \" quote\n\"url\": \"http://x/*,]\", /* a\n */ \"b\": [1, 2, ],\n} // end";
        let made: serde_json::Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(made, serde_json::json!({"url": "http://x/*,]", "b": [1, 2]}));
    }
}
