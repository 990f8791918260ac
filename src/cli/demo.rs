//! `gbench-ci demo`: the whole gate on a repository of two commits, one of which does more work.
//!
//! Nothing here is canned: the repository is real, both commits are checked out, built and measured by the code of
//! `gbench-ci compare HEAD~1..HEAD`, and what is printed is what was measured.

use std::io::Write;
use std::path::{Path, PathBuf};

use git2::{Repository, Signature};

use super::terminal::progress::reporter;
use super::terminal::style;
use super::terminal::write::{wrap, wrote};
use crate::app::compare_commits::{self, MeasuredCommits};
use crate::app::paths::shown;
use crate::app::request::{CommitsRequest, RoundsRequest, SelectionRequest};
use crate::app::verdict_files::{exit_from, rendered, write_reports};
use crate::compare::{Verdict, VerdictDocument};
use crate::model::text::count;
use crate::model::{Exit, Fault, Result, shell_word};
use crate::report::Format;
use crate::run::has_binary;

/// The benchmark whose second commit does more work.
const PLANTED: &str = "demo/checksum";

/// The files of the first commit.
const FILES: [(&str, &str); 6] = [
    (".gitignore", "artifacts/\n.gbench/\nchecksum\nhorner\nxorshift\n"),
    ("gbench.toml", include_str!("demo/repository/gbench.toml")),
    ("bench.rs", include_str!("demo/repository/bench.rs")),
    ("checksum.rs", include_str!("demo/repository/checksum.rs")),
    ("horner.rs", include_str!("demo/repository/horner.rs")),
    ("xorshift.rs", include_str!("demo/repository/xorshift.rs")),
];
/// The change of the second.
const CHANGE: (&str, &str) = ("ROUNDS: u32 = 100;", "ROUNDS: u32 = 110;");

/// What a user would type in the repository.
const RANGE: &str = "HEAD~1..HEAD";

/// Compare two commits, one with a planted slowdown, and show the verdict
#[derive(clap::Args, Clone, Debug, Default)]
pub struct DemoArgs {
    /// Folder to work in, which must not exist yet [default: a new temporary folder, which is kept]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// No progress on standard error
    #[arg(long, short)]
    quiet: bool,
    /// Seed of the random order in which the sides of each round run
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// Exit 0 where the gate found what was planted or says why it cannot, and nothing else; 1 where it calls an
/// untouched workload regressed; 4 where something was not measured.
pub fn run(args: &DemoArgs, out: &mut impl Write) -> Result<Exit> {
    if !has_binary("rustc", Path::new(".")) {
        return Err(Fault::at(
            "demo",
            "its three workloads are built with `rustc`, which is not on PATH",
            "install Rust, or begin with your own benchmarks: `gbench-ci init`",
        )
        .exits(Exit::Machine));
    }
    let folder = work_folder(args.output.as_deref())?;
    let repository = folder.join("repository");
    two_commits(&repository)
        .map_err(|error| Fault::at_path(&repository, error, "give a writable folder with `--output`"))?;
    say(
        out,
        &format!(
            "A repository with two commits and three workloads. The second commit makes {PLANTED} do 10 % more \
             work and touches nothing else. Both are checked out, built and compared in rounds, by this command:"
        ),
    )?;
    let place = shell_word(&shown(&repository));
    wrote(writeln!(out, "\n  cd {place}\n  gbench-ci compare {RANGE}\n").and_then(|()| out.flush()))?;

    let measured = compare_commits::measure(&request(args.seed, &repository), &[], &reporter(args.quiet))?;
    if let Some(signal) = measured.interrupted() {
        say(out, "Interrupted: nothing is compared.")?;
        return Ok(if signal == 2 { Exit::Interrupted } else { Exit::Terminated });
    }
    effort(&measured, out)?;
    let document = measured.verdict()?;
    write_reports(&document, &measured.reports())?;
    wrote(out.write_all(&rendered(&document, Format::Terminal, style::of_stdout(), true)?))?;
    let exit = conclude(&document, out)?;
    whereabouts(&measured, out)?;
    Ok(exit)
}

/// The command that is shown as a request, with the suite file named instead of gone to.
fn request(seed: u64, repository: &Path) -> CommitsRequest {
    CommitsRequest {
        range: Some(RANGE.into()),
        selection: SelectionRequest::of_file(Some(repository.join("gbench.toml"))),
        rounds: RoundsRequest { order_seed: Some(seed), ..RoundsRequest::default() },
        ..CommitsRequest::default()
    }
}

fn say(out: &mut impl Write, text: &str) -> Result<()> {
    wrote(writeln!(out, "{}", wrap(text, 78).join("\n")))
}

fn work_folder(given: Option<&Path>) -> Result<PathBuf> {
    let fault = |path: &Path, error: std::io::Error| {
        let what = format!("the folder cannot be made: {error}");
        Fault::at_path(path, what, "give another folder with `--output`, one that does not exist yet")
            .caused_by(&error)
    };
    match given {
        Some(path) => {
            std::fs::create_dir(path).map_err(|error| fault(path, error))?;
            std::path::absolute(path).map_err(|error| fault(path, error))
        }
        None => {
            let folder = tempfile::Builder::new().prefix("gbench-ci-demo-").tempdir();
            folder.map(tempfile::TempDir::keep).map_err(|error| fault(&std::env::temp_dir(), error))
        }
    }
}

/// Makes the repository.
fn two_commits(at: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let repository = Repository::init(at)?;
    for (name, text) in FILES {
        std::fs::write(at.join(name), text)?;
    }
    commit(&repository, "Three workloads")?;
    let (before, after) = CHANGE;
    let source = std::fs::read_to_string(at.join("checksum.rs"))?;
    std::fs::write(at.join("checksum.rs"), source.replace(before, after))?;
    commit(&repository, "Checksum ten more rounds")?;
    Ok(())
}

fn commit(repository: &Repository, message: &str) -> Result<git2::Oid, git2::Error> {
    let mut index = repository.index()?;
    index.add_all(["*"], git2::IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let author = Signature::now("gbench-ci demo", "demo@example.invalid")?;
    let parent = repository.head().and_then(|head| head.peel_to_commit()).ok();
    let parents: Vec<_> = parent.iter().collect();
    repository.commit(Some("HEAD"), &author, &author, message, &tree, &parents)
}

/// What the reader should know of the machine and the effort before the verdict.
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

/// Holds the verdict against what is known to be true here.
fn conclude(document: &VerdictDocument, out: &mut impl Write) -> Result<Exit> {
    let is_planted = |row: &&crate::compare::Row| row.case.benchmark.as_str() == PLANTED;
    let planted = document.rows.iter().find(is_planted).map(|row| row.verdict);
    let false_alarms =
        document.rows.iter().filter(|row| !is_planted(row)).filter(|row| row.verdict == Verdict::Regressed);
    let false_alarms = false_alarms.count();
    let (text, exit) = match (planted, false_alarms) {
        (_, 1..) => {
            ("The gate is wrong here: it calls a workload regressed that nobody touched.", Exit::Regression)
        }
        (Some(Verdict::Regressed), _) => {
            ("The planted slowdown is found, and no untouched workload is called regressed.", Exit::Pass)
        }
        (Some(Verdict::Inconclusive), _) => (
            "This machine was too noisy just now to be sure of 10 %; the verdict says so instead of guessing. \
             A quieter machine, or more rounds, would settle it.",
            Exit::Pass,
        ),
        (Some(Verdict::Unchanged | Verdict::Improved), _) => {
            ("The gate is wrong here: it misses the planted slowdown.", Exit::Regression)
        }
        _ => ("Not everything was measured, so there is nothing to hold the gate to.", Exit::Failed),
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
