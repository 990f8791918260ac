//! `gbench-ci history`: every case over commits.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::app::reports::verdict_files::bytes_of;
use crate::cli::args::RunsArgs;
use crate::cli::args::words;
use crate::cli::terminal::style;
use crate::cli::terminal::write::{check_place, wrote};
use crate::history::Address;
use crate::model::text::count;
use crate::model::{Exit, Fault, Result};
use crate::report::{Style, TrendsFormat, trends, trends_by_month};
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
    /// Write to this file instead of standard output; for parquet also a folder, which gets a file for each month
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Show every series, including those without changes
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &HistoryArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let folder =
        args.output.as_deref().filter(|path| args.format == TrendsFormat::Parquet && is_folder(path));
    if folder.is_none() {
        check_place("--output", args.output.as_deref())?;
    }
    if !args.format.is_built_in() {
        let next = "build it with `cargo install --path . --features parquet`, or take csv";
        return Err(Fault::at_flag("--format parquet", "this gbench-ci was built without it", next));
    }
    if args.format == TrendsFormat::Parquet && args.output.is_none() && io::stdout().is_terminal() {
        let next = "name a file: `--output figures.parquet`";
        return Err(Fault::at_flag("--format parquet", "a terminal cannot show it", next));
    }
    if let Some(folder) = folder {
        return write_months(args, folder, builtins, out);
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

/// A folder that exists, or that a slash at the end asks for.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Writes `month=2026-11/part-0.parquet` for each month. A file with the same bytes is left alone, and files of other months
/// are not looked at.
fn write_months(
    args: &HistoryArgs,
    folder: &Path,
    builtins: &[Benchmark],
    out: &mut impl Write,
) -> Result<Exit> {
    let place = folder.display();
    let document = args.selected.request_of_all(args.case.clone(), &place.to_string())?.document(builtins)?;
    if matches!(document.store.parse(), Ok(Address::GitHub { .. })) {
        let what = "a history on GitHub is read in part, and a month would lose runs";
        let next = "fetch the branch, and name it with `--store git:BRANCH`";
        return Err(Fault::at_flag(format!("--output {place}"), what, next));
    }
    let months = trends_by_month(&document).map_err(|error| Fault::defect(place.to_string(), error))?;
    let mut written = 0;
    for (month, bytes) in &months {
        let path = folder.join(format!("month={month}")).join("part-0.parquet");
        if std::fs::read(&path).is_ok_and(|there| there == *bytes) {
            continue;
        }
        if let Some(folder) = path.parent() {
            let next = "choose a writable folder with `--output`";
            std::fs::create_dir_all(folder)
                .map_err(|error| Fault::of_io(folder, "it cannot be made", &error, next))?;
        }
        write_atomically(&path, bytes)?;
        written += 1;
    }
    for warning in &document.warnings {
        wrote(writeln!(io::stderr(), "warning: {warning}"))?;
    }
    let months = count(months.len(), "month");
    wrote(writeln!(out, "{months} in {place}, {written} written").and_then(|()| out.flush()))?;
    Ok(Exit::Pass)
}
