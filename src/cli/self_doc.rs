//! The binary's own documents: schemas, shell completions, the manual.

use std::io::{self, Write};
use std::path::PathBuf;

use flate2::read::DeflateDecoder;

use super::terminal::write::wrote;
use crate::model::{Exit, Fault, Result};

/// Print the JSON Schema of a document
#[derive(clap::Args, Clone, Debug)]
pub(super) struct SchemaArgs {
    document: Document,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Document {
    Record,
    Verdict,
    Calibration,
    /// Several merged verdicts: the output of `merge`
    Merged,
    /// Facts of a CI job in addition to its verdict
    Job,
    /// A run in a history branch
    History,
    /// Decisions about the rows of a pull request
    Acceptances,
    /// One such decision in a history branch
    Accepted,
    /// The benchmarks of a folder: the output of `discover --json`
    Discovery,
    /// Cases over commits: the output of `history --format json`
    Trends,
}

/// A schema as `build.rs` has packed it.
macro_rules! packed {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name)).as_slice()
    };
}

pub(super) fn schema(args: &SchemaArgs, out: &mut impl Write) -> Result<Exit> {
    let packed = match args.document {
        Document::Record => packed!("record-v2.json"),
        Document::Verdict => packed!("verdict-v2.json"),
        Document::Calibration => packed!("calibration-v1.json"),
        Document::Merged => packed!("merged-v1.json"),
        Document::Job => packed!("job-v1.json"),
        Document::History => packed!("history-v1.json"),
        Document::Acceptances => packed!("acceptances-v1.json"),
        Document::Accepted => packed!("accepted-v1.json"),
        Document::Discovery => packed!("discovery-v1.json"),
        Document::Trends => packed!("trends-v1.json"),
    };
    wrote(io::copy(&mut DeflateDecoder::new(packed), out).map(drop))?;
    Ok(Exit::Pass)
}

/// Print a completion script for a shell
#[derive(clap::Args, Clone, Debug)]
pub(super) struct CompletionsArgs {
    shell: clap_complete::Shell,
}

pub(super) fn completions(
    args: &CompletionsArgs,
    command: &mut clap::Command,
    out: &mut impl Write,
) -> Result<Exit> {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, command, "gbench-ci", &mut bytes);
    wrote(out.write_all(&bytes))?;
    Ok(Exit::Pass)
}

/// Print the manual page, or write a page per command into a folder
#[derive(clap::Args, Clone, Debug)]
pub(super) struct ManArgs {
    /// Folder for gbench-ci.1, gbench-ci-run.1, ...
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(super) fn man(args: &ManArgs, command: clap::Command, out: &mut impl Write) -> Result<Exit> {
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
