//! What finds lasting steps and slow drifts in a history of runs, and what it takes for one by mistake: our detector beside
//! others, on made-up noise and on that of a real history.
//!
//! `GBENCH_CORPUS=FOLDER cargo bench --bench trends -- [--seed N]`. `GBENCH_CORPUS` names a folder with published histories of
//! a github-action-benchmark (`*history*.json.gz`); without it what needs one is skipped, by name. `docs/trend-evaluation.md` holds
//! the tables of a whole run. The exit code is 1 where a goal is missed.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

mod bayes;
mod candidates;
mod costs;
mod data;
#[path = "../evaluate/draw.rs"]
#[allow(dead_code, reason = "the other bench draws more")]
mod draw;
mod energy;
mod report;
#[path = "../evaluate/table.rs"]
mod table;

use std::process::ExitCode;

use data::Histories;
use draw::Seed;

const SEED: u64 = 2024;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let given: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let seed = match given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(SEED),
        ["--seed", number] => number.parse().ok(),
        _ => None,
    };
    let Some(seed) = seed.map(Seed) else {
        eprintln!("trends: it knows --seed N, N a whole number");
        return ExitCode::from(2);
    };
    println!("# Trends\n\nSeed {}.\n", seed.0);
    let Some(folder) = std::env::var_os("GBENCH_CORPUS") else {
        println!(
            "Skipped: steps in a real history. `GBENCH_CORPUS` names no folder with one, and none belongs to the project.\n"
        );
        return code(report::quiet(None, seed) & report::drifts(seed));
    };
    match Histories::read(folder.as_ref()) {
        Ok(histories) => {
            let steps = report::steps(&histories, seed);
            code(steps & report::quiet(Some(&histories), seed) & report::drifts(seed))
        }
        Err(what) => {
            eprintln!("trends: {what}");
            ExitCode::from(2)
        }
    }
}

fn code(met: bool) -> ExitCode {
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
