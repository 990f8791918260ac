//! A folder, read as an archive is: no link is followed, and what is not looked at is not even listed.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use super::caps::{DEPTH, FILE, FILES, Files, refused};
use crate::model::{Fault, Result};

/// The bulk of a run, apart from `results`: thousands of files that do not matter here.
const BULK: [&str; 2] = ["logs", "profiles"];

pub(super) struct Folder {
    root: PathBuf,
    names: Vec<String>,
    folders: Vec<String>,
}

impl Folder {
    /// Lists the folder. Errors: it is not a folder; a link or a special file in it; too much of it.
    pub(super) fn open(root: &Path) -> Result<Self> {
        if !root.is_dir() {
            let what = if root.exists() { "this is not a folder" } else { "there is no such folder" };
            let next = "name the folder of a comparison, or one that holds several";
            return Err(Fault::at_path(root, what, next));
        }
        let mut folder = Self { root: root.to_owned(), names: Vec::new(), folders: Vec::new() };
        folder.list("", 0)?;
        folder.names.sort();
        folder.folders.sort();
        Ok(folder)
    }

    fn list(&mut self, below: &str, depth: usize) -> Result<()> {
        let path = self.root.join(below);
        let fault = |error: std::io::Error| {
            Fault::at_path(&path, format!("cannot be read: {error}"), "make it readable")
        };
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(&path).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            entries.push((entry.file_name(), entry.file_type().map_err(fault)?));
        }
        let of_a_run = entries.iter().any(|(name, _)| name == "results");
        for (name, kind) in entries {
            // Hidden files are not results: a `.gitignore` is in every folder of artifacts.
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            if of_a_run && BULK.contains(&name) {
                continue;
            }
            let full = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            if kind.is_dir() && depth < DEPTH {
                if depth == 0 {
                    self.folders.push(full.clone());
                }
                self.list(&full, depth + 1)?;
            } else if kind.is_file() {
                self.names.push(full);
            } else {
                let what = format!("`{full}` is a link, a special file or too deep");
                return Err(refused(&self.root.to_string_lossy(), what));
            }
            if self.names.len() > FILES {
                let what = format!("it has more than {FILES} files");
                return Err(refused(&self.root.to_string_lossy(), what));
            }
        }
        Ok(())
    }
}

impl Files for Folder {
    fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    fn folders(&self) -> &[String] {
        &self.folders
    }

    fn read(&self, name: &str) -> Result<String> {
        read_text(&self.root.join(name))
    }
}

/// The text of a regular file of at most [`FILE`] bytes.
pub(super) fn read_text(path: &Path) -> Result<String> {
    let fault =
        |error: std::io::Error| Fault::at_path(path, format!("cannot be read: {error}"), "make it readable");
    // It may have become something else since it was listed: a link, or a pipe that never ends.
    let file = std::fs::File::options().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path);
    let file = file.map_err(fault)?;
    let facts = file.metadata().map_err(fault)?;
    if !facts.is_file() || facts.len() > FILE {
        let what = format!("it is not a regular file of at most {FILE} bytes");
        return Err(refused(&path.to_string_lossy(), what));
    }
    let mut bytes = Vec::new();
    file.take(FILE + 1).read_to_end(&mut bytes).map_err(fault)?;
    if bytes.len() as u64 > FILE {
        return Err(refused(&path.to_string_lossy(), "it grows while it is read"));
    }
    String::from_utf8(bytes).map_err(|error| {
        refused(&path.to_string_lossy(), format!("it is not UTF-8 text: {}", error.utf8_error()))
    })
}
