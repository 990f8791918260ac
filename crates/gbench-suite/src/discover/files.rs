//! Single files of a folder, including those that git ignores: programs are often built and not committed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::tree::beginning;

pub(super) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

pub(super) fn files(folder: &Path, place: &'static str) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder.join(place)).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.contains(char::is_control));
    names.sort();
    names.into_iter().map(move |name| if place.is_empty() { name } else { format!("{place}/{name}") })
}

/// The beginning of a file in lower case, whatever its bytes.
pub(super) fn text_of(path: &Path) -> Option<String> {
    Some(beginning(path)?.to_lowercase())
}
