//! `gbench-ci baseline`: named records to compare with later.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::app::paths::shown;
use crate::app::store::baselines::{BaselineList, BaselinesRequest, RunFlaws, V1HistoryRow};
use crate::app::store::copy::CopyRequest;
use crate::cli::terminal::write::{table, write_json, wrote};
use crate::compare::{DecisionKind, LandedDecision};
use crate::history::Address;
use crate::model::text::{count, short_commit};
use crate::model::{Exit, Result};
use crate::store::BaselineEntry;
use crate::suite::Benchmark;

/// Save, list and remove named baselines
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct BaselineArgs {
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
        /// Save the run even if parts of it were not measured
        #[arg(long)]
        partial: bool,
        /// Save the run even if other programs kept the machine busy meanwhile
        #[arg(long)]
        busy: bool,
        #[command(flatten)]
        place: StoreArgs,
    },
    /// List the saved baselines, oldest first
    List {
        /// Print one JSON document instead of a table
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: StoreArgs,
    },
    /// List the acceptances of merged pull requests, oldest first
    Accepted {
        /// Print one JSON document instead of a table
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: StoreArgs,
    },
    /// Copy every run of a store to another, with the acceptances, and read each back to check it
    ///
    /// A store is dir:PATH, git:BRANCH, github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX. Runs that are there already stay, so the
    /// command can be repeated. A folder keeps records alone: the branch of a run becomes its name.
    Copy {
        /// Store whose runs are copied
        from: String,
        /// Store that they are copied to
        to: String,
        /// Suite file [default: gbench.toml of this folder]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Remove a baseline with all its records
    Remove {
        name: String,
        #[command(flatten)]
        place: StoreArgs,
    },
}

/// Where baselines and runs are kept.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct StoreArgs {
    /// Suite file whose store is used [default: gbench.toml of this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Store instead of the suite file's: dir:PATH; for `list` and `accepted` also git:BRANCH,
    /// github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
}

impl StoreArgs {
    fn request(&self) -> BaselinesRequest {
        BaselinesRequest { config: self.config.clone(), store: self.store.clone() }
    }
}

pub(crate) fn run(args: &BaselineArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    match &args.command {
        Command::Save { name, run, partial, busy, place } => {
            let flaws = RunFlaws { partial: *partial, busy: *busy };
            let saved = place.request().save(name, run.as_deref(), flaws, builtins)?;
            let (name, run_id, path) = (&saved.name, &saved.run_id, shown(&saved.path));
            let cases = count(saved.measured, "measured case");
            wrote(writeln!(out, "saved run {run_id} with {cases} as `{name}`\n  {path}"))?;
            if let Some(newer) = &saved.newer {
                wrote(writeln!(
                    out,
                    "`{name}` still means the newer run {newer}; `gbench-ci baseline remove {name}` and saving again \
                     changes that"
                ))?;
            }
        }
        Command::List { json, place } => match place.request().list(builtins)? {
            BaselineList::Folder(entries) => print_folder(&entries, *json, out)?,
            BaselineList::History { address, rows, warnings } => {
                // The list may be read by a program, and a standard error that is closed is not a reason to stop.
                for warning in warnings {
                    let _ = writeln!(io::stderr(), "warning: {warning}");
                }
                print_history(&address, &rows, *json, out)?;
            }
        },
        Command::Accepted { json, place } => {
            let (decisions, warnings) = place.request().accepted(builtins)?;
            for warning in warnings {
                let _ = writeln!(io::stderr(), "warning: {warning}");
            }
            print_accepted(&decisions, *json, out)?;
        }
        Command::Copy { from, to, config } => {
            let request = CopyRequest { config: config.clone(), from: from.clone(), to: to.clone() };
            let copied = request.copy(builtins)?;
            for warning in &copied.warnings {
                let _ = writeln!(io::stderr(), "warning: {warning}");
            }
            let (runs, acceptances) = (count(copied.runs, "run"), count(copied.acceptances, "acceptance"));
            let already = copied.already;
            wrote(writeln!(
                out,
                "copied {runs} to {to}, {already} of them there before, and {acceptances}; each run was read back and is the same"
            ))?;
            if !copied.warnings.is_empty() {
                return Ok(Exit::Failed);
            }
        }
        Command::Remove { name, place } => {
            let (name, removed) = place.request().remove(name, builtins)?;
            wrote(writeln!(out, "removed `{name}`: {}", count(removed, "record")))?;
        }
    }
    Ok(Exit::Pass)
}

fn print_folder(entries: &[BaselineEntry], json: bool, out: &mut impl Write) -> Result<()> {
    if json {
        let row = |entry: &BaselineEntry| {
            serde_json::json!({
                "name": entry.name.as_str(), "run_id": entry.run_id, "path": entry.path,
            })
        };
        return wrote(write_json(&entries.iter().map(row).collect::<Vec<_>>(), out));
    }
    if entries.is_empty() {
        let next = "`gbench-ci baseline save NAME` saves the newest run";
        return wrote(writeln!(out, "no baseline is saved; {next}"));
    }
    let row = |entry: &BaselineEntry| vec![entry.name.to_string(), entry.run_id.clone(), shown(&entry.path)];
    wrote(write!(out, "{}", table(&["name", "run", "path"], entries.iter().map(row))))
}

fn print_accepted(decisions: &[LandedDecision], json: bool, out: &mut impl Write) -> Result<()> {
    if json {
        return wrote(write_json(&decisions, out));
    }
    if decisions.is_empty() {
        return wrote(writeln!(out, "nothing was accepted"));
    }
    let rows = decisions.iter().flat_map(|landed| {
        let word = match landed.decision.kind {
            DecisionKind::Accept => "accepted",
            DecisionKind::Revoke => "revoked",
        };
        landed.decision.rows.iter().map(move |row| {
            let (decision, commit) = (&landed.decision, short_commit(&landed.merged_as).to_owned());
            let name = format!("{} {}", row.case, row.metric);
            vec![
                name.trim_end().to_owned(),
                word.to_owned(),
                decision.by.clone(),
                format!("#{}", landed.pull),
                commit,
                decision.reason.clone(),
            ]
        })
    });
    wrote(write!(out, "{}", table(&["case", "decision", "by", "pull request", "commit", "reason"], rows)))
}

fn print_history(address: &Address, rows: &[V1HistoryRow], json: bool, out: &mut impl Write) -> Result<()> {
    if json {
        return wrote(write_json(&rows, out));
    }
    if rows.is_empty() {
        return wrote(writeln!(out, "no run is in {address}"));
    }
    let row = |row: &V1HistoryRow| {
        let commit = short_commit(&row.commit).to_owned();
        vec![row.name.clone(), row.run_id.clone(), commit, row.conclusion.clone().unwrap_or_default()]
    };
    wrote(write!(out, "{}", table(&["name", "run", "commit", "conclusion"], rows.iter().map(row))))
}
