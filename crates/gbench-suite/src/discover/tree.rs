//! The files below a folder, for the adapters of harnesses.

use std::collections::VecDeque;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use gbench_formats::adapters::SourceTree;
use gbench_model::text::count;

/// Maximum number of files, those near the top first.
const MAX_FILES: usize = 20_000;
const MAX_DEPTH: usize = 16;
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// Folders of build results, downloads and other projects' code.
const NOT_OURS: [&str; 24] = [
    "3rdparty",
    "3rd_party",
    "__pycache__",
    "artifacts",
    "bower_components",
    "build",
    "coverage",
    "dependencies",
    "deps",
    "dist",
    "env",
    "extern",
    "external",
    "node_modules",
    "obj",
    "site-packages",
    "submodules",
    "target",
    "third-party",
    "third_party",
    "thirdparty",
    "vendor",
    "vendored",
    "venv",
];
const BUILD_FOLDERS: [&str; 4] = ["build-", "build_", "build.", "cmake-build"];
/// Files that mark a folder of build results or downloads, whatever its name: of CMake, Python, Cargo, git.
const MARKS: [&str; 4] = ["CMakeCache.txt", "pyvenv.cfg", "CACHEDIR.TAG", ".git"];

pub struct FolderTree {
    root: PathBuf,
    files: Vec<String>,
    too_many: bool,
    too_deep: bool,
    unnamed: usize,
}

impl FolderTree {
    /// Skipped files, as sentences with the next step.
    pub fn left_out(&self) -> Vec<String> {
        let root = self.root.display();
        let many = self.too_many.then(|| {
            format!(
                "{root} has more than {MAX_FILES} files, and only those near its top were searched: set \
                `dir` to a smaller folder"
            )
        });
        let deep = self.too_deep.then(|| {
            format!(
                "{root} has folders deeper than {MAX_DEPTH} levels, which were not searched: set `dir` to \
                one of them"
            )
        });
        let unnamed = (self.unnamed > 0).then(|| {
            let files = count(self.unnamed, "source");
            format!(
                "{files} below {root} cannot be measured, because their names are not UTF-8 or contain \
                control characters: rename them"
            )
        });
        many.into_iter().chain(deep).chain(unnamed).collect()
    }

    /// `ignored`: true for skipped files and folders, by absolute path.
    pub fn walk(root: &Path, ignored: &dyn Fn(&Path) -> bool) -> Self {
        let mut tree =
            Self { root: root.to_owned(), files: Vec::new(), too_many: false, too_deep: false, unnamed: 0 };
        let mut folders = VecDeque::from([(String::new(), 0)]);
        while let Some((place, depth)) = folders.pop_front() {
            let (mut entries, unnamed) = entries(&root.join(&place));
            tree.unnamed += unnamed;
            if depth > 0 && entries.iter().any(|(name, _)| MARKS.contains(&name.as_str())) {
                continue;
            }
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            for (name, kind) in entries {
                let path = if place.is_empty() { name.clone() } else { format!("{place}/{name}") };
                if kind.is_dir() && is_ours(&name) && !ignored(&root.join(&path)) {
                    tree.too_deep |= depth == MAX_DEPTH;
                    folders.extend((depth < MAX_DEPTH).then_some((path, depth + 1)));
                } else if kind.is_file() && !ignored(&root.join(&path)) {
                    if tree.files.len() == MAX_FILES {
                        tree.too_many = true;
                        folders.clear();
                        break;
                    }
                    tree.files.push(path);
                }
            }
        }
        tree.files.sort();
        tree
    }
}

fn is_source(name: &str) -> bool {
    [".py", ".cu"].iter().any(|extension| name.ends_with(extension))
}

/// The entries of a folder, and the number of sources without a UTF-8 name.
fn entries(folder: &Path) -> (Vec<(String, fs::FileType)>, usize) {
    let (mut named, mut unnamed) = (Vec::new(), 0);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        match entry.file_name().into_string() {
            Ok(name) if !name.contains(char::is_control) => named.push((name, kind)),
            Err(name) if is_source(&name.to_string_lossy()) => unnamed += 1,
            Ok(name) if is_source(&name) => unnamed += 1,
            _ => {}
        }
    }
    (named, unnamed)
}

fn is_ours(name: &str) -> bool {
    let small = name.to_ascii_lowercase();
    !(small.starts_with(['.', '_'])
        || NOT_OURS.contains(&small.as_str())
        || BUILD_FOLDERS.iter().any(|start| small.starts_with(start)))
}

impl SourceTree for FolderTree {
    fn files(&self) -> &[String] {
        &self.files
    }

    fn text(&self, path: &str) -> Option<String> {
        beginning(&self.root.join(path))
    }
}

pub(super) fn beginning(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MAX_TEXT_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::tests::folder;

    fn walked(files: &[(&str, &str, u32)]) -> Vec<String> {
        FolderTree::walk(folder(files).path(), &|_| false).files
    }

    #[test]
    fn what_was_built_or_fetched_is_not_looked_at() {
        let found = walked(&[
            ("src/a.rs", "", 0o644),
            ("build.rs", "", 0o644),
            ("builder/a.go", "", 0o644),
            ("target/x", "", 0o644),
            ("build-debug/x", "", 0o644),
            ("Build/x", "", 0o644),
            (".venv/x", "", 0o644),
            ("web/node_modules/x/y.js", "", 0o644),
            ("third_party/lib/x.cpp", "", 0o644),
            ("out/CMakeCache.txt", "", 0o644),
            ("out/x.cpp", "", 0o644),
            ("lib/fetched/.git", "gitdir: elsewhere", 0o644),
            ("lib/fetched/x.cpp", "", 0o644),
            ("a b/ö.py", "", 0o644),
        ]);
        assert_eq!(found, ["a b/ö.py", "build.rs", "builder/a.go", "src/a.rs"]);
    }

    #[test]
    fn the_folder_itself_may_be_called_anything_and_be_a_repository() {
        assert_eq!(walked(&[(".git", "", 0o644), ("a", "", 0o644)]), [".git", "a"]);
        let folder = folder(&[("build/a", "", 0o644)]);
        assert_eq!(FolderTree::walk(&folder.path().join("build"), &|_| false).files, ["a"]);
    }

    #[test]
    fn links_are_not_followed_and_what_is_ignored_is_not_there() {
        let folder = folder(&[("a/x", "", 0o644), ("b/x", "", 0o644), ("c", "", 0o644)]);
        std::os::unix::fs::symlink(folder.path(), folder.path().join("a/round")).unwrap();
        let ignored = |path: &Path| path.ends_with("b") || path.ends_with("c");
        assert_eq!(FolderTree::walk(folder.path(), &ignored).files, ["a/x"]);
    }

    #[test]
    fn a_text_is_cut_off_and_may_have_any_bytes() {
        let folder = folder(&[("a", &"x".repeat(2 << 20), 0o644)]);
        std::fs::write(folder.path().join("b"), b"\xffmain").unwrap();
        let tree = FolderTree::walk(folder.path(), &|_| false);
        assert_eq!(tree.text("a").map(|text| text.len()), Some(1 << 20));
        assert_eq!(tree.text("b").as_deref(), Some("\u{fffd}main"));
        assert_eq!(tree.text("c"), None);
    }
}
