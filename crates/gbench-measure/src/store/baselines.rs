//! Named baselines in a folder: one file for every saved record; the newest one represents the name.
//!
//! ```text
//! .gbench/baselines/main/20261121T100102.345Z-3f9a2c.json
//! .gbench/lock
//! ```
//!
//! Two gates that save at once write two files with two names, so neither can lose the other's. The lock only protects the
//! removal of old ones.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::atomic::write_atomically;
use super::journal::create_ignored_dir;
use gbench_model::{BaselineName, DEFECT, Fault, Result, RunRecord};

/// A store in a folder, `dir:.gbench`.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    keep: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineEntry {
    pub name: BaselineName,
    pub run_id: String,
    pub path: PathBuf,
}

impl Store {
    /// `address`: `dir:PATH`; a relative path starts at `folder`. `keep`: records per name, at least 1. Errors: another kind
    /// of address.
    pub fn open(address: &str, folder: &Path, keep: u32) -> Result<Self> {
        let Some(path) = address.strip_prefix("dir:").filter(|path| !path.is_empty()) else {
            return Err(Fault::at(
                format!("store `{address}`"),
                "baselines are kept in folders only",
                "write it as dir:PATH, for example dir:.gbench",
            ));
        };
        Ok(Self { root: folder.join(path), keep: keep.max(1) as usize })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of both sides' trees in a comparison; it may not exist.
    pub fn trees(&self) -> PathBuf {
        self.root.join("trees")
    }

    fn folder(&self, name: &BaselineName) -> PathBuf {
        self.root.join("baselines").join(name.as_str())
    }

    /// Saves a record under a name and drops the oldest beyond the number to keep. Returns its path.
    pub fn save(&self, name: &BaselineName, record: &RunRecord) -> Result<PathBuf> {
        let folder = self.folder(name);
        let fault = |error: std::io::Error| {
            let next = "choose a writable folder with `store` in [run]";
            Fault::of_io(&folder, "the store cannot be written", &error, next)
        };
        let path = folder.join(format!("{}.json", record.run_id));
        let text = serde_json::to_vec(record).map_err(|error| Fault::at_path(&path, error, DEFECT))?;
        create_ignored_dir(&self.root).map_err(fault)?;
        // Before anything is written: a process that removes the name meanwhile must not remove its folder.
        let _lock = self.lock()?;
        std::fs::create_dir_all(&folder).map_err(fault)?;
        write_atomically(&path, &text)?;
        let entries = self.entries(name);
        for old in entries.iter().rev().skip(self.keep).filter(|old| old.path != path) {
            // Another gate may have removed it already.
            let _ = std::fs::remove_file(&old.path);
        }
        Ok(path)
    }

    pub fn has(&self, name: &BaselineName) -> bool {
        !self.entries(name).is_empty()
    }

    /// The newest record of a name. Errors: there is none; the message lists the existing names.
    pub fn newest(&self, name: &BaselineName) -> Result<PathBuf> {
        match self.entries(name).pop() {
            Some(entry) => Ok(entry.path),
            None => {
                let names = self.names();
                let next = if names.is_empty() {
                    format!("save one first: `gbench-ci run`, then `gbench-ci baseline save {name}`")
                } else {
                    format!("use one of: {}", names.join(", "))
                };
                Err(Fault::at(
                    format!("baseline `{name}`"),
                    format!("no such baseline in {}", self.root.display()),
                    next,
                ))
            }
        }
    }

    /// Removes a name with all its records. Errors: it does not exist.
    pub fn remove(&self, name: &BaselineName) -> Result<usize> {
        // Checked before the lock, which needs an existing store.
        if self.entries(name).is_empty() {
            return self.newest(name).map(|_| 0);
        }
        let _lock = self.lock()?;
        let entries = self.entries(name);
        let folder = self.folder(name);
        std::fs::remove_dir_all(&folder).map_err(|error| {
            Fault::at_path(&folder, format!("cannot be removed: {error}"), "check who owns it")
        })?;
        Ok(entries.len())
    }

    pub fn list(&self) -> Vec<BaselineEntry> {
        self.names()
            .iter()
            .filter_map(|name| name.parse().ok())
            .flat_map(|name| self.entries(&name))
            .collect()
    }

    pub fn names(&self) -> Vec<String> {
        sorted_names(&self.root.join("baselines"), "")
    }

    fn entries(&self, name: &BaselineName) -> Vec<BaselineEntry> {
        let folder = self.folder(name);
        let entry = |run_id: String| BaselineEntry {
            name: name.clone(),
            path: folder.join(format!("{run_id}.json")),
            run_id,
        };
        sorted_names(&folder, ".json").into_iter().map(entry).collect()
    }

    fn lock(&self) -> Result<File> {
        let path = self.root.join("lock");
        let locked = File::options().create(true).append(true).open(&path).and_then(|file| {
            file.lock()?;
            Ok(file)
        });
        locked.map_err(|error| {
            let next = "choose a writable folder on a local disk with `store` in [run]";
            Fault::of_io(&path, "cannot be locked", &error, next)
        })
    }
}

/// Names in a folder that end in `suffix` (removed) and are not temporary files, sorted; empty if it does not exist.
fn sorted_names(folder: &Path, suffix: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names
        .filter(|name| !name.starts_with('.'))
        .filter_map(|name| name.strip_suffix(suffix).map(str::to_owned))
        .collect();
    names.sort();
    names
}
