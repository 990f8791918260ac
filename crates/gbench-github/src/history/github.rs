//! A branch of a repository on GitHub.

use super::listed::{Appended, File};
use super::store::BranchStore;
use super::{index, layout};
use crate::api::address::Sha;
use crate::api::branch;
use crate::api::branch::{AppendError, BranchChange, BranchTip, TreeItem};
use crate::api::client::Client;
use gbench_model::{Exit, Fault, Result};

pub(super) struct GitHubBranch<'c> {
    pub(super) client: &'c Client,
    pub(super) branch: String,
}

impl BranchStore for GitHubBranch<'_> {
    type Error = AppendError;

    fn address(&self) -> String {
        format!("github:{}@{}", self.client.slug(), self.branch)
    }

    fn missing(&self) -> Fault {
        let next = "check its name; `gbench-ci publish --history` makes the branch with the first run";
        Fault::at(self.address(), "there is no such branch", next)
    }

    /// Errors: not even the repository can be seen, and then nothing is known of the branch.
    fn roots(&self) -> Result<Vec<Sha>, AppendError> {
        if let Some(tip) = branch::tip(self.client, &self.branch)? {
            return Ok(vec![tip.tree]);
        }
        if self.client.find::<serde::de::IgnoredAny>(&self.client.route(""))?.is_some() {
            return Ok(Vec::new());
        }
        let what = "GitHub shows no such repository to this token, or without a token";
        let next = "check the name; for a private repository set GBENCH_TOKEN or GITHUB_TOKEN";
        Err(Fault::at(self.address(), what, next).exits(Exit::Unpublished).into())
    }

    fn folder(&self, id: &Sha) -> Result<Vec<TreeItem>, AppendError> {
        Ok(branch::folder(self.client, id)?)
    }

    fn files(&self, root: &Sha) -> Result<Vec<TreeItem>, AppendError> {
        Ok(branch::files(self.client, root, layout::ROOT)?)
    }

    fn blob(&self, id: &Sha, size: Option<u64>, most: usize) -> Result<Option<Vec<u8>>, AppendError> {
        let is_small = size.is_none_or(|size| size <= most as u64);
        Ok(is_small.then(|| branch::blob(self.client, id)).transpose()?)
    }

    fn fault(&self, error: AppendError) -> Fault {
        match error {
            AppendError::Api(error) => error.into(),
            AppendError::Fault(fault) => fault,
        }
    }

    fn append(&self, file: &File<'_>, same: &dyn Fn(&[u8]) -> bool) -> Result<Appended> {
        let mut path = String::new();
        let mut look = |tip: Option<&BranchTip>| {
            let Some(tip) = tip else {
                path = layout::place(file.month, None, file.run);
                let readme = ("README.md".into(), layout::readme(&self.branch).into_bytes());
                let mut files = with_mark(&path, file);
                files.push(readme);
                return Ok(BranchChange::Add(files));
            };
            let (place, is_there) = self.place(&tip.tree, file, same)?;
            path = place;
            Ok(if is_there { BranchChange::Nothing } else { BranchChange::Add(with_mark(&path, file)) })
        };
        let added = branch::append(self.client, &self.branch, file.message, &mut look)?;
        Ok(Appended { version: added.commit.to_string(), path, already: added.already })
    }
}

fn with_mark(path: &str, file: &File<'_>) -> Vec<(String, Vec<u8>)> {
    let own = [path.to_owned(), index::place_of(path, file.mark)].map(|path| (path, file.bytes.to_vec()));
    let beside = file.beside.iter().map(|beside| (beside.path.clone(), beside.bytes.clone()));
    own.into_iter().chain(beside).collect()
}
