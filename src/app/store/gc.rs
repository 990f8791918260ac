//! `gbench-ci gc`: removes runs, comparisons and bisections that are not kept, and packs the history's objects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::comparison::ArtifactsRequest;
use crate::app::history::USUAL_BRANCH;
use crate::app::measuring::executor::interrupt;
use crate::app::paths::project_root;
use crate::app::request::SelectionRequest;
use crate::app::store::stores::{folder_of, history_of};
use crate::history::{Address, HistoryBranch, PackedObjects};
use crate::model::{Exit, Fault, Result};
use crate::run::Interrupt;
use crate::store::{ArtifactsEntry, ArtifactsFolder, ArtifactsKind, Store};
use crate::suite::{Benchmark, KeepRuns, Suite};

#[derive(Clone, Debug)]
pub(crate) struct GcRequest {
    pub place: ArtifactsRequest,
    pub store: Option<String>,
    pub keep: Option<KeepRuns>,
    pub history: Option<String>,
    pub dry_run: bool,
}

/// Removed runs, or those that would be.
#[derive(Default)]
pub(crate) struct Cleaned {
    pub removed: BTreeMap<ArtifactsKind, usize>,
    pub bytes: u64,
    /// Runs, comparisons and bisections that stay.
    pub kept: usize,
    /// Those that stay although they are beyond the number or the age, and why.
    pub spared: Vec<(String, String)>,
    /// Names of what is not the gate's.
    pub foreign: Vec<String>,
    pub packed: Vec<(Address, PackedObjects)>,
    /// Failures to remove or to pack.
    pub faults: Vec<Fault>,
    /// The number of the signal that ended it.
    pub interrupted: Option<i32>,
}

struct Cleaning<'a> {
    request: &'a GcRequest,
    keep: KeepRuns,
    /// Names of baselines by the id of the run that they hold.
    baselines: BTreeMap<String, String>,
    interrupt: Interrupt,
    done: Cleaned,
}

/// Errors: no rule of what to keep; a folder or a history that cannot be read. Failures to remove are part of the answer.
pub(crate) fn gc(request: &GcRequest, builtins: &[Benchmark]) -> Result<Cleaned> {
    let suite = SelectionRequest::of_file(request.place.config.clone()).suite(builtins)?;
    let Some(keep) = request.keep.or(suite.run.keep_runs.value) else {
        let next = "say how many: `gbench-ci gc --keep 200`, or `keep_runs = 200` in [run] of the suite file; \
                    `--dry-run` shows what would go";
        return Err(Fault::at_flag("--keep", "nothing says how many runs stay", next));
    };
    let artifacts = request.place.folder(builtins)?;
    let histories = histories(request, &suite)?;
    let store = folder_of(&suite, request.store.as_deref())?;
    let interrupt = interrupt()?;
    let baselines = store.list().into_iter().map(|entry| (entry.run_id, entry.name.to_string())).collect();
    let mut cleaning = Cleaning { request, keep, baselines, interrupt, done: Cleaned::default() };
    cleaning.clean(&artifacts, true)?;
    cleaning.clean(&artifacts.join("calibrations"), false)?;
    cleaning.clean_store(&store)?;
    for (address, history) in histories {
        if cleaning.is_interrupted() {
            break;
        }
        match history.pack(request.dry_run) {
            Ok(packed) if packed.objects > 0 => cleaning.done.packed.push((address, packed)),
            Ok(_) => {}
            Err(fault) => cleaning.done.faults.push(fault),
        }
    }
    Ok(cleaning.done)
}

/// The branches of this repository that have a history: the one that is named, else the suite's store and the usual one.
fn histories(request: &GcRequest, suite: &Suite) -> Result<Vec<(Address, HistoryBranch<'static>)>> {
    if let Some(named) = &request.history {
        let address = history_of(named)?;
        let nothing_to_pack = match address {
            Address::GitHub { .. } => Some("GitHub packs the objects there by itself"),
            Address::Bucket(_) => Some("a bucket has nothing to pack"),
            Address::Git(_) | Address::Dir(_) => None,
        };
        if let Some(what) = nothing_to_pack {
            return Err(Fault::at_flag("--history", what, "name a branch of this repository: git:BRANCH"));
        }
        let history = HistoryBranch::open(&address, &crate::app::paths::current_folder()?, None)?;
        history.need()?;
        return Ok(vec![(address, history)]);
    }
    let root = project_root(suite)?;
    let store = request.store.as_deref().unwrap_or(&suite.run.store.value);
    let addresses: BTreeSet<&str> = [store, USUAL_BRANCH].into();
    let local = |text: &str| {
        let address: Address = text.parse().ok().filter(|it| matches!(it, Address::Git(_)))?;
        // Where no repository or no such branch is, there is nothing to pack.
        let history = HistoryBranch::open(&address, &root, None).ok().filter(|it| it.need().is_ok())?;
        Some((address, history))
    };
    Ok(addresses.into_iter().filter_map(local).collect())
}

impl Cleaning<'_> {
    fn is_interrupted(&mut self) -> bool {
        self.done.interrupted = self.interrupt.check().0;
        self.done.interrupted.is_some()
    }

    /// `resumable`: an open comparison there can be gone on with.
    fn clean(&mut self, path: &Path, resumable: bool) -> Result<()> {
        let read = if resumable { read(path) } else { read_inner(path) };
        let Some((folder, entries)) = read? else { return Ok(()) };
        let is_kind = |entry: &&ArtifactsEntry| {
            matches!(entry.kind, ArtifactsKind::Run | ArtifactsKind::Comparison | ArtifactsKind::Bisection)
        };
        let mut beyond = match self.keep {
            KeepRuns::Newest(most) => entries.iter().filter(is_kind).count().saturating_sub(most as usize),
            KeepRuns::Within(_) => usize::MAX,
        };
        for entry in &entries {
            if self.is_interrupted() {
                break;
            }
            match entry.kind {
                ArtifactsKind::Leftover => self.remove(path, &folder, entry),
                ArtifactsKind::Foreign => self.done.foreign.push(entry.name.clone()),
                ArtifactsKind::Busy => self.spare(entry, "a process may be working in it"),
                ArtifactsKind::Run | ArtifactsKind::Comparison | ArtifactsKind::Bisection => {
                    let is_beyond = beyond > 0 && self.is_old(entry);
                    beyond = beyond.saturating_sub(1);
                    match is_beyond.then(|| self.needed(&folder, entry, resumable)) {
                        Some(None) => self.remove(path, &folder, entry),
                        Some(Some(why)) => self.spare(entry, why),
                        None => self.done.kept += 1,
                    }
                }
            }
        }
        Ok(())
    }

    fn clean_store(&mut self, store: &Store) -> Result<()> {
        let names = store.names();
        let baselines = store.root().join("baselines");
        let names = if baselines.is_symlink() { Vec::new() } else { names };
        let folders = names.iter().map(|name| baselines.join(name));
        for path in folders.chain([store.root().to_owned()]) {
            let Some((folder, entries)) = read_inner(&path)? else { continue };
            for entry in entries.iter().filter(|entry| entry.kind == ArtifactsKind::Leftover) {
                if self.is_interrupted() {
                    return Ok(());
                }
                self.remove(&path, &folder, entry);
            }
        }
        Ok(())
    }

    fn is_old(&self, entry: &ArtifactsEntry) -> bool {
        let KeepRuns::Within(seconds) = self.keep else { return true };
        // A start in the future by this clock is not old.
        let age = entry.started.and_then(|started| SystemTime::now().duration_since(started).ok());
        age.is_some_and(|age| age > Duration::from_secs_f64(seconds))
    }

    fn needed(&self, folder: &ArtifactsFolder, entry: &ArtifactsEntry, resumable: bool) -> Option<String> {
        if let Some(name) = self.baselines.get(&entry.name) {
            return Some(format!("baseline {name}"));
        }
        let command = if entry.kind == ArtifactsKind::Bisection { "bisect" } else { "compare" };
        (resumable && folder.is_open(entry))
            .then(|| format!("it is open: `gbench-ci {command} --resume {}` continues it", entry.name))
    }

    fn spare(&mut self, entry: &ArtifactsEntry, why: impl Into<String>) {
        self.done.kept += 1;
        self.done.spared.push((entry.name.clone(), why.into()));
    }

    fn remove(&mut self, path: &Path, folder: &ArtifactsFolder, entry: &ArtifactsEntry) {
        match folder.remove(&entry.name, self.request.dry_run) {
            Ok(Some(bytes)) => {
                self.done.bytes += bytes;
                *self.done.removed.entry(entry.kind).or_default() += 1;
            }
            Ok(None) => self.spare(entry, "a process works in it"),
            Err(error) => {
                let (what, next) =
                    (format!("cannot be removed: {error}"), "check who owns it and what is mounted there");
                self.done
                    .faults
                    .push(Fault::at_path(path.join(&entry.name), what, next).exits(Exit::Machine));
            }
        }
    }
}

/// Nothing where the folder is not there. Errors: it cannot be read.
/// A folder within one that the gate made may have been put there by a commit: a link is not followed.
fn read_inner(path: &Path) -> Result<Option<(ArtifactsFolder, Vec<ArtifactsEntry>)>> {
    if path.is_symlink() { Ok(None) } else { read(path) }
}

fn read(path: &Path) -> Result<Option<(ArtifactsFolder, Vec<ArtifactsEntry>)>> {
    let read =
        ArtifactsFolder::open(path).and_then(|folder| folder.entries().map(|entries| (folder, entries)));
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Fault::of_io(path, "cannot be read", &error, "check who owns it")),
    }
}
