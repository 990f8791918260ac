//! Paths in a tree: `/` between the parts; the tree's root is empty.

pub(crate) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(crate) fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

pub(crate) fn stem(path: &str) -> &str {
    let name = leaf(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

pub(crate) fn below(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        _ => format!("{folder}/{path}"),
    }
}

/// A folder and those above it, the nearest first, the tree's root last.
pub(crate) fn upwards(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |at| (!at.is_empty()).then(|| super::paths::folder(at)))
}

/// The folders of a path, in the same order.
pub(crate) fn above(path: &str) -> impl Iterator<Item = &str> {
    upwards(folder(path))
}
