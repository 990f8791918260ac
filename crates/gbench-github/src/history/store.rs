//! A history on a branch, whatever keeps the branch: what is read of it, and where a run's file goes.

use std::collections::HashMap;

use super::entry::MAX_BYTES;
use super::listed::{Appended, BesideFile, File, Listed};
use super::{index, layout};
use crate::api::address::Sha;
use crate::api::branch::{TreeItem, TreeKind};
use gbench_model::{Exit, Fault, Result};

/// The place of the branch: the local repository, or GitHub.
pub(super) trait BranchStore {
    /// Why a try ended; writers may try again.
    type Error: From<Fault>;

    fn address(&self) -> String;

    /// The error where the branch does not exist.
    fn missing(&self) -> Fault;

    /// The root folders that together are the history; none where the branch is not there.
    fn roots(&self) -> Result<Vec<Sha>, Self::Error>;

    fn folder(&self, id: &Sha) -> Result<Vec<TreeItem>, Self::Error>;

    /// Every file below the folder of all runs, by its path from the root.
    fn files(&self, root: &Sha) -> Result<Vec<TreeItem>, Self::Error>;

    /// The bytes of a file; `None`: they are more than `most`. `size`: as far as it is known.
    fn blob(&self, id: &Sha, size: Option<u64>, most: usize) -> Result<Option<Vec<u8>>, Self::Error>;

    fn fault(&self, error: Self::Error) -> Fault;

    /// Why a file cannot be read, as a sentence about it. Errors: nothing can be read.
    fn unreadable(&self, error: Self::Error) -> Result<String> {
        Err(self.fault(error))
    }

    /// Adds a file. `same`: whether what is there under its name already is the same run.
    fn append(&self, file: &File<'_>, same: &dyn Fn(&[u8]) -> bool) -> Result<Appended>;

    fn is_there(&self) -> Result<bool> {
        self.roots().map(|roots| !roots.is_empty()).map_err(|error| self.fault(error))
    }

    fn need(&self) -> Result<()> {
        let needed = || -> Result<(), Self::Error> {
            let roots = self.roots()?;
            if roots.is_empty() {
                return Err(self.missing().into());
            }
            roots.iter().try_for_each(|root| Ok(self.runs_in(&self.folder(root)?).map(drop)?))
        };
        needed().map_err(|error| self.fault(error))
    }

    fn runs_in<'r>(&self, root: &'r [TreeItem]) -> Result<Option<&'r TreeItem>> {
        let runs = root.iter().find(|item| item.kind == TreeKind::Folder && item.path == layout::ROOT);
        let names = root.iter().map(|item| item.path.clone());
        layout::is_of_a_history(runs.is_some(), names, &self.address())?;
        Ok(runs)
    }

    fn list(&self) -> Result<Vec<Listed>> {
        let listed = || -> Result<Vec<Listed>, Self::Error> {
            let mut all = Vec::new();
            for root in self.roots()? {
                let files = self.files(&root)?;
                let mark = |item: &TreeItem| {
                    let mark = index::mark_of(&item.path)?;
                    Some((mark.run_id.clone(), (item.id.clone(), mark)))
                };
                let marks: HashMap<_, _> = files.iter().filter_map(mark).collect();
                all.extend(files.into_iter().filter_map(|TreeItem { path, id: blob, size, .. }| {
                    let run_id = layout::run_of_path(&path)?;
                    let mark = marks.get(&run_id).filter(|(marked, _)| *marked == blob);
                    let mark = mark.map(|(_, mark)| mark.clone());
                    Some(Listed { run_id, path, blob, size, mark })
                }));
            }
            Ok(all)
        };
        listed().map_err(|error| self.fault(error))
    }

    fn beside(&self, folder: &str, most: usize) -> Result<Vec<BesideFile>> {
        let prefix = format!("{}/{folder}/", layout::ROOT);
        let found = || -> Result<Vec<BesideFile>, Self::Error> {
            let mut found: Vec<BesideFile> = Vec::new();
            for root in self.roots()? {
                for TreeItem { path, id, size, .. } in self.files(&root)? {
                    if path.starts_with(&prefix) && !found.iter().any(|known| known.path == path) {
                        let bytes = self.blob(&id, size, most)?;
                        found.extend(bytes.map(|bytes| BesideFile { path, bytes }));
                    }
                }
            }
            Ok(found)
        };
        found().map_err(|error| self.fault(error))
    }

    fn read(&self, listed: &Listed, most: usize) -> Result<Result<Vec<u8>, String>> {
        match self.blob(&listed.blob, listed.size, most) {
            Ok(bytes) => Ok(bytes.ok_or_else(|| format!("it is larger than {} MiB", most >> 20))),
            Err(error) => self.unreadable(error).map(Err),
        }
    }

    /// [`BranchStore::read`] of several runs, in their order.
    fn read_all(&self, listed: &[&Listed], most: usize) -> Result<Vec<Result<Vec<u8>, String>>> {
        listed.iter().map(|listed| self.read(listed, most)).collect()
    }

    fn place(
        &self,
        root: &Sha,
        file: &File<'_>,
        same: &dyn Fn(&[u8]) -> bool,
    ) -> Result<(String, bool), Self::Error> {
        let root = self.folder(root)?;
        let Some(runs) = self.runs_in(&root)? else {
            return Ok((layout::place(file.month, None, file.run), false));
        };
        let folders = self.folder(&runs.id)?;
        let folders: Vec<&TreeItem> = folders.iter().filter(|item| item.kind == TreeKind::Folder).collect();
        let name = layout::file_of(file.run);
        let mut last = None;
        for month in layout::folders_of(file.month, folders.iter().map(|item| item.path.as_str())) {
            let Some(item) = folders.iter().find(|item| item.path == month) else { continue };
            let files = self.folder(&item.id)?;
            if let Some(found) = files.iter().find(|item| item.path == name) {
                let path = format!("{}/{month}/{name}", layout::ROOT);
                if self.blob(&found.id, found.size, MAX_BYTES)?.is_some_and(|bytes| same(&bytes)) {
                    return Ok((path, true));
                }
                let what = format!("{path} is there with another content");
                let next = "look at it; a run's file is written once and never changed";
                return Err(Fault::at(self.address(), what, next).exits(Exit::Unpublished).into());
            }
            last = Some((month, files.len()));
        }
        Ok((layout::place(file.month, last, file.run), false))
    }
}
