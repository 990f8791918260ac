//! Which commit made it worse: how often `gbench-ci bisect` is right and what it costs, beside plain bisection, on a made-up machine. The
//! chooser and the rule that ends it are the command's own; processes and builds are drawn. The tables of docs/bisect.md.
//!
//! Plain bisection gets, for each row, the fewest processes a step with which it is right as often as is asked of it here. It knows the
//! size of the change, and that there is one, which ours does not.

#![allow(unreachable_pub, reason = "a program of several files")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints tables")]

mod machine;
#[path = "../support/mod.rs"]
mod support;
mod ways;

use std::process::ExitCode;

use machine::{Setting, USUAL};
use support::Goals;
use ways::{Search, noisy, plain_afresh, plain_anchored, rule};

/// Ranges of each row.
const RUNS: u64 = 1000;
const QUICK_RUNS: u64 = 400;
/// Processes a step beyond which plain bisection is given up.
const MOST_EACH: u32 = 40;

const CHANGED: [Setting; 9] = [
    USUAL,
    Setting { name: "1.5 %", step: 0.015, ..USUAL },
    Setting { name: "5 %", step: 0.05, ..USUAL },
    Setting { name: "3 %, 5 % outliers", outliers: 0.05, ..USUAL },
    Setting { name: "3 %, drift 0.2 %", drift: 0.002, ..USUAL },
    Setting { name: "3 %, drift 0.5 %", drift: 0.005, ..USUAL },
    Setting { name: "3 %, builds cost nothing", build: 0.0, ..USUAL },
    Setting { name: "3 %, a build is 60", build: 60.0, ..USUAL },
    Setting { name: "3 %, 10 % broken", broken: 0.1, ..USUAL },
];

const UNCHANGED: [Setting; 3] = [
    Setting { name: "nothing", step: 0.0, ..USUAL },
    Setting { name: "nothing, 5 % outliers", step: 0.0, outliers: 0.05, ..USUAL },
    Setting { name: "nothing, drift 0.2 %", step: 0.0, drift: 0.002, ..USUAL },
];

/// What many searches came to.
struct Tally {
    right: f64,
    /// One commit was named, and it is the wrong one; or any, where nothing changed.
    accused: f64,
    undecided: f64,
    /// Commits that an answer names, on average.
    named: f64,
    processes: f64,
    median: u32,
    builds: f64,
}

impl Tally {
    fn of(searches: &[Search]) -> Self {
        let all = searches.len() as f64;
        let share =
            |fits: &dyn Fn(&Search) -> bool| searches.iter().filter(|it| fits(it)).count() as f64 / all;
        let mean = |figure: &dyn Fn(&Search) -> f64| searches.iter().map(figure).sum::<f64>() / all;
        let mut processes: Vec<u32> = searches.iter().map(|it| it.processes).collect();
        processes.sort_unstable();
        Self {
            right: share(&Search::is_right),
            accused: share(&|it| it.accuses() && !it.is_right()),
            undecided: share(&|it| it.answer.is_none()),
            named: mean(&|it| it.answer.as_ref().map_or(0.0, |answer| answer.len() as f64)),
            processes: mean(&|it| f64::from(it.processes)),
            median: processes[processes.len() / 2],
            builds: mean(&|it| f64::from(it.builds)),
        }
    }
}

/// The fewest processes a step with which a way is right often enough, and what came of it.
fn fewest(way: fn(Setting, u64, u32) -> Search, setting: Setting, runs: u64) -> Option<(u32, Tally)> {
    // Plain bisection has no answer to a commit that does not build.
    let setting = Setting { broken: 0.0, ..setting };
    let tally = |each| (each, Tally::of(&(0..runs).map(|seed| way(setting, seed, each)).collect::<Vec<_>>()));
    (1..=MOST_EACH).map(tally).find(|(_, tally)| tally.right >= rule().confidence)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn main() -> ExitCode {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let runs = if is_quick { QUICK_RUNS } else { RUNS };
    let mut goals = Goals::default();
    println!("64 commits, noise 1 %, {runs} ranges a row, confidence {}\n", percent(rule().confidence));
    println!(
        "| planted | right | wrong | undecided | commits named | processes | median | builds | (a) afresh | (b) anchored |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for setting in CHANGED {
        let searches: Vec<Search> = (0..runs).map(|seed| noisy(setting, seed)).collect();
        let ours = Tally::of(&searches);
        let plain = [plain_afresh, plain_anchored].map(|way| fewest(way, setting, runs));
        let shown = plain.each_ref().map(|found| match found {
            Some((each, tally)) => format!("{:.0} ({each} each)", tally.processes),
            None => "never".to_owned(),
        });
        println!(
            "| {} | {} | {} | {} | {:.2} | {:.1} | {} | {:.1} | {} | {} |",
            setting.name,
            percent(ours.right),
            percent(ours.accused),
            percent(ours.undecided),
            ours.named,
            ours.processes,
            ours.median,
            ours.builds,
            shown[0],
            shown[1]
        );
        if setting.name == USUAL.name {
            goals.check("3 %: right", percent(ours.right), ">= 95 %", ours.right >= 0.95);
            for (what, found) in [("(a) afresh", &plain[0]), ("(b) anchored", &plain[1])] {
                let Some((_, plain)) = found else { continue };
                let share = ours.processes / plain.processes;
                // What is asked for is half of (a); (b) is shown.
                let is_goal = what == "(a) afresh";
                let goal = if is_goal { "<= 50 %" } else { "< 100 %" };
                let is_met = if is_goal { share <= 0.5 } else { share < 1.0 };
                goals.check(&format!("3 %: processes of {what}"), percent(share), goal, is_met);
            }
        }
        if setting.broken > 0.0 {
            goals.check("10 % broken: right", percent(ours.right), ">= 95 %", ours.right >= 0.95);
        }
    }
    println!("\n| planted | accused | undecided | processes | median | builds |");
    println!("|---|---:|---:|---:|---:|---:|");
    for setting in UNCHANGED {
        let ours = Tally::of(&(0..runs).map(|seed| noisy(setting, seed)).collect::<Vec<_>>());
        println!(
            "| {} | {} | {} | {:.1} | {} | {:.1} |",
            setting.name,
            percent(ours.accused),
            percent(ours.undecided),
            ours.processes,
            ours.median,
            ours.builds
        );
        goals.check(
            &format!("{}: accused", setting.name),
            percent(ours.accused),
            "<= 5 %",
            ours.accused <= 0.05,
        );
    }
    println!();
    goals.conclude()
}
