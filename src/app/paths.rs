//! The folders that the paths of a command count from, and paths as reports name them.

use std::path::{Path, PathBuf};

use crate::model::{Fault, Result};
use crate::suite::{Source, Suite};

pub(crate) fn current_folder() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| {
        Fault::at(".", format!("the current folder is gone: {error}"), "change to one that exists")
    })
}

/// The folder of the suite file; the current one for the built-in suite.
pub(crate) fn project_root(suite: &Suite) -> Result<PathBuf> {
    let folder = match &suite.source {
        Source::File { path, .. } => path.parent().map(Path::to_owned).unwrap_or_default(),
        Source::Builtin => PathBuf::new(),
    };
    std::path::absolute(Path::new(".").join(&folder)).map_err(|error| {
        Fault::at_path(folder, format!("cannot be found: {error}"), "check the suite file's path")
    })
}

/// A path relative to the current folder where it is below it.
pub(crate) fn shown(path: &Path) -> String {
    below_current_folder(path).display().to_string()
}

pub(crate) fn below_current_folder(path: &Path) -> &Path {
    std::env::current_dir().ok().and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path)
}

/// The path as it leads there from the current folder.
pub(crate) fn shown_from_here(path: &Path) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    if path.is_relative() {
        return path.display().to_string();
    }
    let shared = here.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    // Where all that is shared is the root of everything, the whole path is the plainer one.
    if shared < 2 {
        return path.display().to_string();
    }
    let up = here.components().skip(shared).map(|_| Path::new("..").to_owned());
    let relative: PathBuf =
        up.chain(path.components().skip(shared).map(|it| PathBuf::from(it.as_os_str()))).collect();
    if relative.as_os_str().is_empty() { ".".into() } else { relative.display().to_string() }
}
