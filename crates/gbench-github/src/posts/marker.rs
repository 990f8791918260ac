//! The sign by which a comment or an issue is known again: an HTML comment, which no reader sees, as the last line.
//!
//! It is read strictly: only what we would have written ourselves, byte for byte, is a marker. Half a marker, one with
//! a field more, or one in the middle of a text is a quotation.

use serde::{Deserialize, Serialize};

use crate::api::address::Sha;

/// The data that gbench-ci keeps in its comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// The gate's name: several may write to one pull request.
    pub gate: String,
    /// The commit that was judged.
    pub head: Sha,
    /// `GITHUB_RUN_ID` and `GITHUB_RUN_ATTEMPT` of the job that writes; they grow with time.
    pub run: u64,
    pub attempt: u32,
    /// Hexadecimal digest of the text, in small letters.
    pub state: String,
}

const OPENS: &str = "<!-- gbench-ci ";
const CLOSES: &str = " -->";

impl Marker {
    /// One line: `<!-- gbench-ci {"gate":…} -->`.
    pub fn comment(&self) -> String {
        state_line(self)
    }

    /// The marker in the last line of a text.
    pub fn find(body: &str) -> Option<Self> {
        let marker: Self = read_state(body)?;
        let hexadecimal = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let known = !marker.gate.is_empty()
            && (1..=128).contains(&marker.state.len())
            && marker.state.bytes().all(hexadecimal);
        known.then_some(marker)
    }

    /// True if the other one is about the same commit and comes from a later run.
    pub fn is_older_than(&self, other: &Marker) -> bool {
        self.head == other.head && (self.run, self.attempt) < (other.run, other.attempt)
    }
}

/// A value as a line that no reader sees; [`read_state`] reads it back.
pub fn state_line(value: &impl Serialize) -> String {
    let json = serde_json::json!(value).to_string();
    // Nothing in a name may end the HTML comment; JSON can spell these signs without using them.
    let json = json.replace("--", "-\\u002d").replace('>', "\\u003e").replace('<', "\\u003c");
    format!("{OPENS}{json}{CLOSES}")
}

/// The value in the last line of a text, if it is exactly what [`state_line`] gives for it.
pub fn read_state<T: Serialize + serde::de::DeserializeOwned>(body: &str) -> Option<T> {
    let last = last_line(body);
    let value: T = serde_json::from_str(last.strip_prefix(OPENS)?.strip_suffix(CLOSES)?).ok()?;
    (state_line(&value) == last).then_some(value)
}

/// The text with the marker as its last line, added where it is missing.
pub(crate) fn marked(text: String, marker: &str) -> String {
    if last_line(&text) == marker { text } else { format!("{}\n\n{marker}", text.trim_end()) }
}

/// The last line of a text; GitHub's own editor leaves carriage returns.
pub(crate) fn last_line(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(gate: &str) -> Marker {
        let head = "ab".repeat(20).parse().unwrap();
        Marker { gate: gate.into(), head, run: 7, attempt: 2, state: "0a1b".into() }
    }

    #[test]
    fn a_marker_is_read_back_whatever_the_gate_is_called() {
        for gate in
            ["gbench-ci", "a --> b", "a---b", "<!-- x -->", "\"q\" \\", "名前 (h100)", "a\nb\r\u{2028}"]
        {
            let line = marker(gate).comment();
            assert_eq!(line.matches("-->").count(), 1, "{line}");
            assert_eq!(line.lines().count(), 1, "{line}");
            assert_eq!(Marker::find(&format!("text\n{line}\r\n\n")), Some(marker(gate)), "{line}");
        }
    }

    #[test]
    fn runs_are_ordered_within_one_commit() {
        let (first, mut second) = (marker("g"), marker("g"));
        assert!(!first.is_older_than(&second));
        second.attempt = 3;
        assert!(first.is_older_than(&second) && !second.is_older_than(&first));
        second.run = 6;
        assert!(second.is_older_than(&first));
        second.head = "cd".repeat(20).parse().unwrap();
        assert!(!second.is_older_than(&first));
    }

    #[test]
    fn a_text_gets_its_marker_once() {
        let line = state_line(&"g");
        let text = marked("body\n".into(), &line);
        assert_eq!(text, format!("body\n\n{line}"));
        assert_eq!(marked(text.clone(), &line), text);
    }
}
