//! Named records to compare with later: saved, listed and removed.

use std::path::{Path, PathBuf};

use crate::app::paths::{current_folder, project_root};
use crate::app::request::SelectionRequest;
use crate::app::request::environment;
use crate::app::store::stores::{Branch, Stored, Stores, name_of};
use crate::compare::LandedDecision;
use crate::history::Address;
use crate::model::text::count;
use crate::model::{BaselineName, CaseRecord, Exit, Fault, Outcome, RecordState, Result, RunRecord};
use crate::store::{BaselineEntry, Store, latest_run, read_record};
use crate::suite::{Benchmark, Suite};

/// Where baselines and runs are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct BaselinesRequest {
    pub config: Option<PathBuf>,
    pub store: Option<String>,
}

/// Flaws of a run that its baseline may have all the same.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunFlaws {
    /// Parts of it were not measured.
    pub partial: bool,
    /// It was measured on a busy machine.
    pub busy: bool,
}

pub(crate) struct SavedBaseline {
    pub name: BaselineName,
    pub run_id: String,
    pub measured: usize,
    pub path: PathBuf,
    /// The run that the name means instead, being newer.
    pub newer: Option<String>,
}

pub(crate) enum BaselineList {
    Folder(Vec<BaselineEntry>),
    History { address: Address, rows: Vec<V1HistoryRow>, warnings: Vec<String> },
}

/// One run of a history in the list: the fields of a folder's list, and what only a history knows.
#[derive(serde::Serialize)]
pub(crate) struct V1HistoryRow {
    /// The name by which `compare` finds the newest of its kind: `main`, `main@h100`.
    pub name: String,
    pub run_id: String,
    /// From the branch's root.
    pub path: String,
    pub commit: String,
    pub appended: String,
    pub event: String,
    pub conclusion: Option<String>,
}

impl BaselinesRequest {
    fn suite(&self, builtins: &[Benchmark]) -> Result<Suite> {
        SelectionRequest::of_file(self.config.clone()).suite(builtins)
    }

    /// Saves a run, by default the newest one, under a name. Errors: a run that was not measured whole, unless `partial`; one
    /// that was measured on a busy machine, unless `busy`.
    pub(crate) fn save(
        &self,
        name: &str,
        run: Option<&Path>,
        RunFlaws { partial, busy }: RunFlaws,
        builtins: &[Benchmark],
    ) -> Result<SavedBaseline> {
        let name = name_of(name)?;
        let suite = self.suite(builtins)?;
        let store = folder(&suite, self.store.as_deref())?;
        let path = run.map_or_else(|| newest(&suite), |path| Ok(path.to_owned()))?;
        let record = read_record(&path)?;
        let measured = record.cases.iter().filter(|case| case.outcome.is_measured()).count();
        if let Some(what) = refusal(&record, measured, partial) {
            let next = match measured {
                0 => "run again; `gbench-ci report` on the record shows what went wrong",
                _ => "run again, or save it as it is with `--partial`",
            };
            return Err(Fault::at_path(path, what, next).exits(Exit::Failed));
        }
        let disturbed = record.cases.iter().filter(|case| case.met_busy_machine()).count();
        if disturbed > 0 && !busy {
            let cases = count(disturbed, "case");
            let what = format!(
                "other programs kept the machine busy while {cases} of it ran: what is compared with it may differ for that alone"
            );
            let next = "end what else runs there and run again, or save it as it is with `--busy`";
            return Err(Fault::at_path(path, what, next).exits(Exit::Failed));
        }
        let path = store.save(&name, &record)?;
        let run_id = record.run_id.to_string();
        let newest = store.list().into_iter().rfind(|entry| entry.name == name);
        let newer = newest.map(|newest| newest.run_id).filter(|newest| *newest != run_id);
        Ok(SavedBaseline { name, run_id, measured, path, newer })
    }

    pub(crate) fn list(&self, builtins: &[Benchmark]) -> Result<BaselineList> {
        let suite = self.suite(builtins)?;
        match &*Stores::new(self.store.as_deref()).of(Some(&suite))? {
            Stored::Folder(store) => Ok(BaselineList::Folder(store.list())),
            Stored::Branch(branch) => of_history(branch),
        }
    }

    /// The accepted rows that a history keeps, and the files of it that cannot be read. Errors: the store is a folder.
    pub(crate) fn accepted(&self, builtins: &[Benchmark]) -> Result<(Vec<LandedDecision>, Vec<String>)> {
        let suite = self.suite(builtins)?;
        let stored = Stores::new(self.store.as_deref()).of(Some(&suite))?;
        let Stored::Branch(branch) = &*stored else {
            let what = "a folder keeps baselines, and a history what was accepted";
            return Err(Fault::at("store", what, "name the history: `--store git:gbench-history`"));
        };
        branch.need()?;
        branch.accepted()
    }

    /// Removes a name with all its records. Returns it, and how many records there were.
    pub(crate) fn remove(&self, name: &str, builtins: &[Benchmark]) -> Result<(BaselineName, usize)> {
        let name = name_of(name)?;
        let removed = folder(&self.suite(builtins)?, self.store.as_deref())?.remove(&name)?;
        Ok((name, removed))
    }
}

fn refusal(record: &RunRecord, measured: usize, partial: bool) -> Option<String> {
    let is_skipped = |case: &&CaseRecord| matches!(case.outcome, Outcome::Skipped { .. });
    let skipped = record.cases.iter().filter(is_skipped).count();
    match record.state {
        _ if measured == 0 => Some("nothing in it was measured".to_owned()),
        _ if partial => None,
        // This machine will skip the case next time, too.
        RecordState::Complete if measured + skipped == record.cases.len() => None,
        RecordState::Complete => {
            Some(format!("only {measured} of its {} cases were measured", record.cases.len()))
        }
        RecordState::Interrupted | RecordState::Recovered => Some("the run was cut short".to_owned()),
    }
}

fn of_history(branch: &Branch) -> Result<BaselineList> {
    branch.need()?;
    let mut rows = Vec::new();
    let warnings = branch.each(|listed, entry| {
        rows.push(V1HistoryRow {
            name: entry.series(),
            run_id: entry.run_id.to_string(),
            path: listed.path.clone(),
            commit: entry.commit,
            appended: entry.appended,
            event: entry.event,
            conclusion: entry.conclusion,
        });
    })?;
    Ok(BaselineList::History { address: branch.address().clone(), rows, warnings })
}

/// The folder that baselines are saved to. Errors: the store is a history.
fn folder(suite: &Suite, flag: Option<&str>) -> Result<Store> {
    match &*Stores::new(flag).of(Some(suite))? {
        Stored::Folder(store) => Ok(store.clone()),
        Stored::Branch(branch) => {
            let what = "a history takes whole runs of the default branch only, and keeps them";
            let next = "use a folder: `--store dir:.gbench`; `gbench-ci publish --history` adds to a history";
            Err(Fault::at(format!("store `{}`", branch.address()), what, next))
        }
    }
}

fn newest(suite: &Suite) -> Result<PathBuf> {
    let mut run = suite.run.clone();
    environment::read()?.apply_run(&mut run, &current_folder()?);
    let artifacts = project_root(suite)?.join(&run.artifacts.value);
    latest_run(&artifacts).ok_or_else(|| {
        Fault::at_path(artifacts, "no run is kept here", "run `gbench-ci run` first, or name a record")
    })
}
