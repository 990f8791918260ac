//! Selects files by globs over folders and files, in natural order.

use std::cmp::Ordering;

use globset::{GlobBuilder, GlobMatcher};

use super::layout::{LayoutRequest, PassedOver};
use crate::adapters::interface::source_tree::SourceTree;
use crate::adapters::source::paths::{folder, leaf, upwards};
use gbench_model::text::natural::{natural, natural_path};

/// Why a text is not a glob; `None` if it is one.
pub fn glob_fault(text: &str) -> Option<String> {
    glob(text).err().map(|error| error.kind().to_string())
}

fn glob(text: &str) -> Result<GlobMatcher, globset::Error> {
    let plain = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
    Ok(GlobBuilder::new(plain).literal_separator(true).build()?.compile_matcher())
}

/// The files of a tree that a request selects, in natural order.
pub(super) struct Chosen<'t> {
    pub files: Vec<&'t str>,
    /// The files that `ignore` excludes.
    pub ignored: Vec<PassedOver>,
    /// Roots without files, and invalid globs.
    pub warnings: Vec<String>,
}

impl<'t> Chosen<'t> {
    /// `is_of`: true if the layout would use a file, by its path; other files are never mentioned.
    pub(super) fn of(
        request: &LayoutRequest,
        tree: &'t dyn SourceTree,
        is_of: impl Fn(&str) -> bool,
    ) -> Self {
        let mut chosen = Self { files: Vec::new(), ignored: Vec::new(), warnings: Vec::new() };
        let roots: Vec<&str> = if request.roots.is_empty() {
            request.layout.default_roots().to_vec()
        } else {
            request.roots.iter().map(String::as_str).collect()
        };
        let mut roots: Vec<(Root, bool)> =
            roots.into_iter().filter_map(|text| Some((chosen.root(text)?, false))).collect();
        let ignore: Vec<(&str, GlobMatcher)> = request
            .ignore
            .iter()
            .filter_map(|text| Some((text.as_str(), chosen.glob("ignore", text)?)))
            .collect();
        let mut ignored_of = vec![false; ignore.len()];
        for path in tree.files() {
            let mut held = false;
            for (root, holds) in &mut roots {
                let within = root.holds(path);
                *holds |= within;
                held |= within;
            }
            if !held || !is_of(path) {
                continue;
            }
            match ignore.iter().position(|(text, glob)| ignores(text, glob, path)) {
                None => chosen.files.push(path),
                Some(place) => {
                    ignored_of[place] = true;
                    let why = format!("`{}` of `ignore` leaves it out", ignore[place].0);
                    chosen.ignored.push(PassedOver { path: path.clone(), why });
                }
            }
        }
        if !request.roots.is_empty() {
            let empty = roots.iter().filter(|(_, holds)| !holds);
            chosen
                .warnings
                .extend(empty.map(|(root, _)| format!("no file lies in the root `{}`", root.text)));
        }
        chosen.files.sort_by(|one, other| by_folder(one, other));
        chosen
    }

    fn root<'r>(&mut self, text: &'r str) -> Option<Root<'r>> {
        let all = [".", "./", "", "**", "**/", "**/*"].contains(&text);
        Some(Root { text, glob: if all { None } else { Some(self.glob("roots", text)?) } })
    }

    fn glob(&mut self, key: &str, text: &str) -> Option<GlobMatcher> {
        match glob(text) {
            Ok(glob) => Some(glob),
            Err(error) => {
                self.warnings.push(format!("`{text}` of `{key}` is not a glob: {}", error.kind()));
                None
            }
        }
    }
}

struct Root<'r> {
    text: &'r str,
    /// `None`: the tree's root and everything below it.
    glob: Option<GlobMatcher>,
}

impl Root<'_> {
    fn holds(&self, path: &str) -> bool {
        self.glob.as_ref().is_none_or(|glob| above(path).any(|folder| glob.is_match(folder)))
    }
}

/// The folders of a file, from its own upwards, without the tree's root.
fn above(path: &str) -> impl Iterator<Item = &str> {
    upwards(folder(path)).filter(|folder| !folder.is_empty())
}

fn ignores(text: &str, glob: &GlobMatcher, path: &str) -> bool {
    let anywhere = !text.trim_end_matches('/').contains('/');
    let mut parts = std::iter::once(path).chain(above(path));
    parts.any(|part| glob.is_match(part) || anywhere && glob.is_match(leaf(part)))
}

/// Compares folders by their parts and keeps the files of a folder together: `ch2/z.py`, `ch10/a.py`, `ch10/sub/a.py`.
pub(super) fn by_folder(one: &str, other: &str) -> Ordering {
    natural_path(folder(one), folder(other)).then_with(|| natural(leaf(one), leaf(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s0_5_numbers_in_names_are_counted() {
        let mut paths =
            vec!["ch10/a", "ch2/b", "ch2/sub/a", "a", "ch1/x10", "ch1/x9", "ch01/x", "capstone/a", "ch/a"];
        paths.sort_by(|one, other| by_folder(one, other));
        assert_eq!(
            paths,
            ["a", "capstone/a", "ch/a", "ch01/x", "ch1/x9", "ch1/x10", "ch2/b", "ch2/sub/a", "ch10/a"]
        );
    }

    #[test]
    fn what_is_no_glob_is_said() {
        assert_eq!(glob_fault("ch*"), None);
        assert!(glob_fault("ch[1").is_some());
    }
}
