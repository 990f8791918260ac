//! `gbench-ci explain`: how the verdicts of one case came about.

use std::io::Write;
use std::path::PathBuf;

use crate::app::reports::explain::{ExplainRequest, ExplainedVerdict, Explanation, explain};
use crate::cli::args::{ArtifactsArgs, PageFormat};
use crate::cli::terminal::style;
use crate::cli::terminal::write::{check_place, wrote};
use crate::model::{Exit, Fault, Result, RunRecord};
use crate::report::explain::{self as rendering, Explained};
use crate::report::{self, Options, Style};
use crate::store::write_atomically;
use crate::suite::Benchmark;

/// Explain why a case has its verdict, round by round: as text, numbers and a chart
///
/// Exit codes: 0 explained, whatever the verdict is; 2 no such case or comparison, or records that cannot be read; 4
/// records that fail their own consistency checks.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ExplainArgs {
    /// The case as named in reports, its benchmark, or a glob
    case: String,
    /// A comparison or run (folder or id), a verdict, a run record, or the output folder of `merge` [default: the latest
    /// comparison, else the latest run]
    #[arg(conflicts_with_all = ["base", "head", "control"])]
    what: Option<String>,
    /// The record of the base, instead of a comparison
    #[arg(long, value_name = "FILE", requires = "head")]
    base: Option<PathBuf>,
    /// The record of the head
    #[arg(long, value_name = "FILE", requires = "base")]
    head: Option<PathBuf>,
    /// The record of the control
    #[arg(long, value_name = "FILE", requires = "base")]
    control: Option<PathBuf>,
    /// Only metrics that match this glob
    #[arg(long, value_name = "GLOB")]
    metric: Option<String>,
    #[command(flatten)]
    place: ArtifactsArgs,
    /// Also draw the rounds to this file; only if a single row is explained
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// What to print
    #[arg(long, default_value = "terminal")]
    format: PageFormat,
    /// Show every round in a table
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &ExplainArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    check_place("--svg", args.svg.as_deref())?;
    let ExplainArgs { case, what: subject, base, head, control, metric, place, .. } = args.clone();
    let artifacts = place.request();
    let request = ExplainRequest { case, subject, base, head, control, metric, artifacts };
    match explain(&request, builtins)? {
        Explanation::Verdict(verdict) => print_verdict(args, &verdict, out)?,
        Explanation::Machines { machines, verdicts } => print_machines(args, machines, &verdicts, out)?,
        Explanation::Run(record) => print_run(args, &record, out)?,
    }
    Ok(Exit::Pass)
}

fn print_machines(
    args: &ExplainArgs,
    machines: usize,
    verdicts: &[(String, ExplainedVerdict)],
    out: &mut impl Write,
) -> Result<()> {
    if args.format == PageFormat::Json || args.svg.is_some() {
        let flag = if args.svg.is_some() { "--svg" } else { "--format json" };
        let what = format!("it shows one verdict, and here are those of {machines} machines");
        return Err(Fault::at_flag(flag, what, "take it out, or give the verdict of one machine"));
    }
    for (label, verdict) in verdicts {
        let label = if label.is_empty() { "unnamed" } else { label };
        wrote(writeln!(out, "machine {}\n", label.escape_debug()))?;
        print_verdict(args, verdict, out)?;
        wrote(writeln!(out))?;
    }
    Ok(())
}

fn print_run(args: &ExplainArgs, record: &RunRecord, out: &mut impl Write) -> Result<()> {
    if args.svg.is_some() {
        let what = "this is one run, and no rounds decided anything in it";
        return Err(Fault::at_flag("--svg", what, "take the flag out"));
    }
    let (format, style) = match args.format {
        PageFormat::Terminal => (report::Format::Terminal, style::of_stdout()),
        PageFormat::Json => (report::Format::Json, Style::PLAIN),
    };
    let mut text = Vec::new();
    wrote(report::record(record, &Options { format, style, all: true }, &mut text))?;
    if args.format == PageFormat::Terminal {
        wrote(writeln!(text, "\nOne run by itself has no verdict: `gbench-ci compare` gives one."))?;
    }
    wrote(out.write_all(&text).and_then(|()| out.flush()))
}

fn print_verdict(args: &ExplainArgs, verdict: &ExplainedVerdict, out: &mut impl Write) -> Result<()> {
    let (rows, rowless) = verdict.rows()?;
    if let Some(path) = &args.svg {
        let drawn: Vec<&Explained> = rows.iter().filter(|row| row.trace.is_some()).collect();
        match drawn.as_slice() {
            [one] => write_atomically(path, rendering::svg(one).as_bytes())?,
            [] => {
                let what = "no rounds decided what is explained, so there is nothing to draw";
                return Err(Fault::at_flag("--svg", what, "take the flag out: the words say why"));
            }
            several => {
                let what = format!("{} rows are explained, and an image shows one", several.len());
                return Err(Fault::at_flag("--svg", what, "narrow them with CASE and `--metric`"));
            }
        }
    }
    let mut text = Vec::new();
    wrote(match args.format {
        PageFormat::Terminal => rendering::terminal(&rows, &rowless, style::of_stdout(), args.all, &mut text),
        PageFormat::Json => rendering::json(&verdict.document, &rows, &rowless, &mut text),
    })?;
    wrote(out.write_all(&text).and_then(|()| out.flush()))
}
