//! A history on a branch of a repository on GitHub.

use std::collections::HashMap;

use super::entry::MAX_BYTES;
use super::listed::{Appended, BesideFile, File, Listed, taken};
use super::{index, layout};
use crate::Client;
use crate::branch::{self, AppendError, BranchChange, BranchTip, TreeItem, TreeKind};
use gbench_model::{DEFECT, Exit, Fault, Result};

pub(super) struct GitHubBranch<'c> {
    pub(super) client: &'c Client,
    pub(super) branch: String,
}

impl GitHubBranch<'_> {
    fn address(&self) -> String {
        format!("github:{}@{}", self.client.slug(), self.branch)
    }

    /// Errors: not even the repository can be seen, and then nothing is known of the branch.
    fn tip(&self) -> Result<Option<BranchTip>> {
        let tip = branch::tip(self.client, &self.branch)?;
        if tip.is_some() {
            return Ok(tip);
        }
        match self.client.get::<serde::de::IgnoredAny>(&self.client.route("")) {
            Ok(_) => Ok(None),
            Err(error) if error.status() == Some(404) => {
                let what = "GitHub shows no such repository to this token, or to nobody without one";
                let next = "check the name; for a private repository set GBENCH_TOKEN or GITHUB_TOKEN";
                Err(Fault::at(self.address(), what, next).exits(Exit::Unpublished))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn is_there(&self) -> Result<bool> {
        self.tip().map(|tip| tip.is_some())
    }

    pub(super) fn need(&self) -> Result<()> {
        let Some(tip) = self.tip()? else {
            let next = "check its name; `gbench-ci publish --history` makes the branch with the first run";
            return Err(Fault::at(self.address(), "there is no such branch", next));
        };
        let root = branch::folder(self.client, &tip.tree)?;
        self.is_of_a_history(&root).map(|_| ())
    }

    /// The folder of all runs among what the root holds.
    fn is_of_a_history<'r>(&self, root: &'r [TreeItem]) -> Result<Option<&'r TreeItem>> {
        let is_runs = |item: &&TreeItem| item.kind == TreeKind::Folder && item.path == layout::ROOT;
        let runs = root.iter().find(is_runs);
        let names = root.iter().map(|item| item.path.clone());
        layout::is_of_a_history(runs.is_some(), names, &self.address())?;
        Ok(runs)
    }

    /// Every file that is named like an entry, in no order.
    pub(super) fn list(&self) -> Result<Vec<Listed>> {
        let Some(tip) = self.tip()? else { return Ok(Vec::new()) };
        let files = branch::files(self.client, &tip, layout::ROOT)?;
        let mark = |item: &TreeItem| {
            let mark = index::mark_of(&item.path)?;
            Some((mark.run_id.clone(), (item.id.clone(), mark)))
        };
        let marks: HashMap<_, _> = files.iter().filter_map(mark).collect();
        let listed = |item: TreeItem| {
            let run_id = layout::run_of_path(&item.path)?;
            let mark = marks.get(&run_id).filter(|(blob, _)| *blob == item.id).map(|(_, mark)| mark.clone());
            Some(Listed { run_id, path: item.path, blob: item.id.to_string(), size: item.size, mark })
        };
        Ok(files.into_iter().filter_map(listed).collect())
    }

    /// The small files of a folder beside the runs, each of at most so many bytes.
    pub(super) fn beside(&self, folder: &str, most: usize) -> Result<Vec<BesideFile>> {
        let Some(tip) = self.tip()? else { return Ok(Vec::new()) };
        let prefix = format!("{}/{folder}/", layout::ROOT);
        let all = branch::files(self.client, &tip, layout::ROOT)?;
        let ours = all.into_iter().filter(|item| {
            item.path.starts_with(&prefix) && item.size.is_none_or(|size| size <= most as u64)
        });
        ours.map(|item| Ok(BesideFile { bytes: branch::blob(self.client, &item.id)?, path: item.path }))
            .collect()
    }

    pub(super) fn read(&self, listed: &Listed, most: usize) -> Result<Result<Vec<u8>, String>> {
        if listed.size.is_some_and(|size| size > most as u64) {
            return Ok(Err(format!("it is larger than {} MiB", most >> 20)));
        }
        let defect = |what: String| Fault::at(self.address(), what, DEFECT);
        Ok(Ok(branch::blob(self.client, &listed.blob.parse().map_err(defect)?)?))
    }

    /// Adds a file. `same`: whether what is there under its name already is the same run.
    pub(super) fn append(&self, file: &File<'_>, same: &dyn Fn(&[u8]) -> bool) -> Result<Appended> {
        let mut path = String::new();
        let mut look = |tip: Option<&BranchTip>| {
            let Some(tip) = tip else {
                path = layout::place(file.month, None, file.run);
                let readme = ("README.md".into(), layout::readme(&self.branch).into_bytes());
                let mut files = with_mark(&path, file);
                files.push(readme);
                return Ok(BranchChange::Add(files));
            };
            let (place, is_there) = self.place(tip, file, same)?;
            path = place;
            Ok(if is_there { BranchChange::Nothing } else { BranchChange::Add(with_mark(&path, file)) })
        };
        let added = branch::append(self.client, &self.branch, file.message, &mut look)?;
        Ok(Appended { commit: added.commit.to_string(), path, already: added.already })
    }

    /// Where the run's file stands or is to stand, and whether it is there.
    fn place(
        &self,
        tip: &BranchTip,
        file: &File<'_>,
        same: &dyn Fn(&[u8]) -> bool,
    ) -> Result<(String, bool), AppendError> {
        let root = branch::folder(self.client, &tip.tree)?;
        let Some(runs) = self.is_of_a_history(&root)? else {
            return Ok((layout::place(file.month, None, file.run), false));
        };
        let folders = branch::folder(self.client, &runs.id)?;
        let folders: Vec<&TreeItem> = folders.iter().filter(|item| item.kind == TreeKind::Folder).collect();
        let name = layout::file_of(file.run);
        let mut last = None;
        for month in layout::folders_of(file.month, folders.iter().map(|item| item.path.as_str())) {
            let Some(item) = folders.iter().find(|item| item.path == month) else { continue };
            let files = branch::folder(self.client, &item.id)?;
            if let Some(found) = files.iter().find(|item| item.path == name) {
                let path = format!("{}/{month}/{name}", layout::ROOT);
                let is_small = found.size.is_none_or(|size| size <= MAX_BYTES as u64);
                return if is_small && same(&branch::blob(self.client, &found.id)?) {
                    Ok((path, true))
                } else {
                    Err(taken(&self.address(), &path).into())
                };
            }
            last = Some((month, files.len()));
        }
        Ok((layout::place(file.month, last, file.run), false))
    }
}

/// The run's file, and its name in the index, which holds the same bytes.
fn with_mark(path: &str, file: &File<'_>) -> Vec<(String, Vec<u8>)> {
    let own = [path.to_owned(), index::place_of(path, file.mark)].map(|path| (path, file.bytes.to_vec()));
    let beside = file.beside.iter().map(|beside| (beside.path.clone(), beside.bytes.clone()));
    own.into_iter().chain(beside).collect()
}
