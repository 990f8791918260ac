//! `gbench-ci replay`: the verdicts of a comparison in rounds, from its records alone, held against those that are stored.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::app::paths::shown;
use crate::app::reports::replay::{Agreement, held_against};
use crate::app::reports::verdict_files::{exit_from, rendered, write_as};
use crate::app::store::comparison::StoredComparison;
use crate::cli::args::{ArtifactsArgs, format_parser};
use crate::cli::terminal::style;
use crate::cli::terminal::write::{beside_report, check_place, wrote};
use crate::model::{Exit, Fault, Result};
use crate::report::Format;
use crate::suite::Benchmark;

/// Recompute the verdict of a comparison in rounds from its records alone
///
/// Clock, machine and folder do not matter: the same records give the same verdict, bit for bit. First the records are
/// checked for consistency: their fingerprints, their rounds, and the order that follows from the seed. If the comparison
/// has kept its verdict (reports/verdict.json), the replayed verdict is compared with it.
///
/// Exit codes: those of `compare`; 4 also if the records fail their own consistency checks, or if the kept verdict differs
/// from the replayed one.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ReplayArgs {
    /// A comparison (folder or id), or the records of base and head [default: the latest comparison]
    #[arg(num_args = 0..=2, value_names = ["COMPARISON|BASE", "HEAD"])]
    what: Vec<String>,
    /// The record of the control, in addition to BASE and HEAD
    #[arg(long, value_name = "FILE")]
    control: Option<PathBuf>,
    #[command(flatten)]
    place: ArtifactsArgs,
    /// What to print
    #[arg(long, default_value = "terminal", value_parser = format_parser())]
    format: Format,
    /// Show unchanged rows in full
    #[arg(long)]
    all: bool,
    /// Also write the verdict as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &ReplayArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    check_place("--json", args.json.as_deref())?;
    let stored = match args.what.as_slice() {
        [base, head] => StoredComparison::read(Path::new(base), Path::new(head), args.control.as_deref())?,
        _ if args.control.is_some() => {
            let next = "take it out, or name the records of base and head";
            return Err(Fault::at_flag("--control", "a comparison brings its own control", next));
        }
        what => StoredComparison::find(what.first().map(String::as_str), &args.place.request(), builtins)?,
    };
    let document = stored.verdict()?;
    if let Some(path) = &args.json {
        write_as(Format::Json, &document, path)?;
    }
    let text = rendered(&document, args.format, style::of_stdout(), args.all)?;
    wrote(out.write_all(&text).and_then(|()| out.flush()))?;
    let Some(path) = stored.verdict_file() else { return Ok(exit_from(&document)) };
    let agrees = match held_against(&document, &path)? {
        Agreement::Identical => "identical to",
        Agreement::SameFigures => "the same in every figure as",
        Agreement::OtherVersion => "the same, by another version, as",
    };
    beside_report(args.format, &format!("replayed {agrees} {}", shown(&path)), out)?;
    Ok(exit_from(&document))
}
