//! The runs of a store as places of a series: those of a branch, or the records that a folder keeps under names.

use std::path::Path;
use std::time::UNIX_EPOCH;

use super::selection::RunSelection;
use crate::app::store::stores::Stored;
use crate::history::{HistoryBranch, HistoryEntry, Listed};
use crate::model::{Exit, Probe, Result, RunId, RunRecord};
use crate::store::{BaselineEntry, read_record};
use crate::trend::TrendRun;

pub(super) enum TrendSource<'s> {
    Folder(Vec<BaselineEntry>),
    Branch { history: HistoryBranch<'s>, listed: &'s [Listed] },
}

pub(super) struct StoredRun<'s> {
    pub id: &'s str,
    /// The key of its figures in the cache; a file with other content has another key.
    pub key: String,
}

impl<'s> TrendSource<'s> {
    /// Errors: the store cannot be read, or is a branch that is not there.
    pub(super) fn of(stored: &'s Stored) -> Result<Self> {
        match stored {
            Stored::Folder(store) => Ok(Self::Folder(store.list())),
            Stored::Branch(branch) => {
                branch.need()?;
                Ok(Self::Branch { history: branch.history()?, listed: branch.listed()? })
            }
        }
    }

    /// Every run, those of a branch oldest first.
    pub(super) fn runs(&self) -> Vec<StoredRun<'_>> {
        match self {
            Self::Folder(entries) => {
                let run = |entry: &'_ BaselineEntry| format!("{} {}", entry.name, content_of(&entry.path));
                entries.iter().map(|entry| StoredRun { id: &entry.run_id, key: run(entry) }).collect()
            }
            Self::Branch { listed, .. } => {
                let run = |listed: &'s Listed| StoredRun {
                    id: listed.run_id.as_str(),
                    key: format!("{} {}", listed.run_id, listed.content()),
                };
                listed.iter().map(run).collect()
            }
        }
    }

    /// True if the run at this place of [`TrendSource::runs`] may be wanted, as far as its name shows.
    pub(super) fn may_take(&self, at: usize, runs: &RunSelection<'_>) -> bool {
        match self {
            Self::Folder(entries) => {
                let (entry, no_label) = (&entries[at], runs.label.is_none_or(str::is_empty));
                no_label
                    && runs.branch.is_none_or(|branch| branch == entry.name.as_str())
                    && runs.may_take(&entry.run_id)
            }
            Self::Branch { listed, .. } => {
                listed[at].may_be_of(runs.branch, runs.label) && runs.may_take(listed[at].run_id.as_str())
            }
        }
    }

    /// Runs that are read at most at a time, where each costs a request.
    pub(super) fn most(&self) -> usize {
        match self {
            Self::Branch { history, .. } if history.is_remote() => HistoryBranch::RECENT,
            _ => usize::MAX,
        }
    }

    /// Reads the runs at these places of [`TrendSource::runs`], at most [`HistoryBranch::AT_ONCE`]. `Err` of one: why it is not
    /// a run.
    pub(super) fn read(&self, places: &[usize]) -> Result<Vec<Result<(TrendRun, RunRecord)>>> {
        match self {
            Self::Folder(entries) => {
                let read = |at: &usize| match of_folder(&entries[*at]) {
                    Err(fault) if fault.exit != Exit::Usage => Err(fault),
                    read => Ok(read),
                };
                places.iter().map(read).collect()
            }
            Self::Branch { history, listed } => {
                let wanted: Vec<&Listed> = places.iter().map(|at| &listed[*at]).collect();
                Ok(history.read_all(&wanted)?.into_iter().map(|entry| entry.map(of_entry)).collect())
            }
        }
    }
}

/// Length and time of a file: a record is written once, and one that was put in its place differs in one of them.
fn content_of(path: &Path) -> String {
    let Ok(metadata) = path.metadata() else { return path.display().to_string() };
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} {} {}", path.display(), metadata.len(), changed.map_or(0, |time| time.as_nanos()))
}

fn of_entry(entry: HistoryEntry) -> (TrendRun, RunRecord) {
    let HistoryEntry { run_id, event, branch, commit, label, conclusion, record, .. } = entry;
    (TrendRun { run_id, started: record.started.clone(), commit, branch, label, event, conclusion }, record)
}

fn of_folder(entry: &BaselineEntry) -> Result<(TrendRun, RunRecord)> {
    let record = read_record(&entry.path)?;
    let commit = match &record.manifest.git {
        Probe::Known(git) => git.commit.clone().unwrap_or_default(),
        _ => String::new(),
    };
    let run = TrendRun {
        run_id: RunId::clone(&record.run_id),
        started: record.started.clone(),
        commit,
        branch: entry.name.to_string(),
        label: String::new(),
        event: String::new(),
        conclusion: None,
    };
    Ok((run, record))
}
