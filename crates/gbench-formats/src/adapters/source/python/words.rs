//! Names of packages.

/// True if a text names a package: as a whole word, with `-` or `_`, in any case.
pub(crate) fn names(text: &str, package: &str) -> bool {
    let (text, package) = (plain(text), plain(package));
    let part = |c: char| c.is_alphanumeric() || c == '-';
    text.match_indices(&package)
        .any(|(at, found)| !text[..at].ends_with(part) && !text[at + found.len()..].starts_with(part))
}

/// One form for all spellings of a name with `-` or `_`.
pub(crate) fn plain(text: &str) -> String {
    text.to_ascii_lowercase().replace('_', "-")
}
