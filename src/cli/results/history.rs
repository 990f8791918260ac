//! `gbench-ci history`: every case over commits.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use crate::app::reports::verdict_files::bytes_of;
use crate::cli::args::RunsArgs;
use crate::cli::args::words;
use crate::cli::terminal::style;
use crate::cli::terminal::write::{check_place, wrote};
use crate::model::{Exit, Fault, Result};
use crate::report::{Style, TrendsFormat, trends};
use crate::store::write_atomically;
use crate::suite::Benchmark;

/// Show every case over commits: lasting changes, drift, breaks
///
/// A break is a point between two runs that must not be compared, because their machines or settings differ.
///
/// Runs come from the suite's store: a history branch, or the named records of a folder. If the folder has none, they come
/// from the branch gbench-history. Values are cached in .gbench/cache, which may be removed at any time.
///
/// Exit codes: 0 shown, whatever the history contains; 2 no such store, case or metric.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct HistoryArgs {
    /// A case or a benchmark by name, or a glob over benchmarks [default: all]
    case: Option<String>,
    #[command(flatten)]
    selected: RunsArgs,
    /// Format to write
    #[arg(long, value_parser = words::<TrendsFormat>(), default_value = "terminal")]
    format: TrendsFormat,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Show every series, including those without changes
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &HistoryArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    check_place("--output", args.output.as_deref())?;
    if !args.format.is_built_in() {
        let next = "build it with `cargo install --path . --features parquet`, or take csv";
        return Err(Fault::at_flag("--format parquet", "this gbench-ci was built without it", next));
    }
    if args.format == TrendsFormat::Parquet && args.output.is_none() && io::stdout().is_terminal() {
        let next = "name a file: `--output figures.parquet`";
        return Err(Fault::at_flag("--format parquet", "a terminal cannot show it", next));
    }
    let request = args.selected.request(args.case.clone());
    let document = request.document(builtins)?;
    let style = if args.output.is_some() { Style::PLAIN } else { style::of_stdout() };
    let write = |to: &mut dyn io::Write| trends(&document, args.format, style, args.all, to);
    match &args.output {
        Some(path) => write_atomically(path, &bytes_of(|bytes| write(bytes))?)?,
        None => wrote(write(out).and_then(|()| out.flush()))?,
    }
    Ok(Exit::Pass)
}
