//! `NaN`, `-Infinity`, `inf`: not JSON, but written by Python's `json.dumps`, C's `printf` and C++ streams.
//!
//! They become marked strings before serde_json reads the line, so that a measurement that is not a number is distinguished
//! from a line that is not JSON.

use serde_json::Value;

/// Precedes a non-finite literal that was turned into a string; real text never begins with it.
const MARK: &str = "\u{7f}non-finite:";

/// A text that serde_json can read, with a mapping of its columns to the original's.
pub(super) struct Quoted {
    pub text: String,
    /// Column (bytes, from 1) of each literal in the original.
    pub literals: Vec<usize>,
}

impl Quoted {
    pub(super) fn column_before(&self, column: usize) -> usize {
        // Each literal gained the mark and two quotation marks.
        const GROWTH: usize = MARK.len() + 2;
        let mut shift = 0;
        for literal in &self.literals {
            if literal + shift + GROWTH > column {
                break;
            }
            shift += GROWTH;
        }
        column.saturating_sub(shift).max(1)
    }
}

/// The spellings of Python and of C.
const LITERALS: [&str; 7] = ["NaN", "Infinity", "-Infinity", "nan", "-nan", "inf", "-inf"];

/// Turns every non-finite literal outside strings into a marked string.
pub(super) fn quote_non_finite(text: &str) -> Quoted {
    let mut quoted = Quoted { text: String::with_capacity(text.len()), literals: Vec::new() };
    let (mut in_string, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let literal = LITERALS.into_iter().find(|word| rest.starts_with(word));
        if let (false, Some(word)) = (in_string, literal) {
            quoted.literals.push(text.len() - rest.len() + 1);
            quoted.text.extend(["\"", MARK, word, "\""]);
            rest = &rest[word.len()..];
            continue;
        }
        match next {
            _ if escaped => escaped = false,
            '\\' => escaped = in_string,
            '"' => in_string = !in_string,
            _ => {}
        }
        quoted.text.push(next);
        rest = &rest[next.len_utf8()..];
    }
    quoted
}

pub(super) fn literal_of(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix(MARK)
}

pub(super) fn absent_if_non_finite(value: &mut Value) {
    if literal_of(value).is_some() {
        *value = Value::Null;
    }
}

pub(super) fn absent_everywhere(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(absent_everywhere),
        Value::Object(values) => values.values_mut().for_each(absent_everywhere),
        value => absent_if_non_finite(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_line_as_written() {
        let quoted = quote_non_finite("[NaN,\"NaN\",-Infinity,?]");
        assert_eq!(quoted.literals, [2, 12]);
        let column = quoted.text.find('?').unwrap() + 1;
        assert_eq!(quoted.column_before(column), 22);
        assert_eq!(quoted.column_before(1), 1);
    }
}
