//! `gbench-ci merge`: what the jobs of a matrix measured becomes one answer.

use std::io::Write;
use std::path::PathBuf;

use crate::app::compare::fail_on::{FailOn, decide};
use crate::app::github::merge::{MergeResult, merge};
use crate::app::paths::shown;
use crate::cli::args::format_parser;
use crate::cli::terminal::style;
use crate::cli::terminal::write::{beside_report, wrote};
use crate::compare::Absence;
use crate::github::commands;
use crate::model::{Exit, Result};
use crate::report::github::untouched_words;
use crate::report::{Format, Input, Options};

/// Merge the results of the jobs of a matrix into one verdict or one record
///
/// A part is the folder of a comparison (or its uploaded files: job.json and reports/), or a folder that contains several.
/// The shards of one machine become one verdict; machines are listed side by side, each under its label. The machine and
/// shard of a part come from its job.json; without it, each part is a separate machine, named after its folder. The folders
/// of runs become one record.
///
/// The merged verdict fails if a shard or the verdict of a part is missing, or if there are fewer parts than --expect. If no
/// part measured anything because the change touches nothing that is measured, that is reported and nothing is written.
///
/// Exit codes: that of the most severe part; 3 at least if parts are pending; 4 also if something is missing or nothing was
/// merged; 2 if the parts do not belong together.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct MergeArgs {
    /// Folder of a comparison or a run, or a folder that contains several
    #[arg(required = true, value_name = "PART")]
    parts: Vec<PathBuf>,
    /// Folder for merged.json, or for the merged record
    #[arg(long, short, value_name = "DIR", default_value = "merged")]
    output: PathBuf,
    /// Number of parts (results of matrix jobs) that must be present
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    expect: Option<u32>,
    /// Merge the parts that have come so far: the others are pending, not missing. The verdict is not green before all have
    /// come
    #[arg(long, requires = "expect", conflicts_with = "measured")]
    partial: bool,
    /// Result of the measuring jobs as GitHub reports it: if it is not `success` and no part explains why, the merged
    /// verdict counts as incomplete
    #[arg(long, value_name = "RESULT")]
    measured: Option<String>,
    /// Classes of results with an exit code other than 0: regression, inconclusive, failed; `none` for no class [default: as
    /// in the parts]
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// What to print
    #[arg(long, default_value = "terminal", value_parser = format_parser())]
    format: Format,
    /// Show unchanged rows in full
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &MergeArgs, out: &mut impl Write) -> Result<Exit> {
    let (parts, measured) = (&args.parts, args.measured.as_deref());
    let absence = if args.partial { Absence::Pending } else { Absence::Missing };
    let merged = merge(parts, &args.output, args.expect, measured, &args.fail_on, absence)?;
    show_merged(merged, args.format, args.all, out)
}

/// Prints what the parts became. Returns the exit code of the most severe.
pub(crate) fn show_merged(
    merged: MergeResult,
    format: Format,
    all: bool,
    out: &mut impl Write,
) -> Result<Exit> {
    match merged {
        MergeResult::Untouched(job) => {
            let words = job.untouched.as_ref().map(untouched_words).unwrap_or_default();
            beside_report(format, &commands::line(&words), out)?;
            Ok(Exit::Pass)
        }
        MergeResult::Verdict { merged, path, fail_on } => {
            let (counts, conclusion, is_pending) =
                (merged.counts.clone(), merged.conclusion, merged.is_pending());
            let gate = print(&Input::Merged(merged), format, all, out)?;
            beside_report(format, &format!("merged {}", shown(&path)), out)?;
            let exit = decide(&fail_on, &counts, conclusion, gate);
            // Whatever fails the job: a verdict that waits for parts is not green.
            Ok(if is_pending { exit.most_severe(Exit::Inconclusive) } else { exit })
        }
        MergeResult::Record { record, path, incomplete } => {
            let exit = print(&Input::Record(record), format, all, out)?;
            beside_report(format, &format!("record {}", shown(&path)), out)?;
            Ok(if incomplete { exit.most_severe(Exit::Failed) } else { exit })
        }
    }
}

fn print(input: &Input, format: Format, all: bool, out: &mut impl Write) -> Result<Exit> {
    let options = Options { format, style: style::of_stdout(), all };
    wrote(input.render(&options, out).and_then(|()| out.flush()))?;
    Ok(input.exit().unwrap_or(Exit::Internal))
}
