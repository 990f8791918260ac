//! The binary's own documents: schemas, shell completions, the manual.

use std::io::Write;
use std::path::PathBuf;

use super::terminal::write::{write_json, wrote};
use crate::app::discover::V1Discovery;
use crate::compare::{AcceptanceLedger, Calibration, LandedDecision, Merged, VerdictDocument};
use crate::model::{Exit, Fault, Job, Result, RunRecord};
use crate::store::HistoryEntry;
use crate::trend::TrendsDocument;

/// Print the JSON Schema of a document
#[derive(clap::Args, Clone, Debug)]
pub struct SchemaArgs {
    document: Document,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Document {
    Record,
    Verdict,
    Calibration,
    /// Several verdicts as one: what `merge` writes
    Merged,
    /// What a CI job knows beside its verdict
    Job,
    /// A run in a history branch
    History,
    /// What was decided about the rows of a pull request
    Acceptances,
    /// One of these decisions in a history branch
    Accepted,
    /// What lies in a folder: `discover --json`
    Discovery,
    /// Cases over commits: `history --format json`
    Trends,
}

pub fn schema(args: &SchemaArgs, out: &mut impl Write) -> Result<Exit> {
    let schema = match args.document {
        Document::Record => RunRecord::schema(),
        Document::Verdict => VerdictDocument::schema(),
        Document::Calibration => Calibration::schema(),
        Document::Merged => Merged::schema(),
        Document::Job => Job::schema(),
        Document::History => HistoryEntry::schema(),
        Document::Acceptances => AcceptanceLedger::schema(),
        Document::Accepted => LandedDecision::schema(),
        Document::Discovery => V1Discovery::schema(),
        Document::Trends => TrendsDocument::schema(),
    };
    wrote(write_json(&schema, out))?;
    Ok(Exit::Pass)
}

/// Print a completion script for a shell
#[derive(clap::Args, Clone, Debug)]
pub struct CompletionsArgs {
    shell: clap_complete::Shell,
}

pub fn completions(
    args: &CompletionsArgs,
    command: &mut clap::Command,
    out: &mut impl Write,
) -> Result<Exit> {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, command, "gbench-ci", &mut bytes);
    wrote(out.write_all(&bytes))?;
    Ok(Exit::Pass)
}

/// Print the manual page, or write one for every command into a folder
#[derive(clap::Args, Clone, Debug)]
pub struct ManArgs {
    /// Folder for gbench-ci.1, gbench-ci-run.1, ...
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub fn man(args: &ManArgs, command: clap::Command, out: &mut impl Write) -> Result<Exit> {
    match &args.output {
        None => {
            let mut page = Vec::new();
            wrote(clap_mangen::Man::new(command).render(&mut page))?;
            wrote(out.write_all(&page))?;
        }
        Some(folder) => {
            let written = std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(command, folder).map(|_| ()));
            written.map_err(|error| {
                let what = format!("the manual cannot be written: {error}");
                Fault::at_path(folder, what, "name a writable folder").caused_by(&error)
            })?;
        }
    }
    Ok(Exit::Pass)
}
