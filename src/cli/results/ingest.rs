//! `gbench-ci ingest`: results of other programs become a record, a baseline or runs of a history.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::guess;
use crate::app::ingest::{
    AUTO, DatedBy, IngestRequest, Keep, NO_FIGURE, UnknownFile, describe, ingest, unknown_file,
    write_description,
};
use crate::app::paths::shown;
use crate::cli::args::{ArtifactsArgs, IngestArgs};
use crate::cli::terminal::style;
use crate::cli::terminal::write::{check_place, wrote};
use crate::model::text::count;
use crate::model::{Exit, Fault, Location, Result, RunRecord};
use crate::report::{self, Format, Options};
use crate::suite::Benchmark;

/// Flags that would have no effect with `--describe`.
const WITHOUT_EFFECT: [&str; 13] = [
    "format",
    "input_suite",
    "unit",
    "better",
    "metric",
    "parameters",
    "rows",
    "where",
    "repeats",
    "each",
    "output",
    "save",
    "history",
];

/// Import results of other programs: files, tables and logs of benchmark tools
///
/// Each file counts as one process of a run, and each of its rows is a case with parameters. The format is detected from the
/// contents of the file; if it is ambiguous, name it with --format. For any other JSON, JSON lines or CSV, describe the rows
/// with --metric, --parameters, --rows and --where, or in a file: `ingest` of an unknown file shows what it seems to hold and
/// how it would be read. docs/formats.md lists the formats.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct IngestCommandArgs {
    /// Files, or folders of files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Format: a name from docs/formats.md, or a file NAME.toml that describes rows; `auto`: detect it from the contents, and
    /// refuse the file if it is ambiguous
    #[arg(long, visible_alias = "input-format", value_name = "NAME", default_value = AUTO)]
    format: String,
    /// Guess how the rows of a file are read, write that description to this file (`-`: standard output), and import nothing
    #[arg(long, value_name = "OUT.toml", conflicts_with_all = WITHOUT_EFFECT)]
    describe: Option<PathBuf>,
    #[command(flatten)]
    how: IngestArgs,
    /// Treat each run in the files as separate, for example a year of nightly runs
    #[arg(long)]
    each: bool,
    /// With --each: how to date a run whose file has no start time
    #[arg(long, value_enum, value_name = "BY", default_value = "content", requires = "each")]
    dated_by: DatedBy,
    /// Write the record only to this file
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["save", "history"])]
    output: Option<PathBuf>,
    /// Save the record as a baseline with this name
    #[arg(long, value_name = "NAME", conflicts_with = "history")]
    save: Option<String>,
    /// Store instead of the suite file's, for --save: dir:PATH
    #[arg(long, value_name = "ADDRESS", requires = "save")]
    store: Option<String>,
    /// Append the record to a history: git:BRANCH, github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX
    #[arg(long, value_name = "ADDRESS")]
    history: Option<String>,
    /// With --history: branch that the runs measured
    #[arg(long, value_name = "BRANCH", default_value = "main", requires = "history")]
    branch: String,
    #[command(flatten)]
    place: ArtifactsArgs,
    /// Show everything: tables without truncation
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &IngestCommandArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    if let Some(to) = &args.describe {
        return described(&args.files, to, out);
    }
    check_place("--output", args.output.as_deref())?;
    let request = IngestRequest {
        files: args.files.clone(),
        options: args.how.options(&args.format)?,
        each: args.each.then_some(args.dated_by),
        keep: keep(args),
    };
    let ingested = match ingest(&request, builtins) {
        Ok(ingested) => ingested,
        Err(fault) => return Err(explained(fault, &request, out)?),
    };
    let [record] = ingested.records.as_slice() else {
        let runs = count(ingested.records.len(), "run");
        let span = [ingested.records.first(), ingested.records.last()];
        let days: Vec<&str> = span.iter().flatten().map(|record| record.started.as_str()).collect();
        let known = match ingested.known {
            0 => String::new(),
            known => format!(", {known} of them known already"),
        };
        wrote(writeln!(out, "kept {runs}{known}, {}", days.join(" to ")))?;
        return Ok(exit_of(&ingested.records));
    };
    let options = Options { format: Format::Terminal, style: style::of_stdout(), all: args.all };
    wrote(report::record(record, &options, out))?;
    if let Some(place) = ingested.places.first() {
        wrote(writeln!(out, "\nrecord  {}", shown(place)))?;
    }
    Ok(exit_of(&ingested.records))
}

/// Writes the description of a file's rows.
fn described(files: &[PathBuf], to: &Path, out: &mut impl Write) -> Result<Exit> {
    let [file] = files else {
        let next = "name one file: `gbench-ci ingest --describe rows.toml FILE`";
        return Err(Fault::at_flag("--describe", "several files are given, and one is described", next));
    };
    if to != Path::new("-") && to.extension().is_none_or(|extension| extension != "toml") {
        let what = format!(
            "`--format` does not take {} for a description: its name does not end in `.toml`",
            shown(to)
        );
        return Err(Fault::at_flag(
            "--describe",
            what,
            "name the file `NAME.toml`, or `-` for standard output",
        ));
    }
    let text = describe(file)?;
    if to == Path::new("-") {
        wrote(write!(out, "{text}"))?;
        return Ok(Exit::Pass);
    }
    write_description(&text, to)?;
    let [by, file] = [to, file].map(guess::path_word);
    let next = format!("gbench-ci ingest --format {by} {file}");
    let next = if guess::is_visible(&next) { format!(", then `{next}`") } else { String::new() };
    wrote(writeln!(out, "wrote {}: check it{next}", report::visible(&shown(to))))?;
    Ok(Exit::Pass)
}

/// The error of a file of no known format, after what the file seems to hold.
fn explained(fault: Fault, request: &IngestRequest, out: &mut impl Write) -> Result<Fault> {
    let is_about = |file: &UnknownFile| fault.place == Location::Path(file.path.clone());
    let unknown = (!request.options.says_how()).then(|| unknown_file(&request.files)).flatten();
    let Some(file) = unknown.filter(is_about) else { return Ok(fault) };
    wrote(guess::write(&file, out).and_then(|()| out.flush()))?;
    let next = match file.guess.described {
        Some(_) => "check the guess above, or name its format with `--input-format NAME`",
        None => NO_FIGURE,
    };
    Ok(Fault { next: next.into(), ..fault })
}

fn exit_of(records: &[RunRecord]) -> Exit {
    let failed = records.iter().flat_map(|record| &record.cases).any(|case| case.outcome.is_failure());
    if failed { Exit::Failed } else { Exit::Pass }
}

fn keep(args: &IngestCommandArgs) -> Keep {
    match (&args.output, &args.save, &args.history) {
        (Some(path), ..) => Keep::File(path.clone()),
        (_, Some(name), _) => Keep::Baseline {
            name: name.clone(),
            config: args.place.request().config,
            store: args.store.clone(),
        },
        (.., Some(address)) => Keep::History { address: address.clone(), branch: args.branch.clone() },
        _ => Keep::Artifacts(args.place.request()),
    }
}
