//! `ingest`: results of other programs become a record, a baseline or runs of a history.

mod conditions;
mod date;
mod description;
mod files;
mod unknown;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(crate) use date::DatedBy;
pub(crate) use description::sum_of;
pub(crate) use files::{AUTO, IngestOptions, is_own, load, load_files};
pub(crate) use unknown::{NO_FIGURE, UnknownFile, describe, unknown_file, write_description};

use super::reports::verdict_files::json_of;
use super::request::SelectionRequest;
use super::store::comparison::ArtifactsRequest;
use super::store::stores::{folder_of, history_of, name_of};
use crate::history::{HistoryBranch, HistoryEntry};
use crate::model::text::count;
use crate::model::{Exit, Fault, Result, RunRecord};
use crate::report;
use crate::store::{INGEST, RunFolder, create_ignored_dir, note_start, write_atomically};
use crate::suite::Benchmark;

#[derive(Clone, Debug, Default)]
pub(crate) struct IngestRequest {
    /// Files, and folders of files.
    pub files: Vec<PathBuf>,
    pub options: IngestOptions,
    /// Every run in the files is a separate one, and not a process of one run.
    pub each: Option<DatedBy>,
    pub keep: Keep,
}

/// Where the records go.
#[derive(Clone, Debug)]
pub(crate) enum Keep {
    /// A run's folder below the artifacts.
    Artifacts(ArtifactsRequest),
    /// A file.
    File(PathBuf),
    /// The records of a baseline's name.
    Baseline { name: String, config: Option<PathBuf>, store: Option<String> },
    /// Runs of a branch in a history.
    History { address: String, branch: String },
}

impl Default for Keep {
    fn default() -> Self {
        Self::Artifacts(ArtifactsRequest::default())
    }
}

pub(crate) struct IngestedRecords {
    /// Oldest first.
    pub records: Vec<RunRecord>,
    /// By record; of a history none.
    pub places: Vec<PathBuf>,
    /// Records that were there already.
    pub known: usize,
}

/// Reads the files of a request and keeps what they say. Errors: those of reading; nothing is kept then.
pub(crate) fn ingest(request: &IngestRequest, builtins: &[Benchmark]) -> Result<IngestedRecords> {
    let records = match request.each {
        Some(dated_by) => files::load_each(&request.files, dated_by, &request.options)?,
        None => vec![load_files(&request.files, &request.options)?],
    };
    let (mut places, mut known) = (Vec::new(), 0);
    match &request.keep {
        Keep::File(path) => {
            let [record] = records.as_slice() else {
                let what = format!("{} do not go into one file", count(records.len(), "run"));
                let next = "keep them with `--save NAME` or `--history git:BRANCH`";
                return Err(Fault::at_flag("--output", what, next));
            };
            write_atomically(path, &json_of(record)?)?;
            places.push(path.clone());
        }
        Keep::Artifacts(place) => {
            let artifacts = place.folder(builtins)?;
            for record in &records {
                let root = artifacts.join(record.run_id.as_str());
                known += usize::from(!keep_run(&artifacts, &root, record)?);
                places.push(root);
            }
        }
        Keep::Baseline { name, config, store } => {
            let name = name_of(name)?;
            let suite = SelectionRequest::of_file(config.clone()).suite(builtins)?;
            let store_folder = folder_of(&suite, store.as_deref())?;
            let kept = suite.run.keep.value as usize;
            if records.len() > kept {
                let what = format!(
                    "{} are more than the {kept} that the store keeps of a name",
                    count(records.len(), "run")
                );
                let next = format!("set `keep = {}` in [run], or use `--history git:BRANCH`", records.len());
                return Err(Fault::at_flag("--save", what, next));
            }
            for record in &records {
                places.push(store_folder.save(&name, record)?);
            }
        }
        Keep::History { address, branch } => known = append(&records, address, branch)?,
    }
    Ok(IngestedRecords { records, places, known })
}

/// Writes the folder of a run next to its place and moves it there whole, so that one that is killed leaves nothing in the
/// way of the next. `false` where the run is there already.
fn keep_run(artifacts: &Path, root: &Path, record: &RunRecord) -> Result<bool> {
    let is_there = || root.join("results/record.json").is_file();
    if is_there() {
        return Ok(false);
    }
    let fault = |error: std::io::Error| {
        let next = "choose a writable folder with `--artifacts`, on a disk with space";
        Fault::of_io(root, "the run's folder cannot be made", &error, next)
    };
    create_ignored_dir(artifacts).map_err(fault)?;
    let beside = tempfile::Builder::new().prefix(INGEST).tempdir_in(artifacts).map_err(fault)?;
    let folder = RunFolder::create(&beside.path().join("run"), record)?;
    folder.report("summary.md", report::summary_page(record).as_bytes())?;
    folder.finish(record)?;
    let put = || std::fs::rename(folder.root(), root);
    match put() {
        Ok(()) => {}
        // Another ingest was quicker.
        Err(_) if is_there() => return Ok(false),
        // An older version was killed here. A run is named after its contents, so nothing else is lost.
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
            std::fs::remove_dir_all(root).and_then(|()| put()).map_err(fault)?;
        }
        Err(error) => return Err(fault(error)),
    }
    note_start(artifacts, &record.run_id)?;
    Ok(true)
}

/// Adds runs to a history of this repository; gives how many were there already.
fn append(records: &[RunRecord], address: &str, branch: &str) -> Result<usize> {
    let address = history_of(address)?;
    let folder = super::paths::current_folder()?;
    let client = super::github::client::client_for(&address)?;
    let history = HistoryBranch::open(&address, &folder, client.as_ref())?;
    let entries: Vec<HistoryEntry> =
        records.iter().map(|record| entry(record, branch)).collect::<Result<_>>()?;
    let mut known = 0;
    for entry in &entries {
        known += usize::from(history.append(entry)?.already);
    }
    Ok(known)
}

fn entry(record: &RunRecord, branch: &str) -> Result<HistoryEntry> {
    let file = record.ingested.as_ref().and_then(|ingested| ingested.files.first());
    let path = file.map_or("", |file| file.path.as_str());
    let commit = file.and_then(|file| file.commit.clone()).ok_or_else(|| {
        let what = "it does not say which commit its run measured, and a history is one of commits";
        let next = "keep the runs under a name instead: `--save NAME`, which needs none";
        Fault::at_path(path, what, next).exits(Exit::Usage)
    })?;
    Ok(HistoryEntry::of_record(record.clone(), branch, commit, "ingest"))
}
