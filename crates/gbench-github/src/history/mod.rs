//! The history: the whole runs of the default branch, one after the other, on a separate branch or in a bucket.
//!
//! Who may write, which is the default branch alone and never a fork, is decided by the caller, who knows the event.

#[cfg(feature = "bucket")]
mod bucket;
mod entry;
mod git;
mod github;
mod index;
mod layout;
mod listed;
mod pack;
mod store;
mod store_address;
mod summary;
#[cfg(test)]
pub(crate) mod word_tests;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

#[cfg(feature = "bucket")]
use bucket::Bucket;
use git::GitBranch;
use github::GitHubBranch;

use crate::api::client::Client;
use gbench_model::text::short_commit;
use gbench_model::{Exit, Fault, Result};

pub use entry::HistoryEntry;
use entry::MAX_BYTES;
pub use layout::accepted_path;
use listed::File;
pub use listed::{Appended, BesideFile, Listed};
pub use pack::PackedObjects;
use store::BranchStore;
pub use store_address::{Address, BucketAddress, Cloud};
pub use summary::{Looked, RunSummary, Started};

const MAX_ACCEPTED: usize = 256 << 10;

/// A history: here, on GitHub, or in a bucket.
pub struct HistoryBranch<'c> {
    address: Address,
    place: Place<'c>,
}

enum Place<'c> {
    Git(GitBranch),
    GitHub(GitHubBranch<'c>),
    #[cfg(feature = "bucket")]
    Bucket(Box<Bucket>),
}

/// Asks whatever keeps the branch.
macro_rules! in_place {
    ($self:ident, $store:ident => $answer:expr) => {
        match &$self.place {
            Place::Git($store) => $answer,
            Place::GitHub($store) => $answer,
            #[cfg(feature = "bucket")]
            Place::Bucket($store) => $answer,
        }
    };
}

/// The variables of this process that are text.
#[cfg(feature = "bucket")]
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

impl<'c> HistoryBranch<'c> {
    /// Runs that are looked at of a long history: the newest. On GitHub each costs a request, and more than these say
    /// little more.
    pub const RECENT: usize = 100;

    /// Runs that are worth reading at once: of a bucket they arrive together, and all are in memory.
    pub const AT_ONCE: usize = 64;

    /// `folder`: one in the repository, for `git:`. `client`: for `github:`, of the same repository.
    /// Errors: a folder's address, which holds baselines; no repository; no client, or one of another repository.
    pub fn open(address: &Address, folder: &Path, client: Option<&'c Client>) -> Result<Self> {
        let fault = |what: &str, next: &str| Fault::at(address.to_string(), what, next);
        let place = match address {
            Address::Dir(_) => {
                return Err(fault(
                    "a history is a branch or in a bucket, and this is a folder",
                    Address::HISTORIES,
                ));
            }
            #[cfg(feature = "bucket")]
            Address::Bucket(bucket) => return Self::in_bucket(bucket, variables()),
            #[cfg(not(feature = "bucket"))]
            Address::Bucket(_) => {
                let next =
                    "use a released gbench-ci, or build it with `cargo build --release --features bucket`";
                return Err(fault("this gbench-ci was built without buckets", next));
            }
            Address::Git(branch) => Place::Git(GitBranch::open(folder, branch)?),
            Address::GitHub { slug, branch } => match client {
                Some(client) if client.slug() == slug => {
                    Place::GitHub(GitHubBranch { client, branch: branch.clone() })
                }
                Some(client) => {
                    let what =
                        format!("the history of another repository is meant, not of {}", client.slug());
                    return Err(fault(&what, "name the repository that this job belongs to"));
                }
                None => {
                    return Err(fault(
                        "GitHub is not available",
                        "name a branch of this repository: git:BRANCH",
                    ));
                }
            },
        };
        Ok(Self { address: address.clone(), place })
    }

    /// A history in a bucket. `variables`: credentials and settings, by the names that the cloud's own programs read from the
    /// environment. Errors: they do not fit together.
    #[cfg(feature = "bucket")]
    pub fn in_bucket(
        address: &BucketAddress,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Self> {
        let place = Place::Bucket(Box::new(Bucket::open(address, variables)?));
        Ok(Self { address: Address::Bucket(address.clone()), place })
    }

    /// Errors: the branch is not there, or was made for something else. A history may still have no run.
    pub fn need(&self) -> Result<()> {
        in_place!(self, store => store.need())
    }

    /// Every run, oldest first. In the local repository these are the runs of the branch and of what was last fetched of
    /// it from `origin`. A branch that is not there has none.
    pub fn list(&self) -> Result<Vec<Listed>> {
        let mut all = in_place!(self, store => store.list()?);
        // Run ids begin with the time; the sort is stable, so the branch itself goes before what was fetched.
        all.sort_by(|one, other| one.run_id.cmp(&other.run_id));
        all.dedup_by(|one, other| one.run_id == other.run_id);
        Ok(all)
    }

    /// Errors: GitHub, the bucket or the disk; a file that is not a whole entry: exit code 2.
    pub fn read(&self, listed: &Listed) -> Result<HistoryEntry> {
        self.read_all(&[listed])?.into_iter().next().unwrap_or_else(|| {
            Err(Fault::defect(format!("{} {}", self.address, listed.path), "nothing was read"))
        })
    }

    /// Reads several runs, in their order: of a bucket at once. `Err` of one: its file is not a whole entry (exit code 2).
    /// Errors: GitHub, the bucket or the disk.
    pub fn read_all(&self, listed: &[&Listed]) -> Result<Vec<Result<HistoryEntry>>> {
        let read = in_place!(self, store => store.read_all(listed, MAX_BYTES)?);
        Ok(listed.iter().zip(read).map(|(listed, bytes)| self.entry(listed, bytes)).collect())
    }

    fn entry(&self, listed: &Listed, bytes: Result<Vec<u8>, String>) -> Result<HistoryEntry> {
        let entry = bytes.and_then(|bytes| HistoryEntry::decode(&bytes));
        let entry = entry.and_then(|entry| {
            if entry.run_id == listed.run_id {
                Ok(entry)
            } else {
                Err("it holds another run than it is named for".into())
            }
        });
        let next = "remove the file from the history: gbench-ci did not write it, or not this version";
        entry.map_err(|what| Fault::at(format!("{} {}", self.address, listed.path), what, next))
    }

    /// True if the branch exists, or the bucket holds any of the history.
    pub fn is_there(&self) -> Result<bool> {
        in_place!(self, store => store.is_there())
    }

    /// Packs the loose objects of a history that lies in this repository; only counts them in a dry run. Nothing is
    /// packed of few objects, and of a branch that is not there. Errors: the repository cannot be read or written.
    pub fn pack(&self, dry_run: bool) -> Result<PackedObjects> {
        match &self.place {
            Place::Git(git) => git.pack(dry_run),
            _ => Ok(PackedObjects::default()),
        }
    }

    /// True if requests are rationed, so that only the newest runs are read.
    pub fn is_remote(&self) -> bool {
        matches!(self.place, Place::GitHub(_))
    }

    /// When the oldest of its runs started; nothing if it holds none.
    pub fn began(&self) -> Result<Option<SystemTime>> {
        Ok(self.list()?.first().and_then(|first| first.run_id.started()))
    }

    /// Shows what decides about a reference of every run of this branch (any, if there is none) and machine, newest
    /// first, until `look` breaks off. A run that the index names costs nothing; any other is read, and of a history on
    /// GitHub at most [`HistoryBranch::RECENT`] are. Errors: GitHub or the disk.
    pub fn series(
        &self,
        branch: Option<&str>,
        label: &str,
        mut look: impl FnMut(&RunSummary) -> ControlFlow<()>,
    ) -> Result<Looked> {
        let most = if self.is_remote() { Self::RECENT } else { usize::MAX };
        let all = self.list()?;
        let mut looked = Looked { is_there: !all.is_empty() || self.is_there()?, ..Looked::default() };
        let mut read = 0;
        for listed in all.iter().rev() {
            let summary = match &listed.mark {
                Some(mark) if mark.is_of(branch, Some(label)) => mark.summary.clone(),
                Some(_) => continue,
                None if read == most => {
                    looked.cut_short = true;
                    break;
                }
                None => {
                    read += 1;
                    match self.read(listed) {
                        Ok(entry)
                            if branch.is_none_or(|branch| branch == entry.branch) && entry.label == label =>
                        {
                            entry.summary()
                        }
                        Ok(_) => continue,
                        Err(fault) if fault.exit == Exit::Usage => {
                            looked.unreadable += 1;
                            looked.warnings.push(format!("{} is passed over: {}", fault.place, fault.what));
                            continue;
                        }
                        Err(fault) => return Err(fault),
                    }
                }
            };
            if look(&summary).is_break() {
                break;
            }
        }
        Ok(looked)
    }

    /// Adds a run. The same run a second time is found and not added again, whenever it was added first.
    ///
    /// Errors: a run that was cut short, measured nothing, or measured what is in no commit (exit code 4); another run
    /// under the same id; the branch is checked out, or was made for something else; GitHub or the disk (exit code 6).
    pub fn append(&self, entry: &HistoryEntry) -> Result<Appended> {
        self.append_with(entry, &[])
    }

    /// The acceptances on the branch: every file of their folder, by name.
    pub fn accepted(&self) -> Result<Vec<BesideFile>> {
        let mut files = in_place!(self, store => store.beside(layout::ACCEPTED, MAX_ACCEPTED)?);
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    }

    /// [`HistoryBranch::append`] with more files in the same commit.
    pub fn append_with(&self, entry: &HistoryEntry, beside: &[BesideFile]) -> Result<Appended> {
        let bytes = entry.encode()?;
        let message = message(entry);
        let file = File {
            run: &entry.run_id,
            month: layout::month(&entry.record)?,
            bytes: &bytes,
            message: &message,
            mark: &index::name_of(entry),
            beside,
        };
        let same = |there: &[u8]| HistoryEntry::decode(there).is_ok_and(|there| there.is_same_run(entry));
        in_place!(self, store => store.append(&file, &same))
    }
}

fn message(entry: &HistoryEntry) -> String {
    let label = if entry.label.is_empty() { String::new() } else { format!(" on {}", entry.label) };
    let commit = short_commit(&entry.commit);
    // Whatever token pushes it: a run of the benchmarks must not start the next one.
    format!("Run {} of {} at {commit}{label}\n\n[skip ci]\n", entry.run_id, entry.branch)
}
