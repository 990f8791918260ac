//! Where the source of each benchmark is, for annotations at the lines of a pull request.

use std::path::{Component, Path};

use git2::{ObjectType, Oid, Tree};

use crate::machine::open_repository;
use crate::model::SourceLine;
use crate::suite::{Action, Benchmark, Declared, Source, Suite};

/// One line for each benchmark of a suite that is in a tree at `root`: of the first file of the commit that a word of
/// its command names, else its entry in the suite file. Benchmarks in neither are left out.
pub(super) fn of(suite: &Suite, root: &Path, commit: &str) -> Vec<SourceLine> {
    let Ok(repository) = open_repository(root) else { return Vec::new() };
    let commit = Oid::from_str(commit).and_then(|id| repository.find_commit(id));
    let Ok(files) = commit.and_then(|commit| commit.tree()) else { return Vec::new() };
    let line = |benchmark: &Benchmark| {
        let words = words(&benchmark.action);
        let named = words.iter().find_map(|word| tracked(&files, root, &benchmark.dir, word));
        let (path, line) = match named {
            Some(path) => (path, 1),
            None => entry(benchmark, suite, root)?,
        };
        Some(SourceLine { benchmark: benchmark.id.to_string(), path, line })
    };
    suite.benchmarks.iter().filter_map(line).collect()
}

fn words(action: &Action) -> Vec<&str> {
    match action {
        Action::Command(words) => words.iter().map(String::as_str).collect(),
        Action::Shell(line) => line.split(|c: char| c.is_whitespace() || "'\";|&()<>=".contains(c)).collect(),
        Action::Cuda(entry) => vec![&entry.file],
        Action::Builtin(_) | Action::Python(_) => Vec::new(),
    }
}

/// The path from the repository's root of a file that a word names, if the commit has it.
fn tracked(files: &Tree<'_>, root: &Path, dir: &Path, word: &str) -> Option<String> {
    let word = Path::new(word);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if word.as_os_str().is_empty() || !word.components().all(plain) {
        return None;
    }
    let path = below(root, &dir.join(word))?;
    let found = files.get_path(Path::new(&path)).ok()?;
    (found.kind() == Some(ObjectType::Blob)).then_some(path)
}

/// With `/` between its parts, from the root; `None` outside of it, for the root itself, and for what is not UTF-8.
fn below(root: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?.components().filter(|part| *part != Component::CurDir);
    let parts: Option<Vec<&str>> = parts
        .map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    parts.map(|parts| parts.join("/")).filter(|path| !path.is_empty())
}

fn entry(benchmark: &Benchmark, suite: &Suite, root: &Path) -> Option<(String, u32)> {
    let Source::File { path, .. } = &suite.source else { return None };
    let Declared::At { line, .. } = benchmark.declared else { return None };
    Some((below(root, path)?, u32::try_from(line).ok()?))
}
