//! `gbench-ci demo`: the whole gate on a repository of two commits, one of which does more work.
//!
//! Nothing here is canned: the repository is real, both commits are checked out, built and measured by the code of
//! `gbench-ci compare HEAD~1..HEAD`, and what is printed is what was measured.

use std::io::Write;
use std::path::PathBuf;

use crate::app::compare::commits::{self, MeasuredCommits};
use crate::app::demo::{self, PLANTED, RANGE};
use crate::app::paths::shown;
use crate::app::reports::verdict_files::{exit_from, rendered};
use crate::cli::exit::of_signal;
use crate::cli::terminal::progress::reporter;
use crate::cli::terminal::style;
use crate::cli::terminal::write::{wrap, wrote};
use crate::compare::{Row, Verdict, VerdictDocument};
use crate::model::text::count;
use crate::model::{Exit, Result, shell_word};
use crate::report::Format;

/// Compare two commits, one with a planted slowdown, and show the verdict
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct DemoArgs {
    /// Folder to work in; it must not exist yet [default: a new temporary folder, which is kept]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show no progress on standard error
    #[arg(long, short)]
    quiet: bool,
    /// Seed of the random order in which the two sides of each round run
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// Exit 0 where the gate found what was planted or says why it cannot, and nothing else; 1 where it calls an
/// untouched workload regressed; 4 where something was not measured.
pub(crate) fn run(args: &DemoArgs, out: &mut impl Write) -> Result<Exit> {
    let repository = demo::make(args.output.as_deref())?;
    say(
        out,
        &format!(
            "A repository with two commits and three workloads. The second commit makes {PLANTED} do 10 % more \
             work and touches nothing else. Both are checked out, built and compared in rounds, by this command:"
        ),
    )?;
    let place = shell_word(&shown(&repository));
    wrote(writeln!(out, "\n  cd {place}\n  gbench-ci compare {RANGE}\n").and_then(|()| out.flush()))?;

    let measured = commits::measure(&demo::request(args.seed, &repository), &[], &reporter(args.quiet))?;
    if let Some(signal) = measured.interrupted() {
        say(out, "Interrupted: nothing is compared.")?;
        return Ok(of_signal(signal));
    }
    effort(&measured, out)?;
    let document = measured.verdict()?;
    wrote(out.write_all(&rendered(&document, Format::Terminal, style::of_stdout(), true)?))?;
    let exit = conclude(&document, out)?;
    whereabouts(&measured, out)?;
    Ok(exit)
}

fn say(out: &mut impl Write, text: &str) -> Result<()> {
    wrote(writeln!(out, "{}", wrap(text, 78).join("\n")))
}

fn effort(measured: &MeasuredCommits, out: &mut impl Write) -> Result<()> {
    let processes = || {
        let cases = measured.finished.iter().flat_map(|finished| &finished.record.cases);
        cases.flat_map(|case| &case.processes)
    };
    let seconds: f64 = processes().map(|process| process.seconds).sum();
    let [base, _] = measured.sides()?;
    let host = &base.manifest.host;
    let cpu = host.cpu_model.known().map_or("a CPU of unknown model", String::as_str);
    let load = host.load.known().map(|load| format!(", load {load:.1}")).unwrap_or_default();
    let count = count(processes().count(), "process");
    say(out, &format!("Measured {count} in {seconds:.1} s, on {cpu}{load}."))?;
    wrote(writeln!(out))
}

fn conclude(document: &VerdictDocument, out: &mut impl Write) -> Result<Exit> {
    let (planted, others): (Vec<&Row>, Vec<&Row>) =
        document.rows.iter().partition(|row| row.case.benchmark.as_str() == PLANTED);
    let (text, exit) = match planted.first().map(|row| row.verdict) {
        _ if others.iter().any(|row| row.verdict == Verdict::Regressed) => {
            ("The gate is wrong here: it reports a regression of an untouched workload.", Exit::Regression)
        }
        Some(Verdict::Regressed) => {
            ("The planted slowdown is found, and no untouched workload is called regressed.", Exit::Pass)
        }
        Some(Verdict::Inconclusive) => (
            "This machine was too noisy just now to be sure of 10 %; the verdict reports that instead of guessing. \
             A quieter machine, or more rounds, would settle it.",
            Exit::Pass,
        ),
        Some(Verdict::Unchanged | Verdict::Improved) => {
            ("The gate is wrong here: it misses the planted slowdown.", Exit::Regression)
        }
        _ => ("Not everything was measured, so that the gate cannot be checked.", Exit::Failed),
    };
    wrote(writeln!(out))?;
    say(out, text)?;
    say(out, &format!("In CI this verdict's exit code is {}.", exit_from(document).code()))?;
    Ok(exit)
}

fn whereabouts(measured: &MeasuredCommits, out: &mut impl Write) -> Result<()> {
    let [base, head, ..] = measured.finished.as_slice() else { return Ok(()) };
    wrote(writeln!(
        out,
        "\nbase record   {}\nhead record   {}\nreport        {}\nverdict       {}",
        shown(&base.folder.record_path()),
        shown(&head.folder.record_path()),
        shown(&measured.reports().join("verdict.md")),
        shown(&measured.reports().join("verdict.json"))
    ))
}
