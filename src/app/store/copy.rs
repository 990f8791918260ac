//! Every run of a store, copied to another and held against it there: a folder, a branch, a bucket.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use crate::app::request::SelectionRequest;
use crate::app::store::stores::{Branch, Stored, Stores, store_of};
use crate::history::{BesideFile, HistoryBranch, HistoryEntry, Listed};
use crate::model::text::count;
use crate::model::{BaselineName, Exit, Fault, Probe, Result, RunId, RunRecord};
use crate::store::{Store, read_record};
use crate::suite::Benchmark;

#[derive(Clone, Debug)]
pub(crate) struct CopyRequest {
    pub config: Option<PathBuf>,
    pub from: String,
    pub to: String,
}

/// The runs that the other store has now; each was read back and is the same.
pub(crate) struct CopiedRuns {
    pub runs: usize,
    /// The number of them that were there before.
    pub already: usize,
    pub acceptances: usize,
    /// One for each run that was passed over.
    pub warnings: Vec<String>,
}

/// The runs that were copied.
#[derive(Default)]
struct Kept {
    runs: BTreeSet<RunId>,
    /// With the series of each: a folder may have a run under several names.
    names: BTreeSet<(String, RunId)>,
}

/// The store that is copied to.
enum Target<'s> {
    Folder(&'s Store),
    History(HistoryBranch<'s>),
}

/// The runs of a store as they are found there again.
enum Found<'s> {
    Folder(BTreeMap<(BaselineName, String), PathBuf>),
    History { history: HistoryBranch<'s>, listed: HashMap<&'s RunId, &'s Listed> },
}

impl CopyRequest {
    /// Errors: a store that cannot be read or written; a run that the other store has with another content, or lacks in the end
    /// (exit code 6); more runs than a folder keeps of a name.
    pub(crate) fn copy(&self, builtins: &[Benchmark]) -> Result<CopiedRuns> {
        let suite = SelectionRequest::of_file(self.config.clone()).suite(builtins)?;
        if store_of(&self.from)? == store_of(&self.to)? {
            let next = "name another store as the second one";
            return Err(Fault::at_flag(&self.to, "a store is not copied to itself", next));
        }
        let open = |text: &str| Stores::new(Some(text)).of(Some(&suite));
        let (from, to) = (open(&self.from)?, open(&self.to)?);
        let mut copied = CopiedRuns { runs: 0, already: 0, acceptances: 0, warnings: Vec::new() };
        let mut acceptances = match &*from {
            Stored::Folder(store) if !store.root().is_dir() => {
                return Err(Fault::at_path(
                    store.root(),
                    "there is no such store",
                    "name the folder that holds `baselines`",
                ));
            }
            Stored::Folder(_) => Vec::new(),
            Stored::Branch(branch) => {
                branch.need()?;
                branch.history()?.accepted()?
            }
        };
        let target = match &*to {
            Stored::Folder(store) => {
                let keep = suite.run.keep.value as usize;
                room(&from, store, keep)?;
                Target::Folder(store)
            }
            Stored::Branch(branch) => Target::History(branch.history()?),
        };
        let mut kept = Kept::default();
        let mut still_to_come = acceptances.as_slice();
        each_run(&from, &mut copied.warnings, |entry, warnings| {
            if matches!(target, Target::History(_)) && kept.runs.contains(&entry.run_id) {
                let run = &entry.run_id;
                warnings.push(format!(
                    "run {run} has another name, too, which is not copied: a history has it once"
                ));
                return Ok(());
            }
            match put(&target, &entry, &mut still_to_come) {
                Ok(already) => {
                    copied.already += usize::from(already);
                    kept.runs.insert(entry.run_id.clone());
                    kept.names.insert((entry.series(), entry.run_id));
                }
                // One kind of store refuses runs that another takes: of no commit, or measured only in part.
                Err(fault) if matches!(fault.exit, Exit::Failed | Exit::Usage) => {
                    warnings.push(format!("{} is not copied: {}; {}", fault.place, fault.what, fault.next));
                }
                Err(fault) => return Err(fault),
            }
            Ok(())
        })?;
        copied.runs = kept.names.len();
        // A view of it that knows nothing of what was written.
        let there = open(&self.to)?;
        self.verify(&from, &there, &kept)?;
        if let Stored::Branch(branch) = &*there {
            let found = branch.history()?.accepted()?;
            acceptances.retain(|file| !found.contains(file));
            if let Some(missing) = acceptances.first() {
                let what =
                    format!("{} is not there: acceptances come with a run that is added", missing.path);
                let next = "copy to a store that has none of these runs yet";
                return Err(Fault::at(&self.to, what, next).exits(Exit::Unpublished));
            }
            copied.acceptances = found.len();
        }
        Ok(copied)
    }

    /// Reads both stores once more. Errors: a run of the first is not in the second, or differs there.
    fn verify(&self, from: &Stored, there: &Stored, kept: &Kept) -> Result<()> {
        let found = match there {
            Stored::Folder(store) => {
                let place = |entry: crate::store::BaselineEntry| ((entry.name, entry.run_id), entry.path);
                Found::Folder(store.list().into_iter().map(place).collect())
            }
            Stored::Branch(branch) => Found::History {
                history: branch.history()?,
                listed: branch.listed()?.iter().map(|listed| (&listed.run_id, listed)).collect(),
            },
        };
        each_run(from, &mut Vec::new(), |entry, _| {
            if !kept.names.contains(&(entry.series(), entry.run_id.clone())) || found.has(&entry)? {
                return Ok(());
            }
            let what = format!("run {} is not there as it was written", entry.run_id);
            let next = "copy again; where that does not help, look at what else writes there";
            Err(Fault::at(&self.to, what, next).exits(Exit::Unpublished))
        })
    }
}

impl Found<'_> {
    fn has(&self, entry: &HistoryEntry) -> Result<bool> {
        match self {
            Self::Folder(paths) => {
                let path = paths.get(&(name_of(entry)?, entry.run_id.to_string()));
                Ok(path.is_some_and(|path| read_record(path).is_ok_and(|record| record == entry.record)))
            }
            Self::History { history, listed } => match listed.get(&entry.run_id) {
                Some(listed) => Ok(history.read(listed)?.is_same_run(entry)),
                None => Ok(false),
            },
        }
    }
}

/// Shows every run of a store, oldest first; of a folder name by name. A file that is not a run becomes a warning.
fn each_run(
    stored: &Stored,
    warnings: &mut Vec<String>,
    mut show: impl FnMut(HistoryEntry, &mut Vec<String>) -> Result<()>,
) -> Result<()> {
    let mut take = |read: Result<HistoryEntry>| match read {
        Ok(entry) => show(entry, warnings),
        Err(fault) if fault.exit == Exit::Usage => {
            warnings.push(format!("{} is passed over: {}", fault.place, fault.what));
            Ok(())
        }
        Err(fault) => Err(fault),
    };
    match stored {
        Stored::Folder(store) => store
            .list()
            .into_iter()
            .try_for_each(|saved| take(read_record(&saved.path).map(|record| entry_of(&saved.name, record)))),
        Stored::Branch(branch) => {
            let history = branch.history()?;
            for listed in listed_of(branch)?.chunks(HistoryBranch::AT_ONCE) {
                history.read_all(listed)?.into_iter().try_for_each(&mut take)?;
            }
            Ok(())
        }
    }
}

fn listed_of(branch: &Branch) -> Result<Vec<&Listed>> {
    Ok(branch.listed()?.iter().collect())
}

/// A baseline as a run of a history: its name is the branch, and no event has started it.
fn entry_of(name: &BaselineName, record: RunRecord) -> HistoryEntry {
    let commit = match &record.manifest.git {
        Probe::Known(git) => git.commit.clone().unwrap_or_default(),
        _ => String::new(),
    };
    HistoryEntry::of_record(record, name.as_str(), commit, "none")
}

/// The name of a run in a folder: that of its series, `main+h100` for `main@h100`.
fn name_of(entry: &HistoryEntry) -> Result<BaselineName> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
    let name: String = entry.series().chars().map(|c| if allowed(c) { c } else { '+' }).collect();
    name.parse().map_err(|what| Fault::at(format!("run {}", entry.run_id), what, "copy it to a history"))
}

/// Writes a run. Returns whether it was there before.
fn put(target: &Target<'_>, entry: &HistoryEntry, acceptances: &mut &[BesideFile]) -> Result<bool> {
    match target {
        Target::Folder(store) => {
            let name = name_of(entry)?;
            let saved = store
                .list()
                .into_iter()
                .find(|saved| saved.name == name && saved.run_id == entry.run_id.as_str());
            match saved {
                None => store.save(&name, &entry.record).map(|_| false),
                Some(saved) if read_record(&saved.path)? == entry.record => Ok(true),
                Some(saved) => {
                    let next = "look at both; a run is written once and never changed";
                    Err(Fault::at_path(saved.path, "is there with another content", next)
                        .exits(Exit::Unpublished))
                }
            }
        }
        Target::History(_) if entry.commit.is_empty() => {
            let next = "a history is one of commits: keep it in a folder";
            Err(Fault::at(format!("run {}", entry.run_id), "it is of no commit", next))
        }
        Target::History(history) => {
            let already = history.append_with(entry, acceptances)?.already;
            if !already {
                // They came with this one.
                *acceptances = &[];
            }
            Ok(already)
        }
    }
}

/// Refuses to copy more runs to a name than the folder keeps: it would drop the oldest.
fn room(from: &Stored, store: &Store, keep: usize) -> Result<()> {
    let mut names: BTreeMap<BaselineName, BTreeSet<String>> = BTreeMap::new();
    for saved in store.list() {
        names.entry(saved.name).or_default().insert(saved.run_id);
    }
    each_run(from, &mut Vec::new(), |entry, _| {
        if let Ok(name) = name_of(&entry) {
            names.entry(name).or_default().insert(entry.run_id.to_string());
        }
        Ok(())
    })?;
    let Some((name, runs)) = names.iter().find(|(_, runs)| runs.len() > keep) else { return Ok(()) };
    let what =
        format!("{} of `{name}` are more than the {keep} that a folder keeps", count(runs.len(), "run"));
    Err(Fault::at(
        format!("store `{}`", store.root().display()),
        what,
        format!("set `keep = {}` in [run]", runs.len()),
    ))
}
