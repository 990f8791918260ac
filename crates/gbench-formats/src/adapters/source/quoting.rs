//! Quotes words for a shell, and names for regular expressions.

pub(crate) fn quoted(word: &str) -> String {
    quoted_unless(word, "_-./+,:@%=")
}

/// A word for `sh`, quoted if it has other characters than letters, digits and these.
pub(crate) fn quoted_unless(word: &str, plain: &str) -> String {
    if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || plain.contains(c)) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A name as a regular expression in which these characters are special.
pub(crate) fn escaped(name: &str, special: &str) -> String {
    name.chars().flat_map(|c| special.contains(c).then_some('\\').into_iter().chain([c])).collect()
}
