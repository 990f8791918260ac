//! The order of names with numbers in them: `ch2` before `ch10`.

use std::cmp::Ordering;

/// Compares paths part by part, in [`natural`] order.
pub fn natural_path(one: &str, other: &str) -> Ordering {
    let (mut ones, mut others) = (one.split('/'), other.split('/'));
    loop {
        return match (ones.next(), others.next()) {
            (Some(one), Some(other)) => match natural(one, other) {
                Ordering::Equal => continue,
                order => order,
            },
            (one, other) => one.is_some().cmp(&other.is_some()),
        };
    }
}

/// Numbers within a text are compared by value: `ch2` before `ch10`. Equal only for equal texts.
pub fn natural(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one, other);
    while !left.is_empty() && !right.is_empty() {
        let (a, b) = (piece(left), piece(right));
        let digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let order = if digits(a) && digits(b) {
            let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        } else {
            a.cmp(b)
        };
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (&left[a.len()..], &right[b.len()..]);
    }
    left.len().cmp(&right.len()).then_with(|| one.cmp(other))
}

/// The digits at the beginning of a text, or one character.
fn piece(text: &str) -> &str {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let first = text.chars().next().map_or(0, char::len_utf8);
    &text[..digits.max(first)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_within_names_are_compared_by_value() {
        let mut names = vec!["fp16", "ch10/a", "ch2", "fp8", "ch2/sub", "ch01", "ch1"];
        names.sort_by(|one, other| natural_path(one, other));
        assert_eq!(names, ["ch01", "ch1", "ch2", "ch2/sub", "ch10/a", "fp8", "fp16"]);
        assert_eq!(natural("ch1", "ch1"), Ordering::Equal);
        assert_ne!(natural("ch1", "ch01"), Ordering::Equal);
    }
}
