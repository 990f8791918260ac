//! `gbench-ci bisect`: which commit of a range made a case worse.

use std::io::Write;
use std::path::PathBuf;

use crate::app::bisect::{self, BisectRequest, Bisected};
use crate::app::reports::verdict_files::bytes_of;
use crate::cli::args::words;
use crate::cli::args::{MeasureArgs, budget};
use crate::cli::exit::of_signal;
use crate::cli::terminal::progress::reporter;
use crate::cli::terminal::style;
use crate::cli::terminal::write::{check_place, wrote};
use crate::model::{BisectAnswer, Exit, Fault, Result};
use crate::report::{BisectFormat, Style, bisection};
use crate::store::write_atomically;
use crate::suite::Benchmark;
use crate::suite::words::parse_ratio;

/// Find the commit that made a case worse by measuring a few commits of a range
///
/// GOOD..BAD follows first parents from GOOD to BAD; GOOD alone ends at HEAD. The default range is that of the newest
/// lasting regression of the case in the history. Each commit is checked out separately from your own files, built, and
/// measured with the suite file of BAD. A commit that does not build is skipped. The command always measures next the commit
/// that gives the most information per unit of time.
///
/// Exit codes: 0 answered: a commit, several commits that cannot be distinguished, or nothing became worse; 3 undecided;
/// 4 GOOD or BAD cannot be measured.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct BisectArgs {
    /// The case, by its own name or the name of its benchmark
    #[arg(required_unless_present = "resume")]
    case: Option<String>,
    /// Commits: GOOD..BAD, GOOD...BAD or GOOD [default: that of the newest lasting regression in the history]
    #[arg(value_name = "GOOD..BAD")]
    range: Option<String>,
    /// Metric [default: the one by which the case is judged]
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    metric: Option<String>,
    /// Answer once it is correct with this probability: 95% or 0.95 [default: 95%]
    #[arg(long, value_name = "PROBABILITY")]
    confidence: Option<String>,
    /// Time for builds and processes of this call, such as 2h [default: `budget` in [gate], else no limit]
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true)]
    budget: Option<String>,
    /// Consider all commits of the range, including those of merged branches
    #[arg(long, conflicts_with = "resume")]
    full: bool,
    /// Look for a change in either direction
    #[arg(long, conflicts_with = "resume")]
    any: bool,
    /// Continue a bisection: its id or folder [default: the latest]
    #[arg(long, value_name = "BISECTION", num_args = 0..=1, default_missing_value = "", conflicts_with = "case")]
    resume: Option<String>,
    /// Measure all commits with this suite file instead of the one in BAD
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    suite_file: Option<PathBuf>,
    /// Let the code of all commits write wherever you can; see docs/security.md
    #[arg(long)]
    no_sandbox: bool,
    /// Store instead of the suite file's: dir:PATH, git:BRANCH, github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
    /// What to print
    #[arg(long, value_parser = words::<BisectFormat>(), default_value = "terminal")]
    format: BisectFormat,
    /// Also write the answer as Markdown to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    measure: MeasureArgs,
}

pub(crate) fn run(args: &BisectArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    check_place("--markdown", args.markdown.as_deref())?;
    let request = BisectRequest {
        case: args.case.clone(),
        range: args.range.clone(),
        metric: args.metric.clone(),
        run: args.measure.request()?,
        store: args.store.clone(),
        suite_file: args.suite_file.clone(),
        no_sandbox: args.no_sandbox,
        resume: args.resume.clone(),
        budget: budget(&args.budget)?,
        confidence: args.confidence.as_deref().map(confidence).transpose()?,
        full: args.full,
        any: args.any,
    };
    let bisected = bisect::bisect(&request, builtins, &reporter(args.measure.is_quiet()))?;
    let write = |format, style: Style, to: &mut dyn Write| {
        bisection(&bisected.document, bisected.resume.as_deref(), format, style, to)
    };
    if let Some(path) = &args.markdown {
        write_atomically(path, &bytes_of(|bytes| write(BisectFormat::Markdown, Style::PLAIN, bytes))?)?;
    }
    wrote(write(args.format, style::of_stdout(), out).and_then(|()| out.flush()))?;
    Ok(exit(&bisected))
}

fn exit(bisected: &Bisected) -> Exit {
    match (bisected.interrupted, bisected.document.answer) {
        (Some(signal), _) => of_signal(signal),
        (None, BisectAnswer::Commit | BisectAnswer::Commits | BisectAnswer::Nothing) => Exit::Pass,
        (None, BisectAnswer::Undecided | BisectAnswer::Interrupted) => Exit::Inconclusive,
    }
}

fn confidence(text: &str) -> Result<f64> {
    let flag = format!("--confidence {text}");
    let next = "give a probability from 50% to 99.99%";
    let found = parse_ratio(text).map_err(|what| Fault::at_flag(flag.clone(), what, next))?;
    if (0.5..=0.9999).contains(&found) {
        Ok(found)
    } else {
        Err(Fault::at_flag(flag, "this is not a probability that measuring can reach", next))
    }
}
