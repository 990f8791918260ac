//! Formats numbers, lists, commits and shell words for sentences and tables.

pub mod natural;
pub(crate) mod near;
pub(crate) mod secret;

/// `0.1023` -> `10.2 %`, `0.0004` -> `0.04 %`, `-0.05` -> `-5 %`: three digits at most, no trailing zeros.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.is_nan() {
        return "unknown".into();
    }
    if value.abs() >= 1e6 {
        return if value > 0.0 { "over 1000000 %".into() } else { "under -1000000 %".into() };
    }
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 0.95 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{} %", if text == "-0" { "0" } else { text })
}

/// [`percent`] with its sign: `+10.2 %`, `-5 %`, `0 %`.
pub fn signed_percent(share: f64) -> String {
    match percent(share) {
        text if share > 0.0 && text != "0 %" => format!("+{text}"),
        text => text,
    }
}

/// `1040` -> `1,040`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = match digits.len() % 3 {
        0 => 3,
        rest => rest,
    };
    let (first, rest) = digits.split_at(first.min(digits.len()));
    let groups = rest.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    groups.fold(first.to_owned(), |text, group| format!("{text},{group}"))
}

/// `1 row`, `3 rows`, `2 processes`.
pub fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ if noun.ends_with('s') => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// `a, b, c and 4 more`: the first `most` of `items`.
pub fn list(items: &[String], most: usize) -> String {
    listed(&items[..items.len().min(most)], items.len(), ", ")
}

/// Items that are `shown` out of `all`, with the number of the others.
pub fn listed(shown: &[String], all: usize, joint: &str) -> String {
    let items = shown.join(joint);
    match all.saturating_sub(shown.len()) {
        0 => items,
        more => format!("{items} and {more} more"),
    }
}

/// The abbreviated id of a commit.
pub fn short_commit(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Capitalises the first letter, unless the first word is a name such as `kernels/gemm`.
pub fn capitalized(text: &str) -> String {
    let word = text.split(' ').next().unwrap_or("");
    if word.is_empty() || !word.chars().all(|c| c.is_ascii_lowercase()) {
        return text.to_owned();
    }
    text[..1].to_ascii_uppercase() + &text[1..]
}

/// A shell word, quoted only if necessary.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=@%,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// True if a character is invisible and could change how the rest of a line reads: zero-width characters, invisible fillers,
/// and those that change the reading order. Control characters are not included.
pub fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_hold_three_digits_at_most() {
        let cases = [
            (0.1023, "10.2 %"),
            (0.05, "5 %"),
            (-0.05, "-5 %"),
            (0.0004, "0.04 %"),
            (-0.000_01, "0 %"),
            (0.999_6, "100 %"),
            (12.0, "1200 %"),
            (1e9, "over 1000000 %"),
            (0.0, "0 %"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share), text);
        }
        assert_eq!([0.05, -0.05, 1e-6].map(signed_percent), ["+5 %", "-5 %", "0 %"]);
    }

    #[test]
    fn names_keep_their_first_letter_and_commits_their_first_ten() {
        assert_eq!(["one row", "kernels/gemm is", ""].map(capitalized), ["One row", "kernels/gemm is", ""]);
        assert_eq!(["1a2b3c4d5e6f", "main"].map(short_commit), ["1a2b3c4d5e", "main"]);
    }

    #[test]
    fn long_lists_say_how_many_they_left_out() {
        let items = ["a", "b", "c"].map(String::from);
        assert_eq!(list(&items, 3), "a, b, c");
        assert_eq!(list(&items, 1), "a and 2 more");
        assert_eq!((count(1, "row"), count(0, "row")), ("1 row".into(), "0 rows".into()));
        assert_eq!((count(1, "process"), count(2, "process")), ("1 process".into(), "2 processes".into()));
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_break_them() {
        assert_eq!(shell_word("a/b.json"), "a/b.json");
        assert_eq!(shell_word("my run"), "'my run'");
        assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(shell_word(""), "''");
    }
}
