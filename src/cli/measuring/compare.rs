//! `gbench-ci compare`: two commits in rounds, two records, or a stored baseline against a fresh run become one verdict;
//! with a release baseline, two.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::foreign_flags::refuse_others;
use crate::app::compare::commits::{self, MeasuredCommits};
use crate::app::compare::records::{self, ComparedRecords, RecordsRequest};
use crate::app::compare::target::{CompareTarget, RecordSides, target};
use crate::app::github::matrix::most_shards;
use crate::app::github::merge::merge;
use crate::app::ingest::AUTO;
use crate::app::launch::{ClusterLaunch, LaunchRequest, full_range, launcher_options};
use crate::app::paths::shown;
use crate::app::progress::Reporter;
use crate::app::reports::site::write_verdict_page;
use crate::app::reports::verdict_files::{anchor_beside, exit_from, rendered, write_as};
use crate::app::request::{CommitsRequest, LocalSuite, RunRequest};
use crate::app::shards::{Balance, balanced, named, of_store};
use crate::app::store::stores::Stores;
use crate::cli::args::{
    BalanceArgs, GivenFlags, IngestArgs, LauncherArgs, MeasureArgs, ProfileArgs, RoundsArgs, SweepArgs,
    SweepFilterArgs, format_parser,
};
use crate::cli::args::{sweep, words_of_jobs};
use crate::cli::exit::{of_run, of_signal, with_profiles};
use crate::cli::github::merge::show_merged;
use crate::cli::terminal::progress::reporter;
use crate::cli::terminal::style;
use crate::cli::terminal::write::{check_place, wrote};
use crate::compare::{Absence, VerdictDocument};
use crate::model::text::count;
use crate::model::{Exit, Fault, Result};
use crate::report::{Format, Options, SweepTables};
use crate::suite::plan::ShardPlan;
use crate::suite::{Benchmark, LauncherKind, LauncherOptions};

/// Compare two commits, a baseline with a fresh run, or two records
///
/// Commits are checked out separately from your own files, built, and measured against each other in rounds until the
/// verdict is clear. `compare main` compares the point where the working tree left main with the working tree; `compare`
/// alone does the same for the default branch. A..B compares the commits A and B, A...B the merge base of A and B with B,
/// and A.. the commit A with the working tree.
///
/// A stored baseline (by name), a record or a run's folder is compared with a fresh run, or with a second record.
///
/// Result files of other programs can be used as records, too: `compare before.json after.json`. Each file counts as one
/// process, whether it is in a folder or listed after --base or --head. docs/formats.md lists the formats.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(super) given: GivenFlags,
    /// Commits: A..B, A...B, A.. or A; or a baseline's name, a record, a run's folder
    base: Option<String>,
    /// What to judge: a record or a run's folder [default: a fresh run of the suite]
    head: Option<String>,
    /// Store instead of the suite file's: dir:PATH, git:BRANCH, github:OWNER/REPO@BRANCH or s3://BUCKET/PREFIX
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
    /// What to print
    #[arg(long, default_value = "terminal", value_parser = format_parser())]
    format: Format,
    /// Show unchanged rows in full
    #[arg(long)]
    all: bool,
    /// Also write the verdict as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Put both records, every sample and both manifests, into the JSON verdict
    #[arg(long)]
    embed: bool,
    /// Also write the report as Markdown to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Also write the report as an HTML page to this file, with the rounds of the cases that changed
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Fail if a case is inconclusive: exit code 3
    #[arg(long)]
    fail_inconclusive: bool,
    /// Number of stored runs that must show how much sessions differ before a row may be green; 0: judge by processes only
    /// [default: `sessions` in [gate], else 4]
    #[arg(long, value_name = "N")]
    sessions: Option<u32>,
    /// Also compare the head with a pinned release: a baseline's name, a record or a run's folder. The more severe exit code
    /// is returned
    #[arg(long, value_name = "NAME|RECORD")]
    anchor: Option<String>,
    /// Result files of the base, each counting as one process; with --head, instead of BASE and HEAD
    #[arg(
        long = "base",
        value_name = "FILE",
        num_args = 1..,
        requires = "head_files",
        conflicts_with_all = ["base", "head"],
        help_heading = "Files of other programs"
    )]
    base_files: Vec<PathBuf>,
    /// Result files of the head, each counting as one process
    #[arg(
        long = "head",
        value_name = "FILE",
        num_args = 1..,
        requires = "base_files",
        conflicts_with_all = ["base", "head"],
        help_heading = "Files of other programs"
    )]
    head_files: Vec<PathBuf>,
    /// Format: a name from docs/formats.md, or a file NAME.toml that describes rows; `auto`: detect it from the contents, and
    /// refuse the file if it is ambiguous
    #[arg(long, value_name = "NAME", default_value = AUTO, help_heading = "Files of other programs")]
    input_format: String,
    #[command(flatten)]
    ingest: IngestArgs,
    #[command(flatten)]
    sweep: SweepArgs,
    #[command(flatten)]
    measure: MeasureArgs,
    #[command(flatten)]
    rounds: RoundsArgs,
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    launcher: LauncherArgs,
    /// Continue a comparison that was interrupted or left cases undecided: its id or folder [default: the latest]
    #[arg(
        long,
        value_name = "COMPARISON",
        num_args = 0..=1,
        default_missing_value = "",
        help_heading = "Between commits"
    )]
    resume: Option<String>,
    /// Measure both sides with this suite file instead of the file of each side; the base's file, if it has one, still
    /// decides how they are judged [default: the checkout's, if none of the compared commits has a suite file]
    #[arg(long, value_name = "FILE", conflicts_with = "config", help_heading = "Between commits")]
    suite_file: Option<PathBuf>,
}

pub(crate) fn run(args: &CompareArgs, builtins: &[Benchmark], out: &mut impl Write) -> Result<Exit> {
    let has_json = args.json.is_some() || args.format == Format::Json;
    if args.embed && args.head.is_some() && !has_json {
        let what = "no JSON verdict is asked for that could contain the records";
        return Err(Fault::at_flag("--embed", what, "add `--json FILE` or `--format json`"));
    }
    let run = args.measure.request()?;
    let stores = Stores::new(args.store.as_deref());
    let local = LocalSuite::new(&run.selection, builtins);
    let target = if args.base_files.is_empty() {
        target(args.base.as_deref(), args.head.as_deref(), &stores, &local)?
    } else {
        CompareTarget::Records(RecordSides::Files([args.base_files.clone(), args.head_files.clone()]))
    };
    refuse_others(&args.given, &target)?;
    if let CompareTarget::Records(sides) = &target
        && let Some(note) = sides.also_a_commit()
    {
        // A standard error that is closed is not a reason to stop.
        let _ = writeln!(io::stderr(), "{note}");
    }
    if args.sweep.request(&SweepFilterArgs::default())?.is_some()
        && !matches!(args.format, Format::Terminal | Format::Markdown)
    {
        let what = "the sweep's tables do not go into one document with the verdict";
        let next = "write the verdict with `--json FILE`, and look at it with `gbench-ci report FILE --by`";
        return Err(Fault::at_flag("--by, --group-by", what, next));
    }
    let outputs = [("--json", &args.json), ("--markdown", &args.markdown), ("--html", &args.html)];
    outputs.iter().try_for_each(|(flag, file)| check_place(flag, file.as_deref()))?;
    for (at, (flag, file)) in outputs.iter().enumerate() {
        if let Some((other, _)) = outputs[..at].iter().find(|(_, other)| file.is_some() && other == file) {
            let what = "the two would overwrite each other";
            return Err(Fault::at_flag(format!("{other}, {flag}"), what, "name two files"));
        }
    }
    if args.anchor.is_some() {
        anchor_fits(args.format)?;
    }
    match target {
        CompareTarget::Commits(range) => commits(args, range, run.clone(), builtins, out),
        CompareTarget::Records(sides) => {
            let request = RecordsRequest {
                sides,
                anchor: args.anchor.clone(),
                run: run.clone(),
                store: args.store.clone(),
                sessions: args.sessions,
                fail_inconclusive: args.fail_inconclusive,
                embed: args.embed,
                ingest: args.ingest.options(&args.input_format)?,
            };
            records(args, &request, &stores, &local, out)
        }
    }
}

/// The comparison as jobs of a scheduler, one for each shard, and their verdicts as one.
fn launched(
    args: &CompareArgs,
    request: &CommitsRequest,
    options: &LauncherOptions,
    builtins: &[Benchmark],
    reporter: &Reporter,
    out: &mut impl Write,
) -> Result<Exit> {
    if request.run.selection.shard.is_some() {
        let next = "give the number of jobs: `--shards`";
        return Err(Fault::at_flag("--shard", "each job of a launcher measures a shard", next));
    }
    let not_of_jobs = [
        ("--json", args.json.is_some()),
        ("--markdown", args.markdown.is_some()),
        ("--html", args.html.is_some()),
        ("--suite-file", args.suite_file.is_some()),
    ];
    if let Some((flag, _)) = not_of_jobs.iter().find(|(_, given)| *given) {
        let what = "jobs of a launcher leave one merged verdict";
        let next =
            "take it out, and use `merged/` in the folder of the launch; or measure here: `--launcher none`";
        return Err(Fault::at_flag(*flag, what, next));
    }
    let queue_wait = options.queue_wait.value.map(Duration::from_secs_f64);
    let (home, artifacts) = commits::place(request, builtins)?;
    let mut launch = match &args.resume {
        Some(_) if args.base.is_some() => {
            let next = "take the range out: a comparison continues with the commits that it began with";
            return Err(Fault::at_flag("--resume", "a range is given as well", next));
        }
        Some(name) => ClusterLaunch::find(name, &home, &artifacts)?,
        None => {
            let range = full_range(request, &home)?;
            let words = words_of_jobs(std::env::args(), args.base.as_deref());
            let (shards, plan) = cut_of_launch(args, request, options, builtins, reporter)?;
            ClusterLaunch::new(&LaunchRequest {
                range,
                words,
                shards,
                plan,
                options: options.options.value.clone(),
                queue_wait: options.queue_wait.value,
                home,
                artifacts,
            })?
        }
    };
    let name = launch.folder().file_name().unwrap_or_default().to_string_lossy().into_owned();
    reporter.note(&format!("launch  {name}"));
    let end = launch.carry_out(queue_wait.or(launch.queue_wait()), reporter)?;
    reporter.finish();
    if let Some(signal) = end.interrupted {
        wrote(writeln!(out, "resume  gbench-ci compare --launcher slurm --resume {name}"))?;
        return Ok(of_signal(signal));
    }
    for lost in &end.lost {
        drop(writeln!(io::stderr(), "warning: {lost}"));
    }
    if end.parts.is_empty() {
        let what = "no job left a verdict: nothing was compared";
        let next = format!("see the warnings above, and continue with `--launcher slurm --resume {name}`");
        return Err(Fault::at("launch", what, next).exits(Exit::Failed));
    }
    let (folder, shards) = (launch.folder().join("merged"), Some(launch.shards()));
    let merged = merge(&end.parts, &folder, shards, None, &[], Absence::Missing)?;
    show_merged(merged, args.format, args.all, out)
}

/// The number of jobs, and the plan of their shards: as asked for, else by the times in the suite's store. Errors: those of
/// [`balanced`].
fn cut_of_launch(
    args: &CompareArgs,
    request: &CommitsRequest,
    options: &LauncherOptions,
    builtins: &[Benchmark],
    reporter: &Reporter,
) -> Result<(u32, Option<ShardPlan>)> {
    let LauncherArgs { shards: asked, balance: BalanceArgs { balance, costs: sources }, .. } = &args.launcher;
    let shards = options.shards.value;
    let stored = || {
        let local = LocalSuite::new(&request.run.selection, builtins);
        Stores::new(args.store.as_deref()).of(local.file()).and_then(|stored| of_store(&stored))
    };
    let costs = match balance {
        Some(_) if !sources.is_empty() => named(sources)?,
        Some(_) => stored()?.ok_or_else(|| {
            let next =
                "name what was measured with `--costs`: a record, a folder of comparisons, or git:BRANCH";
            Fault::at_flag("--balance", "the store has no run that shows how long the cases take", next)
        })?,
        // Nothing is asked for: a store that cannot be read, or has too few cases, is not a reason to stop.
        None => match stored() {
            Ok(Some(costs)) if shards > 1 && costs.fits(shards) => costs,
            _ => return Ok((shards, None)),
        },
    };
    // A time on the command line decides how many there are, whatever the suite file has.
    let shards = match balance {
        Some(Balance::Within(_)) => *asked,
        _ => Some(shards),
    };
    let cut = balanced(balance.unwrap_or(Balance::Cost), shards, most_shards(1), costs)?;
    cut.notes.iter().for_each(|note| reporter.note(note));
    Ok((cut.estimate.shards, Some(cut.plan)))
}

fn records(
    args: &CompareArgs,
    request: &RecordsRequest,
    stores: &Stores<'_>,
    local: &LocalSuite<'_>,
    out: &mut impl Write,
) -> Result<Exit> {
    let compared = records::compare(request, stores, local, &reporter(args.measure.is_quiet()))?;
    let verdict = match compared {
        ComparedRecords::Verdict(verdict) => verdict,
        ComparedRecords::Interrupted(finished) => {
            let record = shown(&finished.folder.record_path());
            wrote(writeln!(out, "interrupted: nothing is compared; the record is {record}"))?;
            return Ok(of_run(&finished));
        }
    };
    deliver(&verdict.document, None, verdict.reports.as_deref(), args, out)?;
    if let Some(path) = &args.html {
        write_verdict_page(&verdict.document, None, path, &[])?;
    }
    let exit = match (&verdict.anchored, &args.anchor) {
        (Some(anchored), Some(name)) => {
            deliver(anchored, Some(name), verdict.reports.as_deref(), args, out)?;
            if let Some(path) = &args.html {
                write_verdict_page(anchored, None, &anchor_beside(path), &[])?;
            }
            graver(&verdict.document, anchored, name, args.format, out)?
        }
        _ => exit_from(&verdict.document),
    };
    // The process ends soon, and with it goes its memory; taking large records apart first would be felt.
    std::mem::forget(verdict);
    Ok(exit)
}

fn commits(
    args: &CompareArgs,
    range: Option<String>,
    run: RunRequest,
    builtins: &[Benchmark],
    out: &mut impl Write,
) -> Result<Exit> {
    let request = CommitsRequest {
        range,
        run,
        rounds: args.rounds.request()?,
        profile: args.profile.request(),
        store: args.store.clone(),
        resume: args.resume.clone(),
        suite_file: args.suite_file.clone(),
        fail_inconclusive: args.fail_inconclusive,
        ..CommitsRequest::default()
    };
    let reporter = reporter(args.measure.is_quiet());
    let options = args.launcher.over(launcher_options(&request, builtins)?)?;
    if options.kind.value == LauncherKind::Slurm {
        return launched(args, &request, &options, builtins, &reporter, out);
    }
    let mut measured = commits::measure(&request, builtins, &reporter)?;
    if let Some(signal) = measured.interrupted() {
        return interrupted(&measured, signal, args, &request, out);
    }
    let document = measured.profiled_verdict(&reporter)?;
    measured.leave_job(&request, document.exit_code)?;
    deliver(&document, None, Some(&measured.reports()), args, out)?;
    if let Some(path) = &args.html {
        write_verdict_page(&document, Some(measured.folder.root()), path, builtins)?;
    }
    if let (Format::Terminal, Some(resume)) = (args.format, measured.resume_open(&document, &request)) {
        let rest = measured.rest.as_ref();
        let why = rest.map_or(String::new(), |rest| format!("  # the budget was spent: {}", rest.words()));
        wrote(writeln!(out, "resume  {resume}{why}"))?;
        for advice in measured.count_instead() {
            wrote(writeln!(out, "or      {advice}"))?;
        }
    }
    Ok(with_profiles(exit_from(&document), &request.profile, measured.profiles()))
}

fn interrupted(
    measured: &MeasuredCommits,
    signal: i32,
    args: &CompareArgs,
    request: &CommitsRequest,
    out: &mut impl Write,
) -> Result<Exit> {
    let text = format!(
        "interrupted after {}; what they decide so far: gbench-ci replay {}\nresume  {}",
        count(measured.rounds()?, "round"),
        measured.id(),
        measured.resume_command(None, request)
    );
    match args.format {
        Format::Terminal => wrote(writeln!(out, "{text}"))?,
        // Standard output is the report's, and there is none.
        _ => drop(writeln!(io::stderr(), "{text}")),
    }
    Ok(of_signal(signal))
}

/// Prints a verdict, and writes the files that the flags name. `anchor`: how the user called the pinned release that the head
/// was judged against, whose verdict comes after the first one and next to its files.
fn deliver(
    document: &VerdictDocument,
    anchor: Option<&str>,
    reports: Option<&Path>,
    args: &CompareArgs,
    out: &mut impl Write,
) -> Result<()> {
    let place = |path: &Path| if anchor.is_some() { anchor_beside(path) } else { path.to_owned() };
    for (path, format) in [(&args.json, Format::Json), (&args.markdown, Format::Markdown)] {
        if let Some(path) = path {
            write_as(format, document, &place(path))?;
        }
    }
    let heading = match (args.format, anchor) {
        (Format::Terminal, Some(name)) => format!("\nAgainst the anchor {name}\n\n"),
        (Format::Markdown, Some(name)) => format!("\n# Against the anchor {name}\n\n"),
        _ => String::new(),
    };
    let text = rendered(document, args.format, style::of_stdout(), args.all)?;
    wrote(out.write_all(heading.as_bytes()).and_then(|()| out.write_all(&text)))?;
    if let Some(request) = args.sweep.request(&SweepFilterArgs::default())? {
        // A faulty table does not change the verdict and its exit code.
        match sweep(SweepTables::of_verdict(document, &request), args.format) {
            Ok(tables) => {
                let options = Options { format: args.format, style: style::of_stdout(), all: args.all };
                wrote(tables.write(&options, out))?;
            }
            Err(fault) => {
                drop(writeln!(io::stderr(), "warning: {}: {}; {}", fault.place, fault.what, fault.next))
            }
        }
    }
    match (args.format, reports) {
        (Format::Terminal, Some(folder)) => {
            let [verdict, report] =
                ["verdict.json", "verdict.md"].map(|name| shown(&place(&folder.join(name))));
            wrote(writeln!(out, "\nverdict {verdict}\nreport  {report}"))
        }
        _ => Ok(()),
    }
}

fn anchor_fits(format: Format) -> Result<()> {
    match format {
        Format::Terminal | Format::Markdown | Format::Jsonl => Ok(()),
        Format::Json | Format::Csv | Format::Junit => {
            let what = format!("two verdicts do not go into one {} document", format.into_str());
            let next = "take `--format` out; `--json FILE` and `--markdown FILE` write the anchor's verdict next to the other";
            Err(Fault::at_flag("--anchor", what, next))
        }
    }
}

fn graver(
    first: &VerdictDocument,
    anchored: &VerdictDocument,
    anchor: &str,
    format: Format,
    out: &mut impl Write,
) -> Result<Exit> {
    let (exit, of_anchor) = (exit_from(first), exit_from(anchored));
    let graver = exit.most_severe(of_anchor);
    if format == Format::Terminal {
        let (code, own, other) = (graver.code(), exit.code(), of_anchor.code());
        let against = &first.base.name;
        let words = format!("exit code {code}: {own} against {against}, {other} against the anchor {anchor}");
        wrote(writeln!(out, "\n{words}"))?;
    }
    Ok(graver)
}
