//! `gbench-ci baseline`: named records to compare with later.

use std::io::Write;
use std::path::PathBuf;

use super::terminal::write::{table, write_json, wrote};
use crate::app::environment;
use crate::app::paths::{current_folder, project_root, shown};
use crate::app::request::SelectionRequest;
use crate::app::stores::{Branch, Stored, Stores, name_of};
use crate::model::text::{count, short_commit};
use crate::model::{CaseRecord, Exit, Fault, Outcome, RecordState, Result};
use crate::store::{BaselineEntry, Store, latest_run, read_record};
use crate::suite::{Benchmark, Suite};

/// Save, list and remove named baselines
#[derive(clap::Args, Clone, Debug)]
pub struct BaselineArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum Command {
    /// Save a run under a name; by default the newest run
    Save {
        name: String,
        /// Run folder or record to save [default: the newest run]
        run: Option<PathBuf>,
        /// Save it although some of it was not measured
        #[arg(long)]
        partial: bool,
        #[command(flatten)]
        place: StoreArgs,
    },
    /// List what is saved, oldest first
    List {
        /// Print one JSON document instead of a table
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: StoreArgs,
    },
    /// Remove a name with all its records
    Remove {
        name: String,
        #[command(flatten)]
        place: StoreArgs,
    },
}

/// Where baselines and runs are kept.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct StoreArgs {
    /// Suite file whose store is meant [default: gbench.toml of this folder]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Store instead of the suite file's: dir:PATH; to list also git:BRANCH or github:OWNER/REPO@BRANCH
    #[arg(long, value_name = "ADDRESS")]
    pub store: Option<String>,
}

impl StoreArgs {
    fn suite(&self, builtins: &[Benchmark]) -> Result<Suite> {
        SelectionRequest::of_file(self.config.clone()).suite(builtins)
    }
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

pub fn run(args: &BaselineArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    match &args.command {
        Command::Save { name, run, partial, place } => {
            let name = name_of(name)?;
            let suite = place.suite(builtins)?;
            let store = folder(&suite, place.store.as_deref())?;
            let path = match run {
                Some(path) => path.clone(),
                None => newest(&suite)?,
            };
            let record = read_record(&path)?;
            let measured = record.cases.iter().filter(|case| case.outcome.is_measured()).count();
            let skip = |case: &&CaseRecord| matches!(case.outcome, Outcome::Skipped { .. });
            let skipped = record.cases.iter().filter(skip).count();
            let refusal = match record.state {
                _ if measured == 0 => Some("nothing in it was measured".to_owned()),
                _ if *partial => None,
                // What this machine cannot run will be skipped next time, too.
                RecordState::Complete if measured + skipped == record.cases.len() => None,
                RecordState::Complete => {
                    Some(format!("only {measured} of its {} cases were measured", record.cases.len()))
                }
                RecordState::Interrupted | RecordState::Recovered => Some("the run was cut short".to_owned()),
            };
            if let Some(what) = refusal {
                let next = match measured {
                    0 => "run again; `gbench-ci report` on the record says what went wrong",
                    _ => "run again, or save it as it is with `--partial`",
                };
                return Err(Fault::at_path(path, what, next).exits(Exit::Failed));
            }
            let saved = store.save(&name, &record)?;
            wrote(writeln!(
                out,
                "saved run {} with {} as `{name}`\n  {}",
                record.run_id,
                count(measured, "measured case"),
                shown(&saved)
            ))?;
            let newest = store.list().into_iter().rfind(|entry| entry.name == name);
            if let Some(newest) = newest.filter(|newest| newest.run_id != record.run_id.as_str()) {
                wrote(writeln!(
                    out,
                    "`{name}` still means the newer run {}; `gbench-ci baseline remove {name}` and saving anew \
                     changes that",
                    newest.run_id
                ))?;
            }
        }
        Command::List { json, place } => {
            let suite = place.suite(builtins)?;
            match &*Stores::new(place.store.as_deref()).of(Some(&suite))? {
                Stored::Folder(store) => list_folder(store, *json, out)?,
                Stored::Branch(branch) => list_branch(branch, *json, out)?,
            }
        }
        Command::Remove { name, place } => {
            let name = name_of(name)?;
            let removed = folder(&place.suite(builtins)?, place.store.as_deref())?.remove(&name)?;
            wrote(writeln!(out, "removed `{name}`: {}", count(removed, "record")))?;
        }
    }
    Ok(Exit::Pass)
}

fn list_folder(store: &Store, json: bool, out: &mut impl Write) -> Result<()> {
    let entries = store.list();
    let row = |entry: &BaselineEntry| vec![entry.name.to_string(), entry.run_id.clone(), shown(&entry.path)];
    wrote(match json {
        true => {
            let rows: Vec<_> = entries
                .iter()
                .map(|entry| {
                    serde_json::json!({
                        "name": entry.name.as_str(), "run_id": entry.run_id, "path": entry.path,
                    })
                })
                .collect();
            write_json(&rows, out)
        }
        false if entries.is_empty() => {
            writeln!(out, "no baseline is saved; `gbench-ci baseline save NAME` saves the newest run")
        }
        false => write!(out, "{}", table(&["name", "run", "path"], entries.iter().map(row))),
    })
}

/// One run of a history in the list: the fields of a folder's list, and what only a history knows.
#[derive(serde::Serialize)]
struct V1HistoryRow {
    /// What `compare` takes for the newest of its kind: `main`, `main@h100`.
    name: String,
    run_id: String,
    /// From the branch's root.
    path: String,
    commit: String,
    appended: String,
    event: String,
    conclusion: Option<String>,
}

/// Warnings go to standard error: the list may be read by a program.
fn list_branch(branch: &Branch, json: bool, out: &mut impl Write) -> Result<()> {
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
    for warning in warnings {
        let _ = writeln!(std::io::stderr(), "warning: {warning}");
    }
    let row = |row: &V1HistoryRow| {
        let commit = short_commit(&row.commit).to_owned();
        vec![row.name.clone(), row.run_id.clone(), commit, row.conclusion.clone().unwrap_or_default()]
    };
    wrote(match json {
        true => write_json(&rows, out),
        false if rows.is_empty() => writeln!(out, "no run is in {}", branch.address()),
        false => write!(out, "{}", table(&["name", "run", "commit", "conclusion"], rows.iter().map(row))),
    })
}

fn newest(suite: &Suite) -> Result<PathBuf> {
    let mut run = suite.run.clone();
    environment::read()?.apply_run(&mut run, &current_folder()?);
    let artifacts = project_root(suite)?.join(&run.artifacts.value);
    latest_run(&artifacts).ok_or_else(|| {
        Fault::at_path(artifacts, "no run is kept here", "run `gbench-ci run` first, or name a record")
    })
}
