//! The gate end to end on this machine: whole comparisons of a real repository, with twenty workloads from 50 µs to
//! 50 ms, under a load that comes and goes.
//!
//! `cargo bench --bench endtoend -- [--comparisons N] [--part same|slower|both] [--seed N] [--rounds N]
//! [--budget DURATION] [--output FILE] [--check]`. With `--output` every comparison is a line of that file, and a later call goes on with it. The exit code is 1 where a
//! goal is missed, 2 where a comparison came to no verdict.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

mod check;
mod comparison;
mod lines;
mod load;
mod report;
mod repository;
#[path = "../support/mod.rs"]
mod support;
#[path = "../evaluate/table.rs"]
mod table;
mod workloads;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use gbench_ci::compare::Verdict;
use sha2::{Digest, Sha256};

use comparison::Came;
use repository::{Commits, Part};
use strum::IntoEnumIterator;

const COMPARISONS: u32 = 30;
const SEED: u64 = 1;

struct Arguments {
    comparisons: u32,
    parts: Vec<Part>,
    seed: u64,
    /// Flags that go to the gate as they are; without them it measures as it usually does.
    gate: Vec<String>,
    output: Option<PathBuf>,
    check: bool,
}

fn main() -> ExitCode {
    let arguments = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(what) => {
            eprintln!(
                "endtoend: {what}; it knows --comparisons N, --part same|slower|both, --seed N, --rounds N, \
                 --budget DURATION, --output FILE and --check"
            );
            return ExitCode::from(2);
        }
    };
    let commits = match Commits::make() {
        Ok(commits) => commits,
        Err(error) => {
            eprintln!("endtoend: no repository: {error}");
            return ExitCode::from(2);
        }
    };
    let done = if arguments.check { check::check(&commits) } else { measure(&arguments, &commits) };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let kept = commits.folder.keep();
            eprintln!("endtoend: {error}\nThe repository stays in {}", kept.display());
            ExitCode::from(2)
        }
    }
}

fn measure(arguments: &Arguments, commits: &Commits) -> Result<bool, Box<dyn Error>> {
    let setup = setup(commits, &arguments.gate)?;
    let mut lines = match &arguments.output {
        Some(path) => lines::read(path, &setup, arguments.seed)?,
        None => Vec::new(),
    };
    lines.retain(|line| arguments.parts.contains(&line.part) && line.index < arguments.comparisons);
    if !lines.is_empty() {
        eprintln!("{} are there already", lines.len());
    }
    // Part after part within each index: a run that is cut has as many of both.
    for index in 0..arguments.comparisons {
        for &part in &arguments.parts {
            if lines.iter().any(|line| (line.part, line.index) == (part, index)) {
                continue;
            }
            let came =
                comparison::compare(commits, (&setup, arguments.seed), (part, index), &arguments.gate)?;
            if let Some(path) = &arguments.output {
                lines::append(path, &came)?;
            }
            tell(&came, arguments.comparisons);
            lines.push(came);
        }
    }
    println!("# End to end\n\n{}; seed {}; setup {}.", machine(), arguments.seed, &setup[..12]);
    Ok(report::report(&lines))
}

/// One line as it goes.
fn tell(came: &Came, comparisons: u32) {
    let count = |verdict| came.rows.iter().filter(|row| row.verdict == verdict).count();
    let counts: Vec<String> = Verdict::iter()
        .filter(|verdict| count(*verdict) > 0)
        .map(|verdict| format!("{} {}", count(verdict), verdict.into_str()))
        .collect();
    let rounds = came.rows.iter().map(|row| row.rounds).max().unwrap_or(0);
    let reds = came.rows.iter().filter(|row| row.verdict == Verdict::Regressed);
    let reds: Vec<String> =
        reds.map(|row| format!("{} {:+.1} %", row.benchmark, 100.0 * row.slowdown)).collect();
    eprintln!(
        "{} {}/{comparisons}: {}; {rounds} rounds, {:.0} s, {:.0} s of processes, load busy {:.0} s{}{}",
        came.part.word(),
        came.index + 1,
        counts.join(", "),
        came.wall,
        came.processes,
        came.loaded,
        if reds.is_empty() { "" } else { "; red: " },
        reds.join(", ")
    );
    for warning in &came.warnings {
        eprintln!("    {warning}");
    }
}

/// A hash over the files of the base, the gate's binary and its flags: figures of others are not mixed with these.
fn setup(commits: &Commits, gate: &[String]) -> Result<String, Box<dyn Error>> {
    let binary = std::fs::read(env!("CARGO_BIN_EXE_gbench-ci"))?;
    let digest =
        Sha256::new().chain_update(format!("{} {gate:?}", commits.tree)).chain_update(binary).finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Model and number of the processors.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{cores} cores of {}", model.map_or("an unknown model", |(_, model)| model))
}

/// Cargo adds `--bench`.
fn arguments(mut given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments {
        comparisons: COMPARISONS,
        parts: vec![Part::Same, Part::Slower],
        seed: SEED,
        gate: Vec::new(),
        output: None,
        check: false,
    };
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{argument} wants a value"));
        let whole = |text: String| text.parse::<u32>().map_err(|_| format!("{text} is no whole number"));
        match argument.as_str() {
            "--bench" => {}
            "--check" => arguments.check = true,
            "--comparisons" => {
                arguments.comparisons = whole(value()?)?;
                if arguments.comparisons == 0 {
                    return Err("--comparisons 0 compares nothing".into());
                }
            }
            "--seed" => arguments.seed = u64::from(whole(value()?)?),
            "--rounds" => arguments.gate.extend([argument.clone(), whole(value()?)?.to_string()]),
            "--budget" => arguments.gate.extend([argument.clone(), value()?]),
            "--output" => arguments.output = Some(value()?.into()),
            "--part" => {
                arguments.parts = match value()?.as_str() {
                    "same" => vec![Part::Same],
                    "slower" => vec![Part::Slower],
                    "both" => vec![Part::Same, Part::Slower],
                    other => return Err(format!("--part {other} is no part")),
                }
            }
            other => return Err(format!("{other} is no option")),
        }
    }
    Ok(arguments)
}
