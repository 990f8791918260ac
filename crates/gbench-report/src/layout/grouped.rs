//! Groups equal statements, each with the names to which it applies.

use std::collections::HashMap;
use std::hash::Hash;

use gbench_model::text::listed;

/// Names that one text of a terminal lists; the others are counted.
pub(crate) const MAX_NAMED: usize = 5;

/// Groups items by kind; kinds and items keep their order.
pub(crate) fn together<K: Eq + Hash + Clone, T>(items: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    let mut known: HashMap<K, usize> = HashMap::new();
    for (kind, item) in items {
        let at = *known.entry(kind.clone()).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, items)) => items.push(item),
            None => groups.push((kind, vec![item])),
        }
    }
    groups
}

/// Equal names once, with their number: `2 x NVIDIA H100`.
pub(crate) fn counted(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let of_one = |(name, items): (String, Vec<()>)| match items.len() {
        1 => name,
        several => format!("{several} x {name}"),
    };
    together(names.into_iter().map(|name| (name, ()))).into_iter().map(of_one).collect()
}

/// The first few by name, the rest as a number: `a, b and 3 more`. A single further name is listed, not counted.
pub(crate) fn named(names: &[impl AsRef<str>], most: usize) -> String {
    let most = if names.len() == most.saturating_add(1) { names.len() } else { most };
    let shown: Vec<String> = names.iter().take(most).map(|name| name.as_ref().to_owned()).collect();
    listed(&shown, names.len(), ", ")
}

/// Joins the non-empty parts.
pub(crate) fn joined<const N: usize>(parts: [&str; N], separator: &str) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(separator)
}
