//! Detection that the harnesses of JavaScript share: packages in a tree.

use regex::Regex;

use super::paths::{above, below};
use crate::adapters::interface::prelude::*;

pub(crate) struct Package {
    /// Folder of its package.json.
    pub folder: String,
    /// Installs it, from the tree's root.
    pub build: BuildStep,
    /// The package manager's program.
    pub manager: &'static str,
}

/// The nearest package above a file that depends on `dependency`.
pub(crate) fn package(tree: &dyn SourceTree, file: &str, dependency: &str) -> Option<Package> {
    let depends = |folder: &str| {
        let text = tree.text(&below(folder, "package.json"))?;
        let package: Value = serde_json::from_str(&text).ok()?;
        let kinds = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
        kinds.iter().any(|kind| package[*kind].get(dependency).is_some()).then(|| folder.to_owned())
    };
    let folder = above(file).find_map(depends)?;
    let has = |folder: &str, file: &str| tree.files().contains(&below(folder, file));
    let locks: [(&str, &str, &[&str]); 5] = [
        ("package-lock.json", "npm", &["npm", "ci"]),
        ("pnpm-lock.yaml", "pnpm", &["pnpm", "install", "--frozen-lockfile"]),
        ("yarn.lock", "yarn", &["yarn", "install", "--frozen-lockfile"]),
        ("bun.lock", "bun", &["bun", "install", "--frozen-lockfile"]),
        ("bun.lockb", "bun", &["bun", "install", "--frozen-lockfile"]),
    ];
    // The packages of a workspace share the lock file at its root.
    let locked = above(file).find_map(|folder| {
        let (_, manager, words) = locks.iter().find(|(lock, ..)| has(folder, lock))?;
        Some((folder.to_owned(), *manager, *words))
    });
    let (place, manager, words) = locked.unwrap_or_else(|| (folder.clone(), "npm", &["npm", "install"]));
    let build = match place.as_str() {
        "" => BuildStep::Command(words.iter().map(|word| (*word).to_owned()).collect()),
        _ => BuildStep::Shell(format!("cd '{}' && {}", place.replace('\'', r"'\''"), words.join(" "))),
    };
    Some(Package { folder, build, manager })
}

pub(crate) fn name(folder: &str, otherwise: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = folder.chars().map(plain).collect();
    Some(name).filter(|name| !name.is_empty()).unwrap_or_else(|| otherwise.to_owned())
}

/// True if a source imports something from a module.
pub fn imports(text: &str, module: &str) -> bool {
    // Only ASCII classes: the regex crate is built without the tables of Unicode.
    let words = r"(?:from|import|require)[ \t]*\(?[ \t]*";
    Regex::new(&format!("{words}[\"'`]{}[\"'`]", regex::escape(module)))
        .is_ok_and(|pattern| pattern.is_match(text))
}
