//! `gbench-ci explain`: the whole argument for the verdicts of one case.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use super::args::ArtifactsArgs;
use super::terminal::style;
use super::terminal::write::{check_place, wrote};
use crate::app::compare_records::policy;
use crate::app::kept_comparison::Kept;
use crate::app::subject::Subject;
use crate::compare::{
    DecisionTrace, Group, Merged, Policy, SeqE, SideInput, VerdictDocument, compare_sides,
    decision_traces_of, named_sides, verdict_of,
};
use crate::model::{CaseId, Exit, Fault, Result, RunRecord, near};
use crate::report::explain::{self, Explained, Rowless};
use crate::report::{self, Input, Options, Style};
use crate::store::write_atomically;
use crate::suite::words::listed;
use crate::suite::{Benchmark, fitting};

/// Explain why a case has its verdict: round by round, in words, figures and a picture
///
/// Exit codes: 0 explained, whatever the verdict is; 2 no such case or comparison, or records that cannot be read; 4
/// records that do not hold what they say of themselves.
#[derive(clap::Args, Clone, Debug)]
pub struct ExplainArgs {
    /// The case as reports name it, its benchmark, or a glob
    case: String,
    /// A comparison or a run by its folder or id, a verdict, a run record, or the folder of a merge [default: the latest
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
    /// Only the metrics that this glob fits
    #[arg(long, value_name = "GLOB")]
    metric: Option<String>,
    #[command(flatten)]
    place: ArtifactsArgs,
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

pub fn run(args: &ExplainArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    check_place("--svg", args.svg.as_deref())?;
    let subject = match (&args.base, &args.head) {
        (Some(base), Some(head)) => {
            let kept = Kept::read(base, head, args.control.as_deref())?;
            return explain_kept(args, &kept, out);
        }
        _ => Subject::find(args.what.as_deref(), &args.place.request(), builtins)?,
    };
    match subject {
        Subject::Comparison(kept, _) => explain_kept(args, &kept, out),
        Subject::Document(Input::Verdict(document)) => explain_verdict(args, &document, out),
        Subject::Document(Input::Merged(merged)) => explain_merged(args, &merged, out),
        Subject::Document(Input::Record(record)) => explain_record(args, *record, out),
    }
}

/// From the records, with the whole argument.
fn explain_kept(args: &ExplainArgs, kept: &Kept, out: &mut impl Write) -> Result<Exit> {
    let sides = [&kept.base, &kept.head].into_iter().flat_map(|record| &record.cases);
    let cases = cases(&args.case, sides.map(|case| &case.id))?;
    let (document, traces) = judged(args, kept, &cases)?;
    tell(args, &cases, &document, &traces, out)
}

/// From a verdict alone: what its rows say.
fn explain_verdict(args: &ExplainArgs, document: &VerdictDocument, out: &mut impl Write) -> Result<Exit> {
    let cases = cases(&args.case, document.rows.iter().map(|row| &row.case))?;
    tell(args, &cases, document, &[], out)
}

/// From the verdicts of several machines: of each that has the case.
fn explain_merged(args: &ExplainArgs, merged: &Merged, out: &mut impl Write) -> Result<Exit> {
    if let [only] = merged.groups.as_slice() {
        return explain_verdict(args, &only.verdict, out);
    }
    if args.format == Format::Json || args.svg.is_some() {
        let flag = if args.svg.is_some() { "--svg" } else { "--format json" };
        let what = format!("it shows one verdict, and here are those of {} machines", merged.groups.len());
        return Err(Fault::at_flag(flag, what, "take it out, or give the verdict of one machine"));
    }
    let rows = || merged.groups.iter().flat_map(|group| &group.verdict.rows);
    let cases = cases(&args.case, rows().map(|row| &row.case))?;
    let has = |group: &&Group| group.verdict.rows.iter().any(|row| cases.contains(&row.case));
    for group in merged.groups.iter().filter(has) {
        let label = if group.label.is_empty() { "unnamed" } else { &group.label };
        wrote(writeln!(out, "machine {}\n", label.escape_debug()))?;
        let rows = group.verdict.rows.iter().map(|row| &row.case);
        let own: Vec<CaseId> = rows.filter(|case| cases.contains(case)).cloned().collect();
        tell(args, &own, &group.verdict, &[], out)?;
        wrote(writeln!(out))?;
    }
    Ok(Exit::Pass)
}

/// From one run, which has no verdict: what became of the case, and its figures.
fn explain_record(args: &ExplainArgs, mut record: RunRecord, out: &mut impl Write) -> Result<Exit> {
    if args.svg.is_some() {
        let what = "this is one run, and no rounds decided anything in it";
        return Err(Fault::at_flag("--svg", what, "take the flag out"));
    }
    let cases = cases(&args.case, record.cases.iter().map(|case| &case.id))?;
    record.cases.retain(|case| cases.contains(&case.id));
    if let Some(glob) = &args.metric {
        let fits = fitting("--metric", glob)?;
        let known: Vec<String> =
            record.cases.iter().flat_map(|case| &case.metrics).map(|metric| metric.name.clone()).collect();
        if !known.is_empty() && !known.iter().any(|name| fits(name)) {
            return Err(no_metric(glob, &known.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        record.cases.iter_mut().for_each(|case| case.metrics.retain(|metric| fits(&metric.name)));
    }
    let (format, style) = match args.format {
        Format::Terminal => (report::Format::Terminal, style::of_stdout()),
        Format::Json => (report::Format::Json, Style::PLAIN),
    };
    let mut text = Vec::new();
    wrote(report::record(&record, &Options { format, style, all: true }, &mut text))?;
    if args.format == Format::Terminal {
        wrote(writeln!(text, "\nOne run by itself has no verdict: `gbench-ci compare` gives one."))?;
    }
    wrote(out.write_all(&text).and_then(|()| out.flush()))?;
    Ok(Exit::Pass)
}

/// Writes what the document says of the cases, with the arguments that are at hand.
fn tell(
    args: &ExplainArgs,
    cases: &[CaseId],
    document: &VerdictDocument,
    traces: &[DecisionTrace],
    out: &mut impl Write,
) -> Result<Exit> {
    let mut by_row: HashMap<(&CaseId, &str), &DecisionTrace> = HashMap::new();
    by_row.extend(traces.iter().map(|trace| ((&trace.case, trace.metric.as_str()), trace)));
    let fits = args.metric.as_deref().map(|glob| fitting("--metric", glob)).transpose()?;
    // A case that failed has a row without a metric, which speaks for each of them.
    let wanted = |metric: &str| metric.is_empty() || fits.as_ref().is_none_or(|fits| fits(metric));
    let of_case: Vec<_> = document.rows.iter().filter(|row| cases.contains(&row.case)).collect();
    let rows: Vec<Explained> = of_case
        .iter()
        .filter(|row| wanted(&row.metric))
        .map(|row| Explained {
            document,
            row,
            trace: by_row.get(&(&row.case, row.metric.as_str())).copied().filter(|_| row.sequence.is_some()),
        })
        .collect();
    if let (true, false, Some(glob)) = (rows.is_empty(), of_case.is_empty(), &args.metric) {
        return Err(no_metric(glob, &of_case.iter().map(|row| row.metric.as_str()).collect::<Vec<_>>()));
    }
    let rowless: Vec<Rowless> = cases
        .iter()
        .filter(|case| !of_case.iter().any(|row| row.case == **case))
        .map(|case| Rowless { case, reason: why_no_row(document) })
        .collect();
    if let Some(path) = &args.svg {
        let drawn: Vec<&Explained> = rows.iter().filter(|row| row.trace.is_some()).collect();
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
        Format::Terminal => explain::terminal(&rows, &rowless, style::of_stdout(), args.all, &mut text),
        Format::Json => explain::json(document, &rows, &rowless, &mut text),
    })?;
    wrote(out.write_all(&text).and_then(|()| out.flush()))?;
    Ok(Exit::Pass)
}

fn no_metric(glob: &str, known: &[&str]) -> Fault {
    let next = format!("use one of {}", listed(known));
    Fault::at_flag(format!("--metric {glob}"), "no metric of the case is called so", next)
}

/// The verdict of the records, and the argument of every wanted row that rounds decided.
fn judged(
    args: &ExplainArgs,
    kept: &Kept,
    cases: &[CaseId],
) -> Result<(VerdictDocument, Vec<DecisionTrace>)> {
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
    let traces = decision_traces_of(&rule, &base, &head, &Policy::of(comparison), |id| cases.contains(id))?;
    Ok((document, traces))
}

/// The cases that the words mean: by their whole name, else by benchmark, else by glob.
fn cases<'c>(text: &str, ids: impl Iterator<Item = &'c CaseId>) -> Result<Vec<CaseId>> {
    let mut seen = std::collections::HashSet::new();
    let all: Vec<&CaseId> = ids.filter(|id| seen.insert(*id)).collect();
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
        [] if known.is_empty() => "give a comparison or a run that holds cases".to_owned(),
        [] => format!("use one of {}", listed(&known)),
        [one] => format!("write `{one}`"),
        several => format!("write one of {}", listed(several)),
    };
    Err(Fault::at_flag(text, "no case is called so there", next))
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
