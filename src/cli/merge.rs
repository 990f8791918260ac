//! `gbench-ci merge`: what the jobs of a matrix measured becomes one answer. The parts are read as
//! [`super::artifact`] reads what strangers packed: they come from other machines.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::args::format_parser;
use super::artifact::{Contents, read_folder, too_few};
use super::ci::{FailOn, decide_by};
use super::outputs;
use super::terminal::style;
use super::terminal::write::wrote;
use crate::app::paths::shown;
use crate::app::subject::MERGED;
use crate::compare::{Merged, MissingPart, merge_records};
use crate::github::commands;
use crate::model::{Exit, Fault, Job, Result, RunRecord};
use crate::report::github::untouched_words;
use crate::report::{Format, Input, Options, Style};
use crate::store::{RunFolder, create_ignored_dir, read_record, write_atomically};

const JOB: &str = "job.json";

/// Merge what the jobs of a matrix measured into one verdict, or one record
///
/// A part is the folder of a comparison (or what was uploaded of it: job.json and reports/), or a folder that holds
/// several. The shards of one machine become one verdict; machines stand side by side, each under its label. job.json says
/// which is which; without it each part is a machine of its own, called as its folder is. The folders of runs become one
/// record.
///
/// What is missing makes the merged verdict fail: a shard, a part without a verdict, fewer parts than --expect. Where no part
/// measured anything because nothing that it measures was touched, that is said and nothing is written.
///
/// Exit codes: that of the gravest part; 4 also where something is missing or nothing was merged; 2 where parts do not belong
/// together.
#[derive(clap::Args, Clone, Debug)]
pub struct MergeArgs {
    /// Folder of a comparison or a run, or one that holds several
    #[arg(required = true, value_name = "PART")]
    parts: Vec<PathBuf>,
    /// Folder for merged.json, or for the merged record
    #[arg(long, short, value_name = "DIR", default_value = "merged")]
    output: PathBuf,
    /// How many parts there must be
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    expect: Option<u32>,
    /// How the measuring jobs ended, as GitHub has it: where it is not `success` and no part says why, something is missing
    #[arg(long, value_name = "RESULT")]
    measured: Option<String>,
    /// What gives an exit code other than 0: regression, inconclusive, failed; or none [default: what the parts were told]
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// What to print
    #[arg(long, default_value = "terminal", value_parser = format_parser())]
    format: Format,
    /// Show unchanged rows in full
    #[arg(long)]
    all: bool,
}

pub fn run(args: &MergeArgs, out: &mut impl Write) -> Result<Exit> {
    let mut contents = Contents::default();
    let mut runs = Vec::new();
    for part in &args.parts {
        let mut found = read_folder(part)?;
        if let Some((name, ..)) =
            found.merged.iter().find(|_| found.parts.is_empty() && found.gaps.is_empty())
        {
            let what = format!("`{name}` is what a merge wrote, and a merge takes the parts");
            return Err(Fault::at_path(part, what, "name the folders that it was made of"));
        }
        // The output of an earlier merge among its own parts is no part.
        found.merged.clear();
        runs.extend(found.runs.iter().map(|run| part.join(run)));
        contents.extend(found);
    }
    match (runs.is_empty(), contents.parts.first().map(|part| part.name.as_str())) {
        (false, Some(comparison)) => {
            let what = format!("`{}` is a run, and `{comparison}` is a comparison", shown(&runs[0]));
            Err(Fault::at("merge", what, "merge runs with runs, and comparisons with comparisons"))
        }
        (false, None) => records(args, &runs, &contents.gaps, out),
        (true, _) => verdicts(args, contents, out),
    }
}

fn verdicts(args: &MergeArgs, contents: Contents, out: &mut impl Write) -> Result<Exit> {
    if let Some(job) = contents.all_untouched(args.expect, args.measured.as_deref()) {
        outputs::of_untouched()?;
        let words = job.untouched.as_ref().map(untouched_words).unwrap_or_default();
        say(args.format, &commands::line(&words), out)?;
        return Ok(Exit::Pass);
    }
    let contents = contents.held_to(args.expect, args.measured.as_deref())?;
    let (merged, job) = contents.whole()?;
    let path = write(&args.output, &merged, job.as_ref())?;
    let told = job.iter().flat_map(|job| &job.fail_on).filter_map(|word| FailOn::from_word(word));
    let listed: Vec<FailOn> = if args.fail_on.is_empty() { told.collect() } else { args.fail_on.clone() };
    let (counts, conclusion) = (merged.counts.clone(), merged.conclusion);
    let page = Input::Merged(Box::new(merged));
    let mut report = Vec::new();
    let options = Options { format: Format::Markdown, style: Style::PLAIN, all: true };
    wrote(page.render(&options, &mut report))?;
    let report_path = args.output.join("merged.md");
    write_atomically(&report_path, &report)?;
    outputs::of_answer(conclusion, &counts)?;
    outputs::set(&[("report", shown(&report_path))])?;
    let gate = print(&page, args, out)?;
    say(args.format, &format!("merged {}", shown(&path)), out)?;
    Ok(decide_by(&listed, &counts, conclusion, gate))
}

/// Writes the merged document, and the job that stands for all. Gives the document's path.
fn write(folder: &Path, merged: &Merged, job: Option<&Job>) -> Result<PathBuf> {
    prepare(folder)?;
    let path = folder.join(MERGED);
    let text = |value: serde_json::Result<Vec<u8>>| {
        let fault = |error| Fault::defect(folder.display().to_string(), error);
        value
            .map(|mut text| {
                text.push(b'\n');
                text
            })
            .map_err(fault)
    };
    write_atomically(&path, &text(serde_json::to_vec_pretty(merged))?)?;
    match job {
        Some(job) => write_atomically(&folder.join(JOB), &text(serde_json::to_vec_pretty(job))?)?,
        // Of an earlier merge in the same folder.
        None => drop(std::fs::remove_file(folder.join(JOB))),
    }
    Ok(path)
}

fn prepare(folder: &Path) -> Result<()> {
    create_ignored_dir(folder).map_err(|error| {
        Fault::at_path(folder, format!("cannot be made: {error}"), "name a writable folder with `--output`")
            .caused_by(&error)
    })
}

fn records(args: &MergeArgs, runs: &[PathBuf], gaps: &[MissingPart], out: &mut impl Write) -> Result<Exit> {
    let read = |path: &PathBuf| Ok((shown(path), read_record(path)?));
    let parts: Vec<(String, RunRecord)> = runs.iter().map(read).collect::<Result<_>>()?;
    let found = parts.len();
    let (mut record, missing) = merge_records(parts)?;
    let gaps: Vec<String> =
        gaps.iter().cloned().chain(too_few(args.expect, found)).map(|gap| gap.what).collect();
    let incomplete = !missing.is_empty() || !gaps.is_empty();
    record.warnings.splice(0..0, gaps);
    if args.output.exists() {
        let next = "name another folder with `--output`, or take this one away";
        return Err(Fault::at_path(&args.output, "something lies here already", next));
    }
    if let Some(above) = args.output.parent().filter(|above| !above.as_os_str().is_empty()) {
        prepare(above)?;
    }
    let path = RunFolder::create(&args.output, &record)?.finish(&record)?;
    let exit = print(&Input::Record(Box::new(record)), args, out)?;
    say(args.format, &format!("record {}", shown(&path)), out)?;
    Ok(if incomplete { exit.most_severe(Exit::Failed) } else { exit })
}

fn print(input: &Input, args: &MergeArgs, out: &mut impl Write) -> Result<Exit> {
    let style: Style = style::of_stdout();
    let options = Options { format: args.format, style, all: args.all };
    wrote(input.render(&options, out).and_then(|()| out.flush()))?;
    Ok(input.exit().unwrap_or(Exit::Internal))
}

/// Standard output is the document's alone, unless a person reads it.
fn say(format: Format, text: &str, out: &mut impl Write) -> Result<()> {
    match format {
        Format::Terminal => wrote(writeln!(out, "\n{text}")),
        _ => wrote(writeln!(std::io::stderr(), "{text}")),
    }
}
