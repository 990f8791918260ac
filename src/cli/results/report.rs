//! `report`: a comparison, a run, a verdict, several merged ones or a run record, shown again in any format.

use std::io;
use std::path::PathBuf;

use crate::app::ingest::{AUTO, IngestOptions};
use crate::app::reports::verdict_files::bytes_of;
use crate::app::store::subject::Subject;
use crate::cli::args::sweep;
use crate::cli::args::{ArtifactsArgs, SweepArgs, SweepFilterArgs, format_parser};
use crate::cli::terminal::style;
use crate::cli::terminal::write::wrote;
use crate::model::{Exit, Fault, Result};
use crate::report::{Format, Options, Style};
use crate::store::write_atomically;
use crate::suite::Benchmark;

/// Show a comparison, a run, a verdict or a record again
///
/// With --by, --group-by or --where it shows the sweep instead: the values by parameter, and the best one at each point.
/// Another program's file is shown as a run.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// A comparison or run (folder or id), a verdict, a run record, or the output folder of `merge` [default: the latest
    /// comparison, else the latest run]
    what: Option<String>,
    #[command(flatten)]
    place: ArtifactsArgs,
    /// Format of another program's file: a name from docs/formats.md, or a file NAME.toml that describes its rows; `auto`:
    /// detect it from the contents
    #[arg(long, value_name = "NAME", default_value = AUTO)]
    input_format: String,
    /// Format to write
    #[arg(long, default_value = "terminal", value_parser = format_parser())]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Show everything: unchanged rows in full, tables without truncation
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    sweep: SweepArgs,
    #[command(flatten)]
    filter: SweepFilterArgs,
    /// Exit with the document's own exit code instead of 0
    #[arg(long)]
    exit_code: bool,
}

/// Reads the document and writes the report. Exit 0, or with `--exit-code` the document's own.
pub(crate) fn run(args: &ReportArgs, builtins: &[Benchmark], out: &mut impl io::Write) -> Result<Exit> {
    let input = Subject::find(
        args.what.as_deref(),
        &args.place.request(),
        &IngestOptions::of_format(&args.input_format)?,
        builtins,
    )?
    .document()?;
    let style = if args.output.is_some() { Style::PLAIN } else { style::of_stdout() };
    let options = Options { format: args.format, style, all: args.all };
    let looked_at = match args.sweep.request(&args.filter)? {
        None => None,
        Some(request) => {
            let of_parts = || {
                let what = "it has several parts, each with separate parameters";
                Fault::at("the report", what, "name the verdict or the record of one part")
            };
            Some(sweep(input.sweep(&request).ok_or_else(of_parts)?, args.format)?)
        }
    };
    let render = |to: &mut dyn io::Write| match &looked_at {
        Some(sweep) => sweep.write(&options, to),
        None => input.render(&options, to),
    };
    match &args.output {
        Some(path) => write_atomically(path, &bytes_of(|bytes| render(bytes))?)?,
        None => wrote(render(out).and_then(|()| out.flush()))?,
    }
    if !args.exit_code {
        return Ok(Exit::Pass);
    }
    input.exit().ok_or_else(|| {
        let what = "gbench-ci does not know its exit code";
        let next = "use the file as gbench-ci wrote it";
        Fault::at(args.what.as_deref().unwrap_or("the verdict"), what, next)
    })
}
