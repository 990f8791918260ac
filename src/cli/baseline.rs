//! `gbench-ci baseline`: named records to compare with later.

use std::io::Write;
use std::path::PathBuf;

use super::output::{table, write_json, wrote};
use super::run::{home, shown};
use super::selection::SelectionArgs;
use crate::model::{BaselineName, CaseRecord, Exit, Fault, Outcome, RecordState, Result};
use crate::report::plural;
use crate::store::{Store, latest_run, read_record};
use crate::suite::{Benchmark, Suite};

/// Save, list and remove named baselines
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
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
        place: PlaceArgs,
    },
    /// List what is saved, oldest first
    List {
        /// Print one JSON document instead of a table
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Remove a name with all its records
    Remove {
        name: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
}

/// Where baselines and runs are kept.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct PlaceArgs {
    /// Suite file whose store is meant [default: gbench.toml of this folder]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Store instead of the suite file's: dir:PATH
    #[arg(long, value_name = "ADDRESS")]
    pub store: Option<String>,
}

impl PlaceArgs {
    fn suite(&self, builtins: &[Benchmark]) -> Result<Suite> {
        let selection = SelectionArgs { config: self.config.clone(), ..SelectionArgs::default() };
        selection.suite(builtins)
    }
}

/// The store of a suite, or the one that a flag names; relative paths count from the suite's folder, those of a
/// flag from the current one.
pub fn store_of(suite: &Suite, flag: Option<&str>) -> Result<Store> {
    let keep = suite.run.keep.value;
    match flag {
        Some(address) => Store::open(address, &super::current_folder()?, keep),
        None => Store::open(&suite.run.store.value, &home(suite)?, keep),
    }
}

/// A baseline's name. Errors: what cannot be one.
pub fn name_of(text: &str) -> Result<BaselineName> {
    text.parse().map_err(|what| Fault::at("the baseline's name", what, "choose a name such as main or v1.2"))
}

pub fn run(args: &Args, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    match &args.command {
        Command::Save { name, run, partial, place } => {
            let name = name_of(name)?;
            let suite = place.suite(builtins)?;
            let store = store_of(&suite, place.store.as_deref())?;
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
                plural(measured, "measured case"),
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
            let store = store_of(&place.suite(builtins)?, place.store.as_deref())?;
            let entries = store.list();
            let row = |entry: &crate::store::BaselineEntry| {
                vec![entry.name.to_string(), entry.run_id.clone(), shown(&entry.path)]
            };
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
            })?;
        }
        Command::Remove { name, place } => {
            let name = name_of(name)?;
            let count = store_of(&place.suite(builtins)?, place.store.as_deref())?.remove(&name)?;
            wrote(writeln!(out, "removed `{name}`: {}", plural(count, "record")))?;
        }
    }
    Ok(Exit::Pass)
}

fn newest(suite: &Suite) -> Result<PathBuf> {
    let artifacts = home(suite)?.join(&suite.run.artifacts.value);
    latest_run(&artifacts).ok_or_else(|| {
        Fault::at_path(artifacts, "no run is kept here", "run `gbench-ci run` first, or name a record")
    })
}
