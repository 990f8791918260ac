//! JSON documents with other lines around them, as in the log of a step: what cargo, CMake or a server printed.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use crate::adapters::readers::loose_json::readable;
use gbench_model::{Unread, UnreadKind};

/// The text with an empty line in place of each line that belongs to no document, so that the lines keep their numbers, and
/// these lines. `None`: the text has no other lines, or it is not certain which these are: one of them may be a part of an
/// incomplete document.
pub fn documents_alone(text: &[u8]) -> Option<(Vec<u8>, Unread)> {
    let (mut alone, mut unread) = (Vec::with_capacity(text.len()), Unread::default());
    let (mut at, mut line, mut documents) = (0, 1, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        // Up to the end of its last line.
        let whole = document(rest)
            .map(|length| memchr::memchr(b'\n', &rest[length..]).map_or(rest.len(), |end| length + end + 1));
        documents += usize::from(whole.is_some());
        let part = rest.get(..whole.unwrap_or(end))?;
        let content = part.trim_ascii();
        if whole.is_some() || content.is_empty() || is_name(content) {
            alone.extend_from_slice(part);
        } else if may_be_json(content) {
            return None;
        } else {
            unread.line(UnreadKind::Around, line, &String::from_utf8_lossy(content));
            alone.push(b'\n');
        }
        line += memchr::memchr_iter(b'\n', part).count();
        at += part.len();
    }
    (documents > 0 && !unread.is_empty()).then_some((alone, unread))
}

/// The length of the document, if one begins here and nothing follows it in its last line: an object, or a list of objects or
/// lists.
fn document(text: &[u8]) -> Option<usize> {
    let is_document = match text {
        [b'{', ..] => true,
        [b'[', within @ ..] => matches!(within.trim_ascii_start().first(), Some(b'{' | b'[')),
        _ => false,
    };
    if !is_document {
        return None;
    }
    let length = closed(text)?;
    let (document, behind) = text.split_at(length);
    let is_last = behind.iter().take_while(|byte| **byte != b'\n').all(u8::is_ascii_whitespace);
    let document: Cow<[u8]> = readable(document);
    (is_last && serde_json::from_slice::<IgnoredAny>(&document).is_ok()).then_some(length)
}

/// Up to the bracket that closes the first one.
fn closed(text: &[u8]) -> Option<usize> {
    let (mut depth, mut inside, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'{' | b'[' if !inside => depth += 1,
            b'}' | b']' if !inside => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// `[1/2] Building` and `[INFO] text` are not. A document may share its line with a log, or have lost its beginning.
fn may_be_json(line: &[u8]) -> bool {
    let within = |rest: &[u8]| {
        let rest = rest.trim_ascii_start();
        rest.is_empty() || b"{[\"".contains(&rest[0]) || !rest.contains(&b']')
    };
    let ends = || matches!(line.strip_suffix(b",").unwrap_or(line), [.., b'}' | b']']);
    match line {
        [b'{' | b'}' | b']' | b'"' | b',', ..] => true,
        [b'[', rest @ ..] if within(rest) => true,
        _ => ends() || memchr::memmem::find(line, b"{\"").is_some(),
    }
}

/// Gungraun prints the name of a benchmark that failed. A line that may be JSON is excluded, so that no document is tried
/// behind one that has no end: the time would be quadratic.
fn is_name(line: &[u8]) -> bool {
    let is_other = |byte: &u8| byte.is_ascii_whitespace() || b"{\"".contains(byte);
    memchr::memmem::find(line, b"::").is_some() && line[0] != b'[' && !line.iter().any(is_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(text: &str) -> Option<(String, String)> {
        let (alone, unread) = documents_alone(text.as_bytes())?;
        Some((String::from_utf8(alone).unwrap(), unread.0[0].sentence()))
    }

    #[test]
    fn lines_around_documents_become_empty_and_are_named() {
        let log = "   Compiling x v0.1\n[1/2] Building\n[{\"a\": NaN,\n\"b\": \"}\\\"\"}]\n\na::b\n{}  \ndone in 3 s\n";
        let (text, said) = alone(log).unwrap();
        assert_eq!(text, "\n\n[{\"a\": NaN,\n\"b\": \"}\\\"\"}]\n\na::b\n{}  \n\n");
        assert_eq!(said, "3 lines around its JSON were not read: the first is line 1, `Compiling x v0.1`");
    }

    #[test]
    fn what_may_be_a_part_of_a_document_is_not_taken_out() {
        for text in [
            "{\"a\": 1}\n{\"b\": 2",
            "run\n[\n{\"a\": 1}",
            "{\"a\": 1} and more\n",
            "\"a\": 1}\n{\"b\": 2}\n",
            "x\n[{\"a\": 1},\n{\"a\": 2}\n",
            "no document\n",
            "{\"only\": 1}\n",
            "x\n[1]\n",
            "INFO done{\"case\":\"x\",\"ms\":3.0}\n{\"case\":\"y\",\"ms\":3.0}\n",
            "INFO {\"case\":\"x\"} in 3 s\n{\"case\":\"y\",\"ms\":3.0}\n",
            "se\": \"x\", \"ms\": 3.0},\n{\"case\": \"y\", \"ms\": 3.0}\n",
            "ms\": [3.0, 4.0]\n{\"case\": \"y\", \"ms\": 3.0}\n",
            "se\":\"a::b\",\"ms\":3.0}\n{\"case\":\"y\",\"ms\":3.0}\n",
        ] {
            assert_eq!(alone(text), None, "{text}");
        }
    }

    #[test]
    fn no_document_is_tried_behind_one_without_an_end() {
        // A second attempt would read all of the text again.
        for line in ["{a::b", "[{a::b", "[[a::b", "[ {a::b"] {
            assert_eq!(alone(&format!("{{}}\nx::y\nnote\n{line}\n{{}}\n")), None, "{line}");
        }
    }
}
