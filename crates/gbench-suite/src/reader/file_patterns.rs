//! Patterns of files: `[gate] paths`, the files that the suite measures, and `device_code`, the files with a benchmark's
//! kernels.

use std::path::PathBuf;

use globset::{GlobBuilder, GlobMatcher};

use super::item::Item;

/// Reads a list of patterns. Reports every mistake, including patterns that can match nothing.
pub(crate) fn read(item: &Item) -> Option<Vec<String>> {
    let example = "a list of paths from the root of the repository, such as [\"src/**\", \"Cargo.lock\"]";
    let mut paths = Vec::new();
    for member in item.list(example)? {
        let Some(text) = member.filled() else { continue };
        let leads_out = text.starts_with('/') || text.split('/').any(|part| matches!(part, "." | ".."));
        if leads_out {
            let next = "write it relative to the root of the repository, without a leading `/`, `.` or `..`";
            member.fault(format!("`{text}` is not a path in the repository"), next);
        } else if let Err(error) = glob(text) {
            member.fault(
                format!("`{text}` is not a glob: {}", error.kind()),
                "write one such as \"src/**/*.cu\"",
            );
        }
        paths.push(text.to_owned());
    }
    if paths.is_empty() {
        item.fault("`paths` is empty", "name the files that the suite measures, or remove the line");
    }
    Some(paths)
}

/// Reads a list of the machine's files and folders. `~` is the user's home; elsewhere a side has its own home.
pub(crate) fn writable(item: &Item) -> Option<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for member in
        item.list("a list of absolute paths, such as [\"/scratch/datasets\", \"~/.cache/huggingface\"]")?
    {
        let Some(text) = member.filled() else { continue };
        let home = || std::env::var_os("HOME").map(PathBuf::from);
        let path = match text.strip_prefix("~/") {
            Some(below) => home().map(|home| home.join(below)),
            None => Some(PathBuf::from(text)),
        };
        match path.filter(|path| path.is_absolute()) {
            Some(path) => paths.push(path),
            None => member.fault(format!("`{text}` is not an absolute path"), "begin it with `/` or `~/`"),
        }
    }
    Some(paths)
}

/// Reads a list of patterns of files below the benchmark's folder. A file elsewhere could be the other side's.
pub(crate) fn below(item: &Item) -> Option<Vec<String>> {
    let mut patterns = Vec::new();
    for member in item.list("a list of files below `dir`, such as [\"build/*.cubin\"]")? {
        let Some(text) = member.filled() else { continue };
        if text.len() > 200 {
            member
                .fault("this pattern is longer than 200 bytes", "shorten it: `*` stands for any characters");
        } else if text.starts_with('/') || text.split('/').any(|part| matches!(part, "" | "." | "..")) {
            let next = "name files below `dir`, without a leading `/`, `.` or `..`";
            member.fault(format!("`{text}` leaves the benchmark's folder"), next);
        } else if let Err(error) = glob(text) {
            member.fault(
                format!("`{text}` is not a glob: {}", error.kind()),
                "write one such as \"build/*.cubin\"",
            );
        }
        patterns.push(text.to_owned());
    }
    if patterns.is_empty() {
        item.fault("`device_code` is empty", "name the files with the kernels, or remove the line");
    }
    Some(patterns)
}

fn glob(text: &str) -> Result<GlobMatcher, globset::Error> {
    let built = GlobBuilder::new(text.trim_end_matches('/')).literal_separator(true).build()?;
    Ok(built.compile_matcher())
}

/// True if a pattern matches the file's path or a folder above it.
pub fn fits(paths: &[String], file: &str) -> bool {
    let above = std::iter::successors(Some(file), |path| path.rsplit_once('/').map(|(folder, _)| folder));
    let names: Vec<&str> = above.collect();
    paths.iter().filter_map(|text| glob(text).ok()).any(|glob| names.iter().any(|name| glob.is_match(name)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use case_files::Given;

    /// Input: a file. Answer: true if one of `paths` matches it.
    pub(crate) fn answer(given: &Given) -> String {
        let paths: Vec<String> = given.get("paths").unwrap().lines().map(str::to_owned).collect();
        fits(&paths, &given.text()).to_string()
    }
}
