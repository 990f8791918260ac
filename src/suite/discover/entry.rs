//! A benchmark that lies in a folder, and what its entry in a suite file may hold.

use std::fs;
use std::path::Path;

/// A `[[benchmark]]` that lies in a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovered {
    /// Name within the suite, unlike every other found one.
    pub name: String,
    pub command: Vec<String>,
    pub build: Vec<String>,
    /// Programs that have to be there.
    pub binaries: Vec<String>,
    /// It needs a GPU.
    pub gpu: bool,
    /// Why it was proposed, as a sentence fragment.
    pub why: String,
}

/// Names of the regular files in a folder that are text, sorted.
pub(super) fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.contains(char::is_control));
    names.sort();
    names
}

/// An argument in which braces mean themselves.
pub(super) fn literal(argument: &str) -> String {
    argument.replace('{', "{{").replace('}', "}}")
}

/// The characters of a benchmark's id.
pub fn id_word(text: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "_-.+".contains(c) { c } else { '_' };
    let word: String = text.chars().take(60).map(allowed).collect();
    match word.trim_matches('.') {
        "" => "suite".into(),
        word => word.to_owned(),
    }
}
