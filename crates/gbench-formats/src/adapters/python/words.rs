//! Names of packages, and paths.

/// A path below a folder; an empty folder is the tree's own.
pub(in crate::adapters) fn below(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        _ => format!("{folder}/{path}"),
    }
}

/// Whether a text names a package: as a whole word, with `-` or `_`, in any case.
pub(in crate::adapters) fn names(text: &str, package: &str) -> bool {
    let (text, package) = (plain(text), plain(package));
    let part = |c: char| c.is_alphanumeric() || c == '-';
    text.match_indices(&package)
        .any(|(at, found)| !text[..at].ends_with(part) && !text[at + found.len()..].starts_with(part))
}

/// The same for all ways to write a name with `-` or `_`.
pub(super) fn plain(text: &str) -> String {
    text.to_ascii_lowercase().replace('_', "-")
}
