//! `gbench-ci export`: one run in the format of another program.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::app::ingest::{AUTO, IngestOptions};
use crate::app::reports::verdict_files::bytes_of;
use crate::app::store::subject::Subject;
use crate::cli::args::ArtifactsArgs;
use crate::cli::args::words;
use crate::cli::terminal::write::{check_place, wrote};
use crate::model::{Exit, Fault, Result};
use crate::report::{ExportFormat, Input, export};
use crate::store::write_atomically;
use crate::suite::Benchmark;

/// Write a run in the format of another program
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ExportArgs {
    /// A run (folder or id), a record, or a result file of another program [default: the latest run]
    what: Option<String>,
    /// Format to write
    #[arg(long, value_parser = words::<ExportFormat>(), value_name = "FORMAT")]
    to: ExportFormat,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: ArtifactsArgs,
    /// Format of another program's file: a name from docs/formats.md, or a file NAME.toml that describes its rows; `auto`:
    /// detect it from the contents
    #[arg(long, value_name = "NAME", default_value = AUTO)]
    input_format: String,
}

pub(crate) fn run(args: &ExportArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    check_place("--output", args.output.as_deref())?;
    let subject = Subject::find(
        args.what.as_deref(),
        &args.place.request(),
        &IngestOptions::of_format(&args.input_format)?,
        builtins,
    )?;
    let Input::Record(record) = subject.document()? else {
        let what = "it is a comparison, and a run is exported";
        let next = "name a run: the folder of one side has one, such as `COMPARISON/head`";
        return Err(Fault::at(args.what.as_deref().unwrap_or("the latest comparison"), what, next));
    };
    let write = |to: &mut dyn io::Write| export(&record, args.to, to);
    match &args.output {
        Some(path) => write_atomically(path, &bytes_of(|bytes| write(bytes))?)?,
        None => wrote(write(out).and_then(|()| out.flush()))?,
    }
    Ok(Exit::Pass)
}
