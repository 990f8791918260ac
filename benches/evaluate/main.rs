//! The project's proof of its decision rule: simulated suites, real traces, awkward differences, the rules of other tools
//! on the same data, and the goals.
//!
//! `cargo bench --bench evaluate -- [--quick] [--seed N] [--section NAME]`. The exit code is 1 where a goal is missed by more than the
//! sampling error of the run. `GBENCH_CORPUS` names a folder with real traces; `docs/evaluation.md` holds the
//! tables of a whole run.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

mod awkward;
mod cost;
mod draw;
mod fixed;
mod goals;
mod harsh;
mod history;
mod ours;
mod paired;
mod peers;
mod real;
mod report;
mod simulate;
mod table;
mod traces;
mod trials;

use std::process::ExitCode;
use std::time::Instant;

use draw::Seed;
use goals::Goal;
use report::Report;
use trials::Counts;

const SEED: u64 = 2024;
/// In the order of the report.
const SECTIONS: [&str; 8] = ["cost", "rules", "profiles", "sizes", "real", "awkward", "harsh", "ticks"];
/// Two processors need less than twenty minutes for these.
const FULL: Counts = Counts { unchanged: 600, unchanged_peers: 300, planted: 300, planted_goals: 1000 };
const QUICK: Counts = Counts { unchanged: 100, unchanged_peers: 40, planted: 20, planted_goals: 60 };

fn main() -> ExitCode {
    let (counts, seed, section) = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(what) => {
            eprintln!(
                "evaluate: {what}; it knows --quick, --seed N and --section NAME ({})",
                SECTIONS.join(", ")
            );
            return ExitCode::from(2);
        }
    };
    let begin = Instant::now();
    println!(
        "# Evaluation\n\nSeed {seed}. Suites: {} without changes ({} for the other tools), {} for each size of change, {} \
         where a goal rests on it.\n",
        counts.unchanged, counts.unchanged_peers, counts.planted, counts.planted_goals
    );
    let mut report = Report { seed: Seed(seed), counts, goals: Vec::new() };
    let wanted = |name: &str| section.as_ref().is_none_or(|section| section == name);
    let mut real = Ok(());
    for name in SECTIONS.into_iter().filter(|name| wanted(name)) {
        match name {
            "cost" => report.cost(),
            "rules" => report.rules(),
            "profiles" => report.profiles(),
            "sizes" => report.sizes(),
            "real" => real = real::section(&report),
            "awkward" => report.awkward(),
            "harsh" => report.harsh(),
            _ => report.ticks(),
        }
    }
    let code = conclude(&mut report.goals);
    println!("\n{:.0} s, {:.0} s of CPU.", begin.elapsed().as_secs_f64(), cpu_seconds());
    match real {
        Ok(()) => code,
        Err(what) => {
            eprintln!("evaluate: {what}");
            ExitCode::from(2)
        }
    }
}

/// Of all threads: what two idle processors would need is half of it.
fn cpu_seconds() -> f64 {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process may ask for its own usage");
    let times = [usage.user_time(), usage.system_time()];
    times.iter().map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6).sum()
}

/// Cargo adds `--bench`.
fn arguments(mut given: impl Iterator<Item = String>) -> Result<(Counts, u64, Option<String>), String> {
    let (mut counts, mut seed, mut section) = (FULL, SEED, None);
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--bench" => {}
            "--quick" => counts = QUICK,
            "--seed" => {
                let number = given.next().ok_or("--seed wants a number")?;
                seed = number.parse().map_err(|_| format!("--seed: {number} is no whole number"))?;
            }
            "--section" => {
                let name = given.next().filter(|name| SECTIONS.contains(&name.as_str()));
                section = Some(name.ok_or("--section wants the name of one")?);
            }
            other => return Err(format!("{other} is no option")),
        }
    }
    Ok((counts, seed, section))
}

fn conclude(goals: &mut [Goal]) -> ExitCode {
    goals.sort_by(|a, b| a.what.split('.').next().cmp(&b.what.split('.').next()));
    let rows: Vec<_> = goals.iter().map(Goal::row).collect();
    println!("## Goals\n\n± one standard error.\n");
    println!("{}", table::markdown(&["goal", "reached", "asked", "standing"], &rows));
    let missed = goals::missed(goals);
    if missed.is_empty() {
        println!("No goal is missed by more than the sampling error of this run.");
        return ExitCode::SUCCESS;
    }
    println!("Missed by more than the sampling error of this run (chance below {:e}):", goals::CHANCE);
    missed.iter().for_each(|what| println!("- {what}"));
    ExitCode::FAILURE
}
