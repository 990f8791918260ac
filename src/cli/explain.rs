//! `gbench-ci explain`: the whole argument for the verdicts of one case.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use super::compare::policy;
use super::comparison::{Kept, PlaceArgs};
use super::look;
use super::output::{check_place, wrote};
use crate::compare::{
    Argument, Policy, SeqE, SideInput, VerdictDocument, arguments_of, compare_sides, named_sides, verdict_of,
};
use crate::model::{CaseId, Exit, Fault, Result};
use crate::report::explain::{self, Explained, Rowless};
use crate::store::write_atomically;
use crate::suite::words::{listed, near};
use crate::suite::{Benchmark, fitting};

/// Explain why a case has its verdict: round by round, in words, figures and a picture
///
/// Exit codes: 0 explained, whatever the verdict is; 2 no such case or comparison, or records that cannot be read; 4
/// records that do not hold what they say of themselves.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The case as reports name it, its benchmark, or a glob
    case: String,
    /// A comparison's folder or id [default: the latest one]
    #[arg(conflicts_with_all = ["base", "head", "control"])]
    comparison: Option<String>,
    /// The record of the base, instead of a comparison
    #[arg(long, value_name = "FILE", requires = "head")]
    base: Option<PathBuf>,
    /// The record of the head
    #[arg(long, value_name = "FILE", requires = "base")]
    head: Option<PathBuf>,
    /// The record of the control
    #[arg(long, value_name = "FILE", requires = "base")]
    control: Option<PathBuf>,
    /// Only the metrics that this glob fits
    #[arg(long, value_name = "GLOB")]
    metric: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Also draw the rounds of the one row that is explained
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// What to print
    #[arg(long, default_value = "terminal")]
    format: Format,
    /// Show every round in a table
    #[arg(long)]
    all: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Terminal,
    Json,
}

pub fn run(args: &Args, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    check_place("--svg", args.svg.as_deref())?;
    let kept = match (&args.base, &args.head) {
        (Some(base), Some(head)) => Kept::read(base, head, args.control.as_deref())?,
        _ => Kept::find(args.comparison.as_deref(), &args.place, builtins)?,
    };
    let cases = cases(&args.case, &kept)?;
    let (document, arguments) = judged(args, &kept, &cases)?;
    let mut by_row: HashMap<(&CaseId, &str), &Argument> = HashMap::new();
    by_row.extend(arguments.iter().map(|argument| ((&argument.case, argument.metric.as_str()), argument)));
    let fits = args.metric.as_deref().map(|glob| fitting("--metric", glob)).transpose()?;
    // A case that failed has a row without a metric, which speaks for each of them.
    let wanted = |metric: &str| metric.is_empty() || fits.as_ref().is_none_or(|fits| fits(metric));
    let of_case: Vec<_> = document.rows.iter().filter(|row| cases.contains(&row.case)).collect();
    let rows: Vec<Explained> = of_case
        .iter()
        .filter(|row| wanted(&row.metric))
        .map(|row| Explained {
            document: &document,
            row,
            argument: by_row
                .get(&(&row.case, row.metric.as_str()))
                .copied()
                .filter(|_| row.sequence.is_some()),
        })
        .collect();
    if let (true, false, Some(glob)) = (rows.is_empty(), of_case.is_empty(), &args.metric) {
        let known: Vec<&str> = of_case.iter().map(|row| row.metric.as_str()).collect();
        let next = format!("use one of {}", listed(&known));
        return Err(Fault::at_flag(format!("--metric {glob}"), "no metric of the case is called so", next));
    }
    let rowless: Vec<Rowless> = cases
        .iter()
        .filter(|case| !of_case.iter().any(|row| row.case == **case))
        .map(|case| Rowless { case, reason: why_no_row(&document) })
        .collect();
    if let Some(path) = &args.svg {
        let drawn: Vec<&Explained> = rows.iter().filter(|row| row.argument.is_some()).collect();
        match drawn.as_slice() {
            [one] => write_atomically(path, explain::svg(one).as_bytes())?,
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
        Format::Terminal => explain::terminal(&rows, &rowless, look::of_stdout(), args.all, &mut text),
        Format::Json => explain::json(&document, &rows, &rowless, &mut text),
    })?;
    wrote(out.write_all(&text).and_then(|()| out.flush()))?;
    Ok(Exit::Pass)
}

/// The verdict of the records, and the argument of every wanted row that rounds decided.
fn judged(args: &Args, kept: &Kept, cases: &[CaseId]) -> Result<(VerdictDocument, Vec<Argument>)> {
    let in_rounds = kept.base.comparison.as_deref().filter(|_| kept.head.comparison.is_some());
    let Some(comparison) = in_rounds else {
        // Records that were measured apart: judged as `compare BASE HEAD` judges them without a suite file.
        let name = |path: &Option<PathBuf>, usual: &str| {
            path.as_ref().map_or(usual.to_owned(), |path| path.display().to_string())
        };
        let base = SideInput { record: &kept.base, name: name(&args.base, "base") };
        let head = SideInput { record: &kept.head, name: name(&args.head, "head") };
        return Ok((compare_sides(&base, &head, None, &policy(None, None))?, Vec::new()));
    };
    let document = verdict_of(&kept.base, &kept.head, kept.control.as_ref())?;
    let [base, head] = named_sides(&kept.base, &kept.head, comparison);
    let rule = SeqE::of(comparison).ended_as(comparison, [&kept.base, &kept.head]);
    let arguments = arguments_of(&rule, &base, &head, &Policy::of(comparison), |id| cases.contains(id))?;
    Ok((document, arguments))
}

/// The cases that the words mean: by their whole name, else by benchmark, else by glob.
fn cases(text: &str, kept: &Kept) -> Result<Vec<CaseId>> {
    let mut all: Vec<&CaseId> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let sides = [&kept.base, &kept.head].into_iter().flat_map(|record| &record.cases);
    all.extend(sides.map(|case| &case.id).filter(|id| seen.insert(*id)));
    let chosen = |fits: &dyn Fn(&CaseId) -> bool| -> Vec<CaseId> {
        all.iter().filter(|id| fits(id)).map(|id| (*id).clone()).collect()
    };
    let exact = chosen(&|id| id.to_string() == text);
    if !exact.is_empty() {
        return Ok(exact);
    }
    let of_benchmark = chosen(&|id| id.benchmark.as_str() == text || id.benchmark.name() == text);
    if !of_benchmark.is_empty() {
        return Ok(of_benchmark);
    }
    // A name such as `gemm[n=8]` is a glob too, of something else; one that is no glob at all fits nothing.
    let fits = fitting(text, text).ok();
    let by_glob = chosen(&|id| {
        let names = [id.to_string(), id.benchmark.to_string(), id.benchmark.name().to_owned()];
        fits.as_ref().is_some_and(|fits| names.iter().any(|name| fits(name)))
    });
    if !by_glob.is_empty() {
        return Ok(by_glob);
    }
    let known: Vec<String> = all.iter().map(|id| id.to_string()).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let next = match near(text, &known).as_slice() {
        [] if known.is_empty() => "give a comparison that holds cases".to_owned(),
        [] => format!("use one of {}", listed(&known)),
        [one] => format!("write `{one}`"),
        several => format!("write one of {}", listed(several)),
    };
    Err(Fault::at_flag(text, "no case of the comparison is called so", next))
}

/// Why a case of the records has no row.
fn why_no_row(document: &VerdictDocument) -> String {
    match document.differences.iter().any(|difference| difference.strict) {
        true => document.sentence.clone(),
        false => {
            "it has no row, for neither side measured it, or its metrics are shown and not judged (`gate = \
                  false`); the warnings of `gbench-ci replay` name it"
                .into()
        }
    }
}
